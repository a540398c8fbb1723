//! The only door to the load generator and its origin: `ringway-loadgen`, always in processes of their own.
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::limits::{BODY_BYTES, GENERATOR_GRACE_SECONDS};
use crate::owned::Owned;

/// A path and query of the usual length.
const PATH: &str = "/api/v1/catalogue/items?page=3&sort=price";
const MENDING: &str =
    "build it with `cargo build --release -p ringway-loadgen` or name it with --loadgen PATH";

/// `ringway-loadgen`, and the CPU that it and its origin share.
pub struct Generator {
    pub program: PathBuf,
    pub core: usize,
}

/// One turn's load: GET requests with 12 fields over kept-alive connections.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    pub connections: u32,
    pub seconds: u64,
    /// Seconds before those, whose latencies are not kept. None where CPU time is measured: it cannot be kept
    /// apart.
    pub warm_up: u64,
    /// Requests a second in an open loop, latency counted from the intended start; `None`: closed loop.
    pub rate: Option<u64>,
}

/// What `ringway-loadgen run --json` reports of its one target.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Outcome {
    pub requests: u64,
    pub errors: u64,
    pub rps: f64,
    pub latency_us: Latency,
}

#[derive(Deserialize)]
struct Report {
    targets: [Outcome; 1],
}

/// Microseconds.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct Latency {
    pub p50: f64,
    pub p90: f64,
    pub p99: f64,
    pub p999: f64,
    pub max: f64,
    pub mean: f64,
}

impl Generator {
    /// Starts the origin on all `addresses`: 200, [`BODY_BYTES`] octets, 8 fields.
    pub fn origin(&self, addresses: &[SocketAddr], dir: &Path) -> Result<Owned, Failure> {
        let listen: Vec<String> = addresses.iter().map(SocketAddr::to_string).collect();
        let mut command = Command::new(&self.program);
        command.args(["origin", "--listen", &listen.join(",")]);
        command.args(["--size", &BODY_BYTES.to_string(), "--cpu", &self.core.to_string()]);
        Owned::spawn("origin", command, self.core, dir, MENDING)
    }

    /// Loads `target` for one turn, host names drawn from `hosts` (`FILE` or `dataset:COUNT`). Any failed
    /// request is a failure of the turn.
    pub fn run(
        &self,
        name: &str,
        target: SocketAddr,
        load: Load,
        hosts: &str,
        dir: &Path,
    ) -> Result<Outcome, Failure> {
        let answer = dir.join("generator.json");
        let mut command = Command::new(&self.program);
        command.args(["run", "--target", &target.to_string(), "--hosts", hosts]);
        command.args(["--connections", &load.connections.to_string()]);
        command.args(["--duration", &load.seconds.to_string(), "--warmup", &load.warm_up.to_string()]);
        command.args(["--cpu", &self.core.to_string(), "--path", PATH]);
        if let Some(rate) = load.rate {
            command.args(["--rate", &rate.to_string()]);
        }
        command.arg("--json").arg(&answer);
        Owned::spawn("generator", command, self.core, dir, MENDING)?
            .wait_success(Duration::from_secs(load.warm_up + load.seconds + GENERATOR_GRACE_SECONDS))?;
        let text = std::fs::read_to_string(&answer).map_err(Failure::file(&answer))?;
        let Report { targets: [outcome] } = serde_json::from_str(&text).map_err(Failure::Generator)?;
        if outcome.errors > 0 || outcome.requests == 0 {
            let (requests, errors) = (outcome.requests, outcome.errors);
            return Err(Failure::FailedRequests { name: name.to_owned(), requests, errors });
        }
        Ok(outcome)
    }
}
