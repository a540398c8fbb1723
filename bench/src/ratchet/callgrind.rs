//! Instructions for each request, counted by callgrind over many requests on one connection. valgrind 3.19
//! (Debian 12) runs the ring as it is, DEFER_TASKRUN included.
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::Counted;
use crate::client::Client;
use crate::failure::Failure;
use crate::owned::Owned;
use crate::peers::{Programs, Running};
use crate::scene::Scene;

/// Before anything is counted: connections are made, tables are warm.
const WARM_UP_REQUESTS: u64 = 500;
const REQUESTS: u64 = 2_000;
/// Everything is some fifty times slower under callgrind.
const PATIENCE: Duration = Duration::from_secs(30);
const MENDING: &str = "install it with `apt-get install valgrind`";

pub(super) fn count(programs: &Programs, scene: &Scene) -> Result<Counted, Failure> {
    let output = scene.dir().join("callgrind");
    let wrapper = [
        "valgrind".to_owned(),
        "--tool=callgrind".to_owned(),
        format!("--callgrind-out-file={}", output.display()),
    ];
    let ringway = Running::start_wrapped(&wrapper, programs, scene)?;
    let failed = |number| {
        move |source| Failure::Request { name: "ringway under callgrind".to_owned(), number, source }
    };
    let mut client = Client::connect(ringway.address, &scene.probe_host(), PATIENCE).map_err(failed(0))?;
    for number in 1..=WARM_UP_REQUESTS {
        client.ask().map_err(failed(number))?;
    }
    dump(&ringway, scene)?;
    for number in 1..=REQUESTS {
        client.ask().map_err(failed(number))?;
    }
    dump(&ringway, scene)?;
    // Each dump begins the count anew: the second holds the requests and nothing else.
    let instructions = total(&output.with_extension("2"))?;
    Ok(Counted { name: "instructions", per_request: instructions as f64 / REQUESTS as f64 })
}

/// Has callgrind write what it counted. Not by the process's end: valgrind 3.19 takes io_uring_enter for a
/// call that does not block, so a parked core keeps every other thread, and with it any shutdown, from
/// running. vgdb gets through by ptrace.
fn dump(ringway: &Running, scene: &Scene) -> Result<(), Failure> {
    let mut command = Command::new("vgdb");
    command.args([&format!("--pid={}", ringway.pid()), "dump"]);
    Owned::spawn("vgdb", command, scene.generator.core, scene.dir(), MENDING)?.wait_success(PATIENCE)
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
