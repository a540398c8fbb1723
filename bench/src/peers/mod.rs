//! The proxies that are compared: each configured for the same work, each as fast as it goes.
//!
//! Everything on: host name → two endpoints of 64, upstream keep-alive, seven added fields (X-Request-Id,
//! traceparent, X-Forwarded-For/-Proto/-Host, Via, X-Attempt), access log in JSON for 5 % of requests,
//! metrics. One worker, one CPU. With the data set loaded the others still know
//! [`crate::limits::INLINE_HOSTS`] names and send all the rest to one pool of the 64 endpoints: less work
//! than ringway's, since none of them holds four million names.
mod enters;
mod haproxy;
mod nginx;
mod pingora;
mod ringway;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use clap::ValueEnum;
use serde::Serialize;

pub use enters::Enters;

use crate::failure::Failure;
use crate::limits::{READY_SECONDS, READY_WITH_SNAPSHOT_SECONDS};
use crate::owned::Owned;
use crate::procfs::{self, CpuTime};
use crate::scene::{Scene, get, wait_until_answers};

const WRAPPER_MENDING: &str = "install it with `apt-get install valgrind`";

/// Share of requests that every access log takes.
pub const LOG_PERCENT: u8 = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Peer {
    Ringway,
    /// An earlier ringway, to see what has become faster or slower since.
    Before,
    Nginx,
    Haproxy,
    Pingora,
}

impl Peer {
    pub fn name(self) -> &'static str {
        match self {
            Self::Ringway => "ringway",
            Self::Before => "before",
            Self::Nginx => "nginx",
            Self::Haproxy => "haproxy",
            Self::Pingora => "pingora",
        }
    }
}

/// What ringway's cores do with nothing to do: CPU is measured parked, latency with the default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idle {
    Park,
    Adaptive,
}

/// Where the peers' programs are.
#[derive(Clone, Debug)]
pub struct Programs {
    pub ringway: PathBuf,
    pub before: PathBuf,
    pub nginx: PathBuf,
    pub haproxy: PathBuf,
    pub pingora: PathBuf,
}

/// A peer that answers.
pub struct Running {
    pub peer: Peer,
    pub address: SocketAddr,
    admin: SocketAddr,
    process: Owned,
    /// Its configuration as written, for the report.
    pub configuration: PathBuf,
}

/// What a peer's module hands over to be started.
struct Prepared {
    peer: Peer,
    command: Command,
    address: SocketAddr,
    admin: SocketAddr,
    configuration: PathBuf,
    mending: &'static str,
}

impl Running {
    /// Writes the peer's configuration, starts it on the proxies' CPU, and waits until it proxies.
    pub fn start(peer: Peer, programs: &Programs, idle: Idle, scene: &Scene) -> Result<Self, Failure> {
        let prepared = match peer {
            Peer::Ringway => ringway::prepare(peer, &programs.ringway, idle, scene)?,
            Peer::Before => ringway::prepare(peer, &programs.before, idle, scene)?,
            Peer::Nginx => nginx::prepare(&programs.nginx, scene)?,
            Peer::Haproxy => haproxy::prepare(&programs.haproxy, scene)?,
            Peer::Pingora => pingora::prepare(&programs.pingora, scene)?,
        };
        Self::launch(prepared, scene, peer.name())
    }

    /// Starts `ringway` under `wrapper` (a program and its arguments, such as valgrind's).
    pub fn start_wrapped(wrapper: &[String], programs: &Programs, scene: &Scene) -> Result<Self, Failure> {
        let mut prepared = ringway::prepare(Peer::Ringway, &programs.ringway, Idle::Park, scene)?;
        if let Some((program, arguments)) = wrapper.split_first() {
            let mut command = Command::new(program);
            command.args(arguments).arg(prepared.command.get_program()).args(prepared.command.get_args());
            prepared.command = command;
            prepared.mending = WRAPPER_MENDING;
        }
        Self::launch(prepared, scene, "ringway-wrapped")
    }

    fn launch(prepared: Prepared, scene: &Scene, name: &str) -> Result<Self, Failure> {
        let Prepared { peer, command, address, admin, configuration, mending } = prepared;
        let mut process = Owned::spawn(name, command, scene.proxy_core, scene.dir(), mending)?;
        let seconds = if scene.data_set.is_some() { READY_WITH_SNAPSHOT_SECONDS } else { READY_SECONDS };
        wait_until_answers(&mut process, address, &scene.probe_host(), Duration::from_secs(seconds))?;
        Ok(Self { peer, address, admin, process, configuration })
    }

    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    pub fn cpu_time(&self) -> Result<CpuTime, Failure> {
        procfs::cpu_time(self.pid())
    }

    pub fn private_dirty_bytes(&self) -> Result<u64, Failure> {
        procfs::private_dirty_bytes(self.pid())
    }

    /// The sum of `counter` over its labels in the peer's own metrics.
    pub fn counter(&self, counter: &str) -> Result<u64, Failure> {
        sum_of(&self.metrics()?, counter).ok_or_else(|| self.lacks(counter))
    }

    /// The peer's own metrics, in Prometheus' text format.
    pub fn metrics(&self) -> Result<String, Failure> {
        let text = get(self.admin, "localhost", "/metrics");
        let text = text.map_err(|error| self.lacks(&format!("an answer ({error})")))?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    /// What to say of metrics that lack `counter`.
    pub fn lacks(&self, counter: &str) -> Failure {
        Failure::NoCounter { name: self.peer.name().to_owned(), counter: counter.to_owned() }
    }
}

/// Sums the samples of `counter` in Prometheus' text format; `None` if there are none.
fn sum_of(text: &str, counter: &str) -> Option<u64> {
    let mut sum = None;
    for line in text.lines() {
        let Some(rest) = line.strip_prefix(counter) else { continue };
        if !rest.starts_with([' ', '{']) {
            continue;
        }
        let value: f64 = rest.rsplit_once(' ')?.1.trim().parse().ok()?;
        *sum.get_or_insert(0.0) += value;
    }
    // Counters are whole and far below 2^53.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    sum.map(|sum: f64| sum as u64)
}

/// Fills `template`'s `@WORDS@`.
fn fill(template: &str, words: &[(&str, &str)]) -> String {
    words.iter().fold(template.to_owned(), |text, (word, value)| text.replace(&format!("@{word}@"), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_summed_over_labels_and_not_over_longer_names() {
        let text =
            "# TYPE a_total counter\na_total{core=\"0\"} 3\na_total{core=\"1\"} 4\na_total_more 9\nb 1\n";
        assert_eq!(sum_of(text, "a_total"), Some(7));
        assert_eq!(sum_of(text, "c"), None);
    }

    #[test]
    fn templates_leave_no_word_behind() {
        assert_eq!(fill("listen @A@; @B@ @A@", &[("A", "1"), ("B", "2")]), "listen 1; 2 1");
    }
}
