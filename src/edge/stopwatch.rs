//! A request's time, each moment of which belongs to one stage.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::observe::{Stage, Times};

/// Reads no clock: whoever enters a stage says when, which is the core's [`now`](crate::runtime::Core::now).
pub(super) struct Stopwatch {
    head: Duration,
    stage: Cell<Stage>,
    since: Cell<Instant>,
    spent: [Cell<Duration>; Stage::COUNT],
}

impl Stopwatch {
    /// For a request whose first octet came at `began` and whose head is whole `now`.
    pub(super) fn new(began: Instant, now: Instant) -> Stopwatch {
        Stopwatch {
            head: now.saturating_duration_since(began),
            stage: Cell::new(Stage::Route),
            since: Cell::new(now),
            spent: Default::default(),
        }
    }

    /// What was until now belongs to the stage before, what comes to `stage`. A stage may be entered again.
    pub(super) fn enter(&self, stage: Stage, now: Instant) {
        let (before, since) = (self.stage.replace(stage), self.since.get());
        // Within a turn of the core no time passes.
        if now != since {
            let spent = &self.spent[before as usize];
            spent.set(spent.get() + now.saturating_duration_since(since));
            self.since.set(now);
        }
    }

    /// The times of a request that ends `now`.
    pub(super) fn times(&self, now: Instant) -> Times {
        self.enter(self.stage.get(), now);
        Times { head: self.head, stages: self.spent.each_ref().map(Cell::get) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_moment_is_one_stage_s() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let watch = Stopwatch::new(start, at(7));
        for (stage, ms) in [
            (Stage::Queue, 8),
            (Stage::Connect, 9),
            (Stage::Wait, 10),
            // A second attempt.
            (Stage::Connect, 14),
            (Stage::Wait, 22),
            (Stage::Body, 38),
        ] {
            watch.enter(stage, at(ms));
        }
        let times = watch.times(at(70));
        let ms = times.stages.map(|time| time.as_millis());
        assert_eq!((times.head.as_millis(), ms), (7, [1, 1, 9, 20, 32]));
        assert_eq!((times.whole().as_millis(), times.origin().as_millis()), (63, 29));
    }
}
