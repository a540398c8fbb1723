//! haproxy: an indexed map from host name to backend.
use std::fmt::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use super::{LOG_PERCENT, Peer, Prepared, fill};
use crate::failure::Failure;
use crate::scene::{Scene, free_address};

const TEMPLATE: &str = include_str!("../../peers/haproxy.cfg");

pub(super) fn prepare(program: &Path, scene: &Scene) -> Result<Prepared, Failure> {
    let (address, admin) = (free_address()?, free_address()?);
    let map: String = scene
        .hosts
        .iter()
        .enumerate()
        .map(|(host, name)| format!("{name} group{}\n", scene.group_of(host)))
        .collect();
    scene.write("haproxy.map", &map)?;
    let text = fill(
        TEMPLATE,
        &[
            ("DIR", &scene.dir().display().to_string()),
            ("CORE", &scene.proxy_core.to_string()),
            ("LOG_PERCENT", &LOG_PERCENT.to_string()),
            ("LISTEN", &address.to_string()),
            ("ADMIN", &admin.to_string()),
            ("DEFAULT_BACKEND", if scene.data_set.is_some() { "every" } else { "refused" }),
            ("BACKENDS", &backends(scene)),
        ],
    );
    let configuration = scene.write("haproxy.cfg", &text)?;
    let mut command = Command::new(program);
    command.args(["-db", "-q", "-f"]).arg(&configuration); // -db: one process, in the foreground
    let mending = "install it with `apt-get install haproxy`";
    Ok(Prepared { peer: Peer::Haproxy, command, address, admin, configuration, mending })
}

fn backends(scene: &Scene) -> String {
    let mut text = String::new();
    for (group, endpoints) in scene.groups().into_iter().enumerate() {
        push_backend(&mut text, &format!("group{group}"), endpoints);
    }
    push_backend(&mut text, "every", &scene.origins);
    text
}

fn push_backend(text: &mut String, name: &str, endpoints: &[SocketAddr]) {
    let _ = writeln!(text, "backend {name}");
    for (number, endpoint) in endpoints.iter().enumerate() {
        let _ = writeln!(text, "    server s{number} {endpoint}");
    }
}
