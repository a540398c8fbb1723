//! The side-by-side comparison: every peer with everything on, taking turns in one run.
//!
//! - cpu: CPU µs per proxied request and its user share, closed loop to saturation, then an open loop at one
//!   rate that all can carry.
//! - latency: what the proxy adds to the origin's p50 and p99, closed loop at 1, 4 and 16 connections, open
//!   loop at half of nginx's saturation.
//! - memory: private dirty octets per idle connection, 10,000 of them that made one request each.
mod cpu;
mod latency;
mod memory;

use clap::ValueEnum;

use crate::failure::Failure;
use crate::peers::{Idle, Peer, Programs, Running};
use crate::progress::Progress;
use crate::report::Figure;
use crate::rounds::Plan;
use crate::scene::Scene;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Scenario {
    Cpu,
    Latency,
    Memory,
}

/// What to measure.
#[derive(Clone, Debug)]
pub struct Options {
    /// The first is the subject: ratios are its figure over each other's.
    pub peers: Vec<Peer>,
    pub programs: Programs,
    pub scenarios: Vec<Scenario>,
    /// Connection counts of the cpu scenario.
    pub connections: Vec<u32>,
    pub plan: Plan,
    /// Length of a turn.
    pub seconds: u64,
    /// What all are offered at equal load, in percent of nginx's saturation.
    pub equal_load: u8,
    /// Idle connections of the memory scenario.
    pub idle_connections: usize,
}

impl Options {
    fn turns(&self) -> u64 {
        let peers = self.peers.len() as u64;
        let rounds = self.plan.rounds as u64;
        let of = |scenario: Scenario| match scenario {
            Scenario::Cpu => cpu::turns(self.connections.len() as u64, peers, rounds),
            Scenario::Latency => latency::turns(peers, rounds),
            Scenario::Memory => memory::turns(rounds),
        };
        self.scenarios.iter().map(|scenario| of(*scenario)).sum()
    }
}

/// What every scenario works with.
struct Stage<'a> {
    options: &'a Options,
    scene: &'a Scene,
    progress: Progress,
}

impl Stage<'_> {
    /// Starts `peers`, each waited for.
    fn start(&self, peers: &[Peer], idle: Idle) -> Result<Vec<Running>, Failure> {
        peers
            .iter()
            .map(|&peer| {
                self.progress.say(format!("starting {}", peer.name()));
                Running::start(peer, &self.options.programs, idle, self.scene)
            })
            .collect()
    }
}

/// What was measured, and the configurations it was measured with.
pub struct Measured {
    pub figures: Vec<Figure>,
    /// File name and text.
    pub configurations: Vec<(String, String)>,
}

/// Runs the scenarios one after the other in `scene`.
pub fn run(options: &Options, scene: &Scene) -> Result<Measured, Failure> {
    let stage = Stage { options, scene, progress: Progress::over(options.turns()) };
    let mut figures = Vec::new();
    for scenario in &options.scenarios {
        figures.extend(match scenario {
            Scenario::Cpu => cpu::run(&stage)?,
            Scenario::Latency => latency::run(&stage)?,
            Scenario::Memory => memory::run(&stage)?,
        });
    }
    Ok(Measured { figures, configurations: configurations(scene) })
}

/// The files that the peers were started with, by name.
fn configurations(scene: &Scene) -> Vec<(String, String)> {
    let Ok(entries) = std::fs::read_dir(scene.dir()) else { return Vec::new() };
    let mut files: Vec<(String, String)> = entries
        .filter_map(Result::ok)
        .filter(|entry| {
            let path = entry.path();
            path.extension().is_some_and(|ending| ending == "conf" || ending == "cfg" || ending == "yaml")
                || path.file_name().is_some_and(|name| name == "pingora.json")
        })
        .filter_map(|entry| {
            let text = std::fs::read_to_string(entry.path()).ok()?;
            Some((entry.file_name().to_string_lossy().into_owned(), text))
        })
        .collect();
    files.sort();
    files
}
