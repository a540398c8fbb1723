//! Calls of io_uring_enter for each request, from ringway's own counters.
use super::Counted;
use crate::failure::Failure;
use crate::generator::Load;
use crate::peers::{Idle, Peer, Programs, Running};
use crate::scene::Scene;

const ENTERS: &str = "ringway_ring_enters_total";
const REQUESTS: &str = "ringway_requests_total";
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
            let before = (ringway.counter(ENTERS)?, ringway.counter(REQUESTS)?);
            run()?;
            let (enters, requests) =
                (ringway.counter(ENTERS)? - before.0, ringway.counter(REQUESTS)? - before.1);
            Ok(Counted { name, per_request: enters as f64 / requests.max(1) as f64 })
        })
        .collect()
}
