//! Instructions for each request, counted by callgrind: two runs that differ only in their number of requests, so that
//! start and end fall out. valgrind 3.19 (Debian 12) runs the ring as it is, DEFER_TASKRUN included.
use std::path::Path;
use std::time::Duration;

use super::Counted;
use crate::client::Client;
use crate::failure::Failure;
use crate::peers::{Programs, Running};
use crate::scene::Scene;

const FEW: u64 = 1_000;
const MANY: u64 = 5_000;
/// Everything is some fifty times slower under callgrind.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) fn count(programs: &Programs, scene: &Scene) -> Result<Counted, Failure> {
    let few = instructions(programs, scene, FEW)?;
    let many = instructions(programs, scene, MANY)?;
    let per_request = (many as f64 - few as f64) / (MANY - FEW) as f64;
    Ok(Counted { name: "instructions", per_request })
}

/// User-space instructions of a whole life with `requests` requests, one after the other.
fn instructions(programs: &Programs, scene: &Scene, requests: u64) -> Result<u64, Failure> {
    let output = scene.dir().join(format!("callgrind.{requests}"));
    let wrapper = [
        "valgrind".to_owned(),
        "--tool=callgrind".to_owned(),
        format!("--callgrind-out-file={}", output.display()),
        // By default valgrind lets one thread spin for long before another gets its turn.
        "--fair-sched=yes".to_owned(),
    ];
    let ringway = Running::start_wrapped(&wrapper, programs, scene)?;
    let failed = |number| {
        move |source| Failure::Request { name: "ringway under callgrind".to_owned(), number, source }
    };
    let mut client = Client::connect(ringway.address, &scene.probe_host(), PATIENCE).map_err(failed(0))?;
    for number in 1..=requests {
        client.ask().map_err(failed(number))?;
    }
    drop(client);
    ringway.terminate(PATIENCE)?;
    total(&output)
}

/// The `summary:` (or `totals:`) line of callgrind's output format.
fn total(output: &Path) -> Result<u64, Failure> {
    let text = std::fs::read_to_string(output).map_err(Failure::file(output))?;
    text.lines()
        .find_map(|line| line.strip_prefix("summary:").or_else(|| line.strip_prefix("totals:")))
        .and_then(|rest| rest.split_ascii_whitespace().next()?.parse().ok())
        .ok_or_else(|| Failure::Callgrind { path: output.to_owned() })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a failed unwrap is the test's failure
    use super::*;

    #[test]
    fn the_total_is_found_and_missed_when_not_there() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("callgrind.1");
        std::fs::write(&path, "events: Ir\nsummary: 278986\n\nfn=(1)\n1 2\ntotals: 278986\n").unwrap();
        assert_eq!(total(&path).unwrap(), 278_986);
        std::fs::write(&path, "events: Ir\n").unwrap();
        assert!(matches!(total(&path), Err(Failure::Callgrind { .. })));
    }
}
