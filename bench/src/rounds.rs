//! Rounds of turns: each contestant once a round, in turning order, the round repeated when the machine was
//! taken away.
use serde::Serialize;

use crate::failure::Failure;
use crate::generator::Outcome;
use crate::interrupt;
use crate::limits::STEAL_PERCENT;
use crate::procfs::{CpuTime, MachineTime};
use crate::progress::Progress;

/// What one turn gave.
#[derive(Clone, Debug)]
pub struct Turn {
    pub outcome: Outcome,
    /// The proxy's CPU time within the turn; zero for the origin asked directly.
    pub cpu: CpuTime,
    pub steal_percent: f64,
}

impl Turn {
    pub fn cpu_us_per_request(&self) -> f64 {
        self.cpu.on_cpu_ns as f64 / 1_000.0 / self.outcome.requests as f64
    }
}

/// How many rounds, and how many more may be spent on disturbed ones.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Plan {
    pub rounds: usize,
    pub repeats: usize,
}

impl Plan {
    pub fn of(rounds: usize) -> Self {
        Self { rounds, repeats: rounds }
    }
}

/// The turns of `contestants`, `[contestant][round]`, and the rounds that stayed disturbed when repeats ran
/// out.
pub struct Turns {
    pub of: Vec<Vec<Turn>>,
    pub repeated: usize,
    pub disturbed: usize,
}

/// Runs `turn(contestant)` for each of `names` in each round. Every other round goes backwards, so that a
/// slow drift of the machine favours nobody.
pub fn take_turns(
    what: &str,
    names: &[&str],
    plan: Plan,
    progress: &Progress,
    mut turn: impl FnMut(usize) -> Result<Turn, Failure>,
) -> Result<Turns, Failure> {
    let mut turns = Turns { of: vec![Vec::new(); names.len()], repeated: 0, disturbed: 0 };
    let mut round = 0;
    while round < plan.rounds {
        let mut order: Vec<usize> = (0..names.len()).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        let mut taken: Vec<Option<Turn>> = vec![None; names.len()];
        for contestant in order {
            interrupt::check()?;
            progress.say(format!("{what}: {}, round {}/{}", names[contestant], round + 1, plan.rounds));
            taken[contestant] = Some(turn(contestant)?);
            progress.step();
        }
        let steal = taken.iter().flatten().map(|turn| turn.steal_percent).fold(0.0, f64::max);
        if steal > STEAL_PERCENT {
            if turns.repeated < plan.repeats {
                turns.repeated += 1;
                progress.more(names.len() as u64);
                progress.note(&format!("{what}: {steal:.1} % stolen in round {}, repeating it", round + 1));
                continue;
            }
            turns.disturbed += 1;
        }
        for (all, one) in turns.of.iter_mut().zip(taken) {
            all.extend(one);
        }
        round += 1;
    }
    Ok(turns)
}

/// Runs `load` and takes the CPU time read by `cpu` before and after it.
pub fn measure(
    cpu: impl Fn() -> Result<CpuTime, Failure>,
    load: impl FnOnce() -> Result<Outcome, Failure>,
) -> Result<Turn, Failure> {
    let machine = MachineTime::now();
    let before = cpu()?;
    let outcome = load()?;
    let cpu = cpu()?.since(before);
    Ok(Turn { outcome, cpu, steal_percent: MachineTime::now().steal_percent_since(machine) })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a failed unwrap is the test's failure
    use super::*;
    use crate::generator::Latency;

    fn turn(steal_percent: f64) -> Turn {
        let latency_us = Latency { p50: 1.0, p90: 1.0, p99: 1.0, p999: 1.0, max: 1.0, mean: 1.0 };
        let outcome = Outcome { requests: 10, errors: 0, rps: 10.0, latency_us };
        let cpu = CpuTime { on_cpu_ns: 150_000, ..CpuTime::default() };
        Turn { outcome, cpu, steal_percent }
    }

    #[test]
    fn order_turns_from_round_to_round() {
        let mut order = Vec::new();
        let turns = take_turns("", &["a", "b"], Plan::of(3), &Progress::over(6), |contestant| {
            order.push(contestant);
            Ok(turn(0.0))
        });
        assert_eq!(order, [0, 1, 1, 0, 0, 1]);
        assert_eq!(turns.unwrap().of.iter().map(Vec::len).collect::<Vec<_>>(), [3, 3]);
    }

    #[test]
    fn a_disturbed_round_is_repeated_whole_until_repeats_run_out() {
        let mut calls = 0;
        let turns = take_turns("", &["a", "b"], Plan { rounds: 2, repeats: 1 }, &Progress::over(4), |_| {
            calls += 1;
            Ok(turn(if calls == 2 || calls == 5 { 9.0 } else { 0.0 }))
        })
        .unwrap();
        assert_eq!(calls, 6, "two rounds and one repeated");
        assert_eq!((turns.repeated, turns.disturbed), (1, 1));
        assert_eq!(turns.of[0].len(), 2);
    }

    #[test]
    fn cpu_is_divided_by_completed_requests() {
        assert!((turn(0.0).cpu_us_per_request() - 15.0).abs() < 1e-9);
    }
}
