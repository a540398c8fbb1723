//! Calls of io_uring_enter for each request, from ringway's own counters.
use super::Counted;
use crate::failure::Failure;
use crate::generator::Load;
use crate::peers::{Enters, Idle, Peer, Programs, Running};
use crate::scene::Scene;

const SECONDS: u64 = 5;

/// At one connection every wait is seen; at 64 waits are shared, and sharing them is what the ring is for.
const LOADS: [(&str, u32); 2] = [("enters_at_1_connection", 1), ("enters_at_64_connections", 64)];

pub(super) fn count(programs: &Programs, scene: &Scene) -> Result<Vec<Counted>, Failure> {
    let ringway = Running::start(Peer::Ringway, programs, Idle::Park, scene)?;
    LOADS
        .iter()
        .map(|&(name, connections)| {
            let load = Load { connections, seconds: SECONDS, warm_up: 0, rate: None };
            let run =
                || scene.generator.run("ringway", ringway.address, load, scene.hosts_argument(), scene.dir());
            run()?; // upstream connections are made
            let before = Enters::of(&ringway)?;
            run()?;
            Ok(Counted { name, per_request: Enters::of(&ringway)?.per_request_since(before) })
        })
        .collect()
}
