//! The driver against a fake kernel: random schedules, a plain model, and everything home at the end.

#![allow(clippy::unwrap_used)] // a test stops at what it did not expect
#![allow(clippy::print_stderr)] // how much was tried is part of the result

mod action;
mod cases;
mod ending;
mod line;
mod owner;
mod waiter;
mod world;

use std::cell::Cell;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};

use super::fake::Mood;
use action::{Action, action};
use world::World;

/// Cases of an ordinary run; `RINGWAY_SOAK=n` tries n times as many.
const CASES: u32 = 600;

fn from_environment(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Runs random schedules; a failure prints the seed, which `RINGWAY_SEED` repeats, and the smallest schedule found.
#[test]
fn random_schedules_come_right() {
    let seed = from_environment("RINGWAY_SEED").unwrap_or_else(|| fastrand::u64(..));
    let cases = CASES.saturating_mul(from_environment("RINGWAY_SOAK").unwrap_or(1) as u32);
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 20_000, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &key));
    let tried = Cell::new([0u64; 4]);
    eprintln!("RINGWAY_SEED={seed}");
    let strategy = (any::<u64>(), Mood::any(), prop::collection::vec(action(), 1..400));
    let result = runner.run(&strategy, |(seed, mood, schedule)| {
        let world = play(seed, mood, &schedule);
        let stats = world.driver.stats();
        let more = [1, schedule.len() as u64, world.driver.kernel.operations, stats.completions];
        tried.set(std::array::from_fn(|i| tried.get()[i] + more[i]));
        Ok(())
    });
    match result {
        Ok(()) => {}
        Err(TestError::Fail(reason, case)) => panic!("RINGWAY_SEED={seed}: {reason}; smallest: {case:?}"),
        Err(failure) => panic!("RINGWAY_SEED={seed}: {failure}"),
    }
    let [cases, steps, operations, completions] = tried.get();
    eprintln!("{cases} cases: {steps} steps, {operations} operations, {completions} completions");
}

fn play(seed: u64, mood: Mood, schedule: &[Action]) -> World {
    let mut world = World::new(seed, mood);
    schedule.iter().for_each(|action| world.step(*action));
    world.end();
    world
}
