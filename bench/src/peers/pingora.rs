//! pingora: the small proxy in bench/peers/pingora.
use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::{LOG_PERCENT, Peer, Prepared};
use crate::failure::Failure;
use crate::scene::{Scene, free_address};

pub(super) fn prepare(program: &Path, scene: &Scene) -> Result<Prepared, Failure> {
    let (address, admin) = (free_address()?, free_address()?);
    let mut groups = scene.groups();
    let every = groups.len();
    groups.push(&scene.origins);
    let hosts: serde_json::Map<String, serde_json::Value> = scene
        .hosts
        .iter()
        .enumerate()
        .map(|(host, name)| (name.clone(), scene.group_of(host).into()))
        .collect();
    let text = json!({
        "listen": address,
        "admin": admin,
        "access_log": scene.dir().join("pingora.access.log"),
        "log_percent": LOG_PERCENT,
        "groups": groups,
        "hosts": hosts,
        "default_group": scene.data_set.is_some().then_some(every),
    });
    let configuration = scene.write("pingora.json", &text.to_string())?;
    let mut command = Command::new(program);
    command.arg(&configuration);
    let mending = "build it with `cargo build --release --manifest-path bench/peers/pingora/Cargo.toml`";
    Ok(Prepared { peer: Peer::Pingora, command, address, admin, configuration, mending })
}
