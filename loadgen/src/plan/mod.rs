//! What a run will do, decided before it does anything: from a file ([`file`]) or from what was typed ([`typed`]).
//! Pure, but for reading the file.

mod file;
mod profile;
#[cfg(test)]
mod tests;
mod typed;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use ringway::proto::http1::Method;

pub(crate) use file::name_of;
pub use file::{load, parse};
pub use profile::{Clock, Piece, Profile};

use crate::arrivals::Spacing;
use crate::cli::Draw;
use crate::draw::{Delay, Sizes, Weighted};
use crate::limits;

/// A target whose address is known.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    pub name: String,
    /// As it was typed: what a Host field says when no name is given.
    pub authority: String,
    pub address: SocketAddr,
}

/// When requests start.
#[derive(Clone, Debug, PartialEq)]
pub enum Load {
    /// Each connection's next when it has its answer, and its client has thought about it.
    Closed { think: Delay },
    /// At a rate, whatever the answers do.
    Open { rate: Profile, spacing: Spacing },
}

/// When a turn ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Extent {
    /// Figures are kept for `keep`, after `warmup`.
    Time { warmup: Duration, keep: Duration },
    /// After so many requests, all of which count.
    Requests(u64),
}

/// One kind of request.
#[derive(Clone, Debug, PartialEq)]
pub struct Kind {
    pub method: Method,
    /// With query.
    pub path: String,
    /// Octets sent with it; `None` sends no body at all.
    pub body: Option<Sizes>,
}

/// Where host names come from.
#[derive(Clone, Debug, PartialEq)]
pub enum Names {
    /// What the first target is called.
    Target,
    One(String),
    /// One a line.
    File(PathBuf, Draw),
    /// The first so many ranks of the standard data set.
    Dataset(u64, Draw),
}

/// One run.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// What the load stands for, in a sentence; empty when it was typed.
    pub about: String,
    pub targets: Vec<Target>,
    pub rounds: u32,
    pub connections: usize,
    pub kinds: Weighted<Kind>,
    pub names: Names,
    /// The share of requests that leave their connection open for the next.
    pub keep_alive: f64,
    pub load: Load,
    /// Beside the load: connections that are opened at this rate, ask once and close.
    pub storm: Option<Profile>,
    pub extent: Extent,
    /// Of a connect, and of a request from when it is sent.
    pub timeout: Duration,
    pub seed: u64,
}

/// One target's turn in one round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// From 0.
    pub round: u32,
    /// Index of the target.
    pub target: usize,
}

impl Plan {
    /// The same plan for these targets.
    ///
    /// # Errors
    /// Too many, or two of one name, with its mending.
    pub fn aimed_at(self, targets: Vec<Target>) -> Result<Self, String> {
        if targets.len() > limits::TARGETS_MAX {
            return Err(format!("--target: {} targets; at most {}", targets.len(), limits::TARGETS_MAX));
        }
        for (at, target) in targets.iter().enumerate() {
            if targets[..at].iter().any(|earlier| earlier.name == target.name) {
                let name = &target.name;
                return Err(format!(
                    "--target: {name} is there twice; tell them apart, as in a={name},b={name}"
                ));
            }
        }
        Ok(Self { targets, ..self })
    }

    /// The same load at the same rates in so much less time.
    #[must_use]
    pub fn shortened(self, by: f64) -> Self {
        let extent = match self.extent {
            Extent::Time { warmup, keep } => {
                Extent::Time { warmup: warmup.div_f64(by), keep: keep.div_f64(by) }
            }
            counted @ Extent::Requests(_) => counted,
        };
        let load = match self.load {
            Load::Open { rate, spacing } => Load::Open { rate: rate.shortened(by), spacing },
            closed @ Load::Closed { .. } => closed,
        };
        let storm = self.storm.map(|storm| storm.shortened(by));
        Self { extent, load, storm, ..self }
    }

    /// All turns in order: A B A B for two targets and two rounds.
    pub fn turns(&self) -> impl Iterator<Item = Turn> + use<> {
        let targets = self.targets.len();
        (0..self.rounds).flat_map(move |round| (0..targets).map(move |target| Turn { round, target }))
    }

    /// Seed of one round: the same for all its targets, so that they are asked the same.
    #[must_use]
    pub fn seed_of(&self, round: u32) -> u64 {
        self.seed.wrapping_add(u64::from(round).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// Connections that may be open at a time.
    #[must_use]
    pub fn open_max(&self) -> usize {
        self.connections + if self.storm.is_some() { limits::STORM_OPEN_MAX } else { 0 }
    }
}
