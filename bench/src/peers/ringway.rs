//! ringway itself: a service for each host name, or the standard data set's snapshot.
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use super::{Idle, LOG_PERCENT, Peer, Prepared, fill};
use crate::failure::Failure;
use crate::scene::{REGION, Scene, free_address};

const TEMPLATE: &str = include_str!("../../peers/ringway.yaml");

pub(super) fn prepare(peer: Peer, program: &Path, idle: Idle, scene: &Scene) -> Result<Prepared, Failure> {
    let (address, admin) = (free_address()?, free_address()?);
    let snapshot = match &scene.data_set {
        Some(data_set) => format!("  snapshot: {}", data_set.snapshot().display()),
        None => String::new(),
    };
    let feed = match &scene.changes {
        Some(path) => format!("{{ kind: file, path: {} }}", path.display()),
        None => "{ kind: inline }".to_owned(),
    };
    let services = services(scene);
    let idle = match idle {
        Idle::Park => "park",
        Idle::Adaptive => "adaptive",
    };
    let text = fill(
        TEMPLATE,
        &[
            ("REGION", REGION),
            ("NAME", peer.name()),
            ("DIR", &scene.dir().display().to_string()),
            ("CORE", &scene.proxy_core.to_string()),
            ("IDLE", idle),
            ("LISTEN", &address.to_string()),
            ("ADMIN", &admin.to_string()),
            ("LOG_SHARE", &(f64::from(LOG_PERCENT) / 100.0).to_string()),
            ("SNAPSHOT", &snapshot),
            ("FEED", &feed),
            ("SERVICES", &services),
        ],
    );
    let configuration = scene.write(&format!("{}-{idle}.yaml", peer.name()), &text)?;
    let mut command = Command::new(program);
    command.args(["run", "--config"]).arg(&configuration);
    let mending = match peer {
        Peer::Before => "name an earlier ringway with --before PATH",
        _ => "build it with `cargo build --release -p ringway` or name it with --ringway PATH",
    };
    Ok(Prepared { peer, command, address, admin, configuration, mending })
}

fn services(scene: &Scene) -> String {
    let groups = scene.groups();
    // The data set has its own.
    let hosts = if scene.data_set.is_some() { &[] } else { &scene.hosts[..] };
    if hosts.is_empty() && scene.neighbours.is_empty() {
        return String::new();
    }
    let mut text = "services:\n".to_owned();
    for (host, name) in hosts.iter().enumerate() {
        let endpoints: Vec<String> =
            groups[scene.group_of(host)].iter().map(|endpoint| format!("\"{endpoint}\"")).collect();
        let endpoints = endpoints.join(", ");
        let _ = writeln!(text, "  - {{ id: svc_{host:06}, hostnames: [{name}], endpoints: [{endpoints}] }}");
    }
    for (number, (name, endpoint)) in scene.neighbours.iter().enumerate() {
        let _ = writeln!(
            text,
            "  - {{ id: svc_neighbour_{number}, hostnames: [{name}], endpoints: [\"{endpoint}\"] }}"
        );
    }
    text
}
