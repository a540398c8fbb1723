//! What a run will do, decided before it does anything. Pure.

use std::net::SocketAddr;
use std::time::Duration;

use crate::arrivals::Spacing;
use crate::cli::RunOptions;
use crate::limits;

/// A target whose address is known.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    pub name: String,
    pub address: SocketAddr,
}

/// When requests start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Load {
    /// Each connection's next when it has its answer.
    Closed,
    /// At a rate a second, whatever the answers do.
    Open { rate: f64, spacing: Spacing },
}

/// When a turn ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Extent {
    /// Figures are kept for `keep`, after `warmup`.
    Time { warmup: Duration, keep: Duration },
    /// After so many requests, all of which count.
    Requests(u64),
}

/// One run.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    pub targets: Vec<Target>,
    pub rounds: u32,
    pub connections: usize,
    pub load: Load,
    pub extent: Extent,
    /// Of a connect, and of a request from when it is sent.
    pub timeout: Duration,
    pub keep_alive: bool,
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
    /// The plan for what was typed and the targets' addresses.
    ///
    /// # Errors
    /// Options that do not go together, each with its mending.
    pub fn new(options: &RunOptions, targets: Vec<Target>) -> Result<Self, String> {
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
        if options.requests.is_none() && options.duration.is_zero() {
            return Err("--duration: give more than 0 seconds, or a count with --requests".to_owned());
        }
        if options.timeout.is_zero() {
            return Err("--timeout: give more than 0 seconds".to_owned());
        }
        Ok(Self {
            targets,
            rounds: options.rounds.get(),
            connections: options.connections,
            load: load(options),
            extent: extent(options),
            timeout: options.timeout,
            keep_alive: !options.no_keep_alive,
            seed: options.seed,
        })
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
}

fn load(options: &RunOptions) -> Load {
    let spacing = if options.poisson { Spacing::Poisson } else { Spacing::Even };
    options.rate.map_or(Load::Closed, |rate| Load::Open { rate, spacing })
}

fn extent(options: &RunOptions) -> Extent {
    let by_time = Extent::Time { warmup: options.warmup, keep: options.duration };
    options.requests.map_or(by_time, Extent::Requests)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a failed unwrap is a failed test
    use super::*;
    use crate::cli::{Command, CommandLine};
    use clap::Parser;
    use proptest::prelude::*;

    fn plan(line: &str) -> Result<Plan, String> {
        let line = format!("ringway-loadgen run --target x:1 {line}");
        let Command::Run(options) = CommandLine::try_parse_from(line.split_whitespace()).unwrap().command
        else {
            unreachable!("run was typed")
        };
        Plan::new(&options, vec![target("a", 1), target("b", 2)])
    }

    fn target(name: &str, port: u16) -> Target {
        Target { name: name.to_owned(), address: ([127, 0, 0, 1], port).into() }
    }

    #[test]
    fn load_and_extent_follow_the_options() {
        let closed = plan("--duration 5 --warmup 0.5").unwrap();
        assert_eq!(closed.load, Load::Closed);
        let (warmup, keep) = (Duration::from_millis(500), Duration::from_secs(5));
        assert_eq!(closed.extent, Extent::Time { warmup, keep });
        let open = plan("--rate 1000 --poisson --requests 70 --no-keep-alive").unwrap();
        assert_eq!(open.load, Load::Open { rate: 1000.0, spacing: Spacing::Poisson });
        assert_eq!((open.extent, open.keep_alive), (Extent::Requests(70), false));
    }

    #[test]
    fn what_does_not_go_together_is_told() {
        assert!(plan("--duration 0").unwrap_err().starts_with("--duration: "));
        assert!(plan("--timeout 0").unwrap_err().starts_with("--timeout: "));
        let Command::Run(options) =
            CommandLine::try_parse_from(["x", "run", "--target", "x:1"]).unwrap().command
        else {
            unreachable!("run was typed")
        };
        let twice = Plan::new(&options, vec![target("a", 1), target("a", 2)]);
        assert!(twice.unwrap_err().contains("a is there twice"));
        let many = (0..17).map(|n| target(&n.to_string(), n)).collect();
        assert!(Plan::new(&options, many).unwrap_err().contains("at most 16"));
    }

    proptest! {
        #[test]
        fn targets_take_turns(rounds in 1u32..50) {
            let plan = plan(&format!("--rounds {rounds}")).unwrap();
            let turns: Vec<_> = plan.turns().collect();
            prop_assert_eq!(turns.len(), rounds as usize * 2);
            for (at, turn) in turns.iter().enumerate() {
                prop_assert_eq!((turn.round as usize, turn.target), (at / 2, at % 2));
            }
        }
    }
}
