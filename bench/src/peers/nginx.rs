//! nginx: a server block for each group of endpoints, all its host names in nginx's own hash.
use std::fmt::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use super::{LOG_PERCENT, Peer, Prepared, fill};
use crate::failure::Failure;
use crate::scene::{Scene, free_address};

const TEMPLATE: &str = include_str!("../../peers/nginx.conf");

pub(super) fn prepare(program: &Path, scene: &Scene) -> Result<Prepared, Failure> {
    let (address, admin) = (free_address()?, free_address()?);
    let text = fill(
        TEMPLATE,
        &[
            ("DIR", &scene.dir().display().to_string()),
            ("LOG_PERCENT", &LOG_PERCENT.to_string()),
            ("UPSTREAMS", &upstreams(scene)),
            ("SERVERS", &servers(scene, address)),
            ("ADMIN", &admin.to_string()),
        ],
    );
    let configuration = scene.write("nginx.conf", &text)?;
    let mut command = Command::new(program);
    command.arg("-c").arg(&configuration);
    let mending = "install it with `apt-get install nginx-light`";
    Ok(Prepared { peer: Peer::Nginx, command, address, admin, configuration, mending })
}

fn upstreams(scene: &Scene) -> String {
    let mut text = String::new();
    let every = scene.origins.as_slice();
    let named =
        scene.groups().into_iter().enumerate().map(|(group, endpoints)| (format!("group{group}"), endpoints));
    for (name, endpoints) in named.chain([("every".to_owned(), every)]) {
        let servers: String = endpoints.iter().map(|endpoint| format!("server {endpoint}; ")).collect();
        let keep = "keepalive 512; keepalive_requests 1000000000; keepalive_timeout 3600s;";
        let _ = writeln!(text, "    upstream {name} {{ {servers}{keep} }}");
    }
    text
}

fn servers(scene: &Scene, address: SocketAddr) -> String {
    let unknown = if scene.data_set.is_some() { "proxy_pass http://every;" } else { "return 404;" };
    let log =
        format!("access_log {}/nginx.access.log json buffer=64k flush=1s if=$logged;", scene.dir().display());
    let mut text = format!(
        "    server {{ listen {address} default_server backlog=4096; {log} location / {{ {unknown} }} }}\n"
    );
    for group in 0..scene.groups().len() {
        let names: Vec<&str> = scene
            .hosts
            .iter()
            .enumerate()
            .filter(|(host, _)| scene.group_of(*host) == group)
            .map(|(_, name)| name.as_str())
            .collect();
        let names = names.join(" ");
        let location = format!("location / {{ proxy_pass http://group{group}; }}");
        let _ = writeln!(text, "    server {{ listen {address}; server_name {names}; {log} {location} }}");
    }
    text
}
