//! How a closure is timed: warmed, long enough for the clock, in turns with the others.
use std::hint::black_box;
use std::time::Duration;

use super::clock;
use crate::failure::Failure;
use crate::interrupt;
use crate::progress::Progress;
use crate::stats::Spread;

/// Caches, branch predictors and the clock's frequency settle.
const WARM_UP: Duration = Duration::from_millis(100);
/// A run is made of as many operations as take about this long.
const RUN: Duration = Duration::from_millis(50);

/// One part to time.
pub(super) struct Case {
    pub name: &'static str,
    pub note: String,
    /// The case whose time this one is set against.
    pub beside: Option<&'static str>,
    /// Does that many operations; its result keeps the compiler from leaving them out.
    operations: Box<dyn FnMut(u64) -> u64>,
}

impl Case {
    pub(super) fn new(
        name: &'static str,
        note: impl Into<String>,
        operations: impl FnMut(u64) -> u64 + 'static,
    ) -> Self {
        Self { name, note: note.into(), beside: None, operations: Box::new(operations) }
    }

    /// Sets the time against that of `name`.
    pub(super) fn beside(mut self, name: &'static str) -> Self {
        self.beside = Some(name);
        self
    }

    fn run(&mut self, count: u64) -> Duration {
        let start = clock::now();
        black_box((self.operations)(black_box(count)));
        clock::now() - start
    }

    /// Operations that fill a run, found while warming up.
    fn warm_up(&mut self) -> u64 {
        let (start, mut count) = (clock::now(), 64);
        loop {
            let took = self.run(count).as_secs_f64();
            if clock::now() - start >= WARM_UP && took >= RUN.as_secs_f64() / 8.0 {
                // Positive, and far below 2^53.
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
                return ((count as f64 * RUN.as_secs_f64() / took) as u64).max(1);
            }
            count *= if took < RUN.as_secs_f64() / 8.0 { 2 } else { 1 };
        }
    }
}

/// Nanoseconds an operation, over the runs.
pub(super) struct Timed {
    pub spread: Spread,
}

/// Times all `cases`, `runs` times each, one after the other in every round.
pub(super) fn take_turns(
    cases: &mut [Case],
    runs: usize,
    progress: &Progress,
) -> Result<Vec<Timed>, Failure> {
    let mut counts = Vec::with_capacity(cases.len());
    for case in cases.iter_mut() {
        interrupt::check()?;
        progress.say(format!("warming up: {}", case.name));
        counts.push(case.warm_up());
    }
    let mut times = vec![Vec::with_capacity(runs); cases.len()];
    for _ in 0..runs {
        for ((case, &count), times) in cases.iter_mut().zip(&counts).zip(&mut times) {
            interrupt::check()?;
            progress.say(case.name.to_owned());
            times.push(case.run(count).as_nanos() as f64 / count as f64);
            progress.step();
        }
    }
    Ok(times.iter().map(|times| Timed { spread: Spread::of(times) }).collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a failed unwrap is the test's failure
    use super::*;

    #[test]
    fn a_known_pause_is_found_again() {
        let pause = Duration::from_micros(200);
        let mut cases = [Case::new("pause", "", move |count| {
            let end = clock::now() + pause * u32::try_from(count).unwrap();
            while clock::now() < end {
                std::hint::spin_loop();
            }
            count
        })];
        let timed = take_turns(&mut cases, 3, &Progress::over(3)).unwrap();
        assert!((200_000.0..400_000.0).contains(&timed[0].spread.min), "{:?}", timed[0].spread);
    }
}
