//! The plan that options describe.

use super::{Extent, Kind, Load, Names, Plan, Profile};
use crate::arrivals::Spacing;
use crate::cli::{Draw, HostSource, RunOptions};
use crate::draw::{Delay, Weighted};
use ringway::proto::http1::Method;

/// Seed of a run that names none.
pub(super) const SEED: u64 = 1;

impl Plan {
    /// The plan for what was typed, without its targets.
    ///
    /// # Errors
    /// Options that do not go together, each with its mending.
    pub fn typed(options: &RunOptions) -> Result<Self, String> {
        if options.requests.is_none() && options.duration.is_zero() {
            return Err("--duration: give more than 0 seconds, or a count with --requests".to_owned());
        }
        if options.timeout.is_zero() {
            return Err("--timeout: give more than 0 seconds".to_owned());
        }
        let kind = Kind { method: Method::Get, path: options.path.clone(), body: None };
        Ok(Self {
            about: String::new(),
            targets: Vec::new(),
            rounds: options.rounds.map_or(1, std::num::NonZeroU32::get),
            connections: options.connections,
            kinds: Weighted::one(kind),
            names: names(options),
            keep_alive: if options.no_keep_alive { 0.0 } else { 1.0 },
            load: load(options),
            storm: None,
            extent: extent(options),
            timeout: options.timeout,
            seed: options.seed.unwrap_or(SEED),
        })
    }
}

fn names(options: &RunOptions) -> Names {
    match (&options.hosts, &options.host) {
        (Some(source), _) => source.names(options.draw),
        (None, Some(host)) => Names::One(host.0.clone()),
        (None, None) => Names::Target,
    }
}

impl HostSource {
    /// Drawn as told, or as such names usually are.
    pub(super) fn names(&self, draw: Option<Draw>) -> Names {
        match self {
            Self::File(path) => Names::File(path.clone(), draw.unwrap_or(Draw::Uniform)),
            Self::Dataset(count) => Names::Dataset(*count, draw.unwrap_or(Draw::Zipf)),
        }
    }
}

fn load(options: &RunOptions) -> Load {
    let spacing = if options.poisson { Spacing::Poisson } else { Spacing::Even };
    let open = |rate| Load::Open { rate: Profile::constant(rate), spacing };
    options.rate.map_or(Load::Closed { think: Delay::NONE }, open)
}

fn extent(options: &RunOptions) -> Extent {
    let by_time = Extent::Time { warmup: options.warmup, keep: options.duration };
    options.requests.map_or(by_time, Extent::Requests)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a failed unwrap is a failed test
    use super::super::Target;
    use super::*;
    use crate::cli::{Command, CommandLine};
    use clap::Parser;
    use proptest::prelude::*;
    use std::time::Duration;

    fn plan(line: &str) -> Result<Plan, String> {
        let line = format!("ringway-loadgen run --target x:1 {line}");
        let Command::Run(options) = CommandLine::try_parse_from(line.split_whitespace()).unwrap().command
        else {
            unreachable!("run was typed")
        };
        Plan::typed(&options)?.aimed_at(vec![target("a", 1), target("b", 2)])
    }

    fn target(name: &str, port: u16) -> Target {
        Target { name: name.to_owned(), authority: name.to_owned(), address: ([127, 0, 0, 1], port).into() }
    }

    #[test]
    fn load_and_extent_follow_the_options() {
        let closed = plan("--duration 5 --warmup 0.5").unwrap();
        assert_eq!(closed.load, Load::Closed { think: Delay::NONE });
        let (warmup, keep) = (Duration::from_millis(500), Duration::from_secs(5));
        assert_eq!(closed.extent, Extent::Time { warmup, keep });
        let open = plan("--rate 1000 --poisson --requests 70 --no-keep-alive").unwrap();
        let rate = Profile::constant(1000.0);
        assert_eq!(open.load, Load::Open { rate, spacing: Spacing::Poisson });
        assert_eq!((open.extent, open.keep_alive.to_bits()), (Extent::Requests(70), 0f64.to_bits()));
    }

    #[test]
    fn what_does_not_go_together_is_told() {
        assert!(plan("--duration 0").unwrap_err().starts_with("--duration: "));
        assert!(plan("--timeout 0").unwrap_err().starts_with("--timeout: "));
        let aimed = |targets| plan("").unwrap().aimed_at(targets);
        let twice = aimed(vec![target("a", 1), target("a", 2)]);
        assert!(twice.unwrap_err().contains("a is there twice"));
        let many = (0..17).map(|n| target(&n.to_string(), n)).collect();
        assert!(aimed(many).unwrap_err().contains("at most 16"));
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
