//! Appends churn to the file of changes, and to that of what is known: what is about to be appended before, what has been after.

use std::time::{Duration, Instant};

use ringway_state::change::render;

use super::churn::{self, Churn};
use super::known::{self, Mark, now_ns};
use crate::dataset::Dataset;
use crate::error::Error;
use crate::limits::CHANGES_TOGETHER_MAX;
use crate::output::Output;

/// Both files as they grow.
pub struct Writer<'d> {
    data: &'d Dataset,
    churn: Churn<'d>,
    count: u64,
    out: Output,
    truth: Output,
    lines: Vec<u8>,
}

impl<'d> Writer<'d> {
    /// Notes that the first change is meant for now.
    ///
    /// # Errors
    /// The file of what is known cannot be written.
    pub fn begin(data: &'d Dataset, out: Output, mut truth: Output) -> Result<Self, Error> {
        truth.append(&known::line(&Mark::Begin { ns: now_ns() }))?;
        Ok(Self { data, churn: Churn::new(data, data.seed()), count: 0, out, truth, lines: Vec::new() })
    }

    /// Appends the next so many, as many at a time as readers take; `told` of how many there are after each time.
    ///
    /// # Errors
    /// One of the files cannot be written.
    pub fn append(&mut self, mut changes: u64, mut told: impl FnMut(u64)) -> Result<(), Error> {
        while changes > 0 {
            let some = changes.min(CHANGES_TOGETHER_MAX);
            self.append_together(self.count + some)?;
            told(self.count);
            changes -= some;
        }
        Ok(())
    }

    fn append_together(&mut self, until: u64) -> Result<(), Error> {
        self.lines.clear();
        for (number, act) in (self.count..until).zip(&mut self.churn) {
            render(&churn::change(self.data, number, &act), Some(number), &mut self.lines);
        }
        self.truth.append(&known::line(&Mark::Writing { until, ns: now_ns() }))?;
        self.out.append(&self.lines)?;
        self.truth.append(&known::line(&Mark::Written { until, ns: now_ns() }))?;
        self.count = until;
        Ok(())
    }
}

/// How many changes a rate asks for as time goes on: the first at once, the others at equal distances. Pure.
#[derive(Debug)]
pub struct Due {
    /// A second.
    rate: f64,
    since: Instant,
    given: u64,
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // no time asks for so many
impl Due {
    #[must_use]
    pub fn new(rate: f64, since: Instant) -> Self {
        Self { rate, since, given: 0 }
    }

    /// When the next is due.
    #[must_use]
    pub fn next(&self) -> Instant {
        self.since + Duration::from_nanos((self.given as f64 * 1e9 / self.rate).ceil() as u64)
    }

    /// Those that have become due by now, since they were taken last.
    pub fn take(&mut self, now: Instant) -> u64 {
        let Some(since) = now.checked_duration_since(self.since) else { return 0 };
        // A moment that `next` has named has come, whatever a fraction has lost.
        let meant = (since.as_nanos() as f64 * self.rate / 1e9 + 1e-6) as u64 + 1;
        let due = meant.saturating_sub(self.given);
        self.given += due;
        due
    }

    /// Nothing is due before now.
    pub fn pause(&mut self, now: Instant) {
        (self.since, self.given) = (now, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_rate_is_kept_over_any_looks_and_a_pause_owes_nothing() {
        let since = Instant::now();
        let mut due = Due::new(1_000.0, since);
        let at = |ms| since + Duration::from_millis(ms);
        assert_eq!([0, 1, 1, 7, 1_000].map(|ms| due.take(at(ms))), [1, 1, 0, 6, 993]);
        due.pause(at(5_000));
        assert_eq!([4_999, 5_000, 5_003].map(|ms| due.take(at(ms))), [0, 1, 3]);
    }

    proptest! {
        /// Who sleeps until the next is due finds it due, and never more than one that was not.
        #[test]
        fn the_next_is_due_when_it_says_so(rate in 0.1..1e6f64, n in 1u64..2_000) {
            let since = Instant::now();
            let mut due = Due::new(rate, since);
            for number in 0..n {
                let next = due.next();
                prop_assert_eq!(due.take(next), 1, "{} {}", number, rate);
            }
            let last = due.next().duration_since(since).as_secs_f64();
            prop_assert!((last - n as f64 / rate).abs() < 1e-6);
        }
    }
}
