//! What came of the requests of one turn.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use crate::intervals::Intervals;
use crate::limits;

/// Why a request got no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// No connection could be opened.
    Connect,
    /// The connection broke while the answer was awaited.
    Reset,
    /// No whole answer within the timeout.
    Timeout,
    /// The connection ended before the answer did.
    Short,
    /// What came is not HTTP/1.1.
    Malformed,
}

/// How many of each failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Failures {
    pub connect: u64,
    pub reset: u64,
    pub timeout: u64,
    pub short: u64,
    pub malformed: u64,
}

impl Failures {
    fn count(&mut self, failure: Failure) {
        *match failure {
            Failure::Connect => &mut self.connect,
            Failure::Reset => &mut self.reset,
            Failure::Timeout => &mut self.timeout,
            Failure::Short => &mut self.short,
            Failure::Malformed => &mut self.malformed,
        } += 1;
    }

    #[must_use]
    pub fn total(&self) -> u64 {
        self.connect + self.reset + self.timeout + self.short + self.malformed
    }

    fn add(&mut self, other: &Self) {
        self.connect += other.connect;
        self.reset += other.reset;
        self.timeout += other.timeout;
        self.short += other.short;
        self.malformed += other.malformed;
    }
}

/// Figures of the requests that were meant to start within a time.
#[derive(Clone, Debug)]
pub struct Record {
    keep_from: Instant,
    keep_until: Instant,
    /// Nanoseconds from the intended start to the last octet of an answer; or until nobody waited for it any longer, since
    /// percentiles that leave out the worst say what nobody saw.
    pub latency: Histogram<u64>,
    /// Answers by class, 1xx to 5xx.
    pub statuses: [u64; 5],
    pub failures: Failures,
    /// Requests sent again, since the connection had been closed before their first try reached the target.
    pub retried: u64,
    /// Arrivals of an open loop given up because too many waited.
    pub dropped: u64,
    /// Answers of class 1xx to 3xx that were complete within the time.
    pub good_in_time: u64,
    /// When the last answer was complete.
    pub last: Instant,
    pub intervals: Intervals,
}

/// Of latencies in nanoseconds.
#[must_use]
pub fn histogram() -> Histogram<u64> {
    let (least, most) = (limits::LATENCY_MIN_NS, limits::LATENCY_MAX_NS);
    let made = Histogram::new_with_bounds(least, most, limits::LATENCY_DIGITS);
    made.expect("the bounds are constants that suit one another")
}

impl Record {
    /// For requests meant to start in `from..until`, with intervals of this length.
    #[must_use]
    pub fn new(from: Instant, until: Instant, interval: Duration) -> Self {
        Self {
            keep_from: from,
            keep_until: until,
            latency: histogram(),
            statuses: [0; 5],
            failures: Failures::default(),
            retried: 0,
            dropped: 0,
            good_in_time: 0,
            last: from,
            intervals: Intervals::new(from, interval),
        }
    }

    /// A request meant to start at `start` ended at `end`, with a status or without.
    pub fn ended(&mut self, start: Instant, end: Instant, outcome: Result<u16, Failure>) {
        let good = matches!(outcome, Ok(100..400));
        if good && end >= self.keep_from && end < self.keep_until {
            self.good_in_time += 1;
        }
        if !self.keeps(start) {
            return;
        }
        self.last = self.last.max(end);
        let latency = nanoseconds(end.saturating_duration_since(start));
        let counts = matches!(outcome, Ok(_) | Err(Failure::Timeout));
        self.intervals.add(end, good, counts.then_some(latency));
        if counts {
            self.latency.saturating_record(latency);
        }
        match outcome {
            Ok(status) => {
                if let Some(count) = self.statuses.get_mut(usize::from(status / 100).wrapping_sub(1)) {
                    *count += 1;
                }
            }
            Err(failure) => self.failures.count(failure),
        }
    }

    /// An arrival meant to start at `start` was given up.
    pub fn dropped(&mut self, start: Instant) {
        if self.keeps(start) {
            self.dropped += 1;
            self.intervals.add(start, false, None);
        }
    }

    fn keeps(&self, start: Instant) -> bool {
        start >= self.keep_from && start < self.keep_until
    }

    /// Requests that ended, well or not, and arrivals given up.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.answers() + self.failures.total() + self.dropped
    }

    #[must_use]
    pub fn answers(&self) -> u64 {
        self.statuses.iter().sum()
    }

    /// Requests without an answer, and answers of class 4xx or 5xx.
    #[must_use]
    pub fn errors(&self) -> u64 {
        self.failures.total() + self.dropped + self.bad_statuses()
    }

    #[must_use]
    pub fn bad_statuses(&self) -> u64 {
        self.statuses[3] + self.statuses[4]
    }

    /// Good answers a second. A turn that counted requests lasted until its last answer.
    #[must_use]
    pub fn rps(&self, counted: bool) -> f64 {
        let (good, time) = match counted {
            true => (self.answers() - self.bad_statuses(), self.last - self.keep_from),
            false => (self.good_in_time, self.keep_until - self.keep_from),
        };
        if time.is_zero() { 0.0 } else { good as f64 / time.as_secs_f64() }
    }

    /// Adds another turn's counts and latencies; the times stay this one's.
    pub fn merge(&mut self, other: &Self) {
        self.latency += &other.latency;
        for (sum, count) in self.statuses.iter_mut().zip(other.statuses) {
            *sum += count;
        }
        self.failures.add(&other.failures);
        self.retried += other.retried;
        self.dropped += other.dropped;
        self.good_in_time += other.good_in_time;
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: Duration = Duration::from_secs(1);

    proptest! {
        /// Against plain lists: what starts within the time is kept, and percentiles are right to 3 digits.
        #[test]
        fn keeps_what_was_meant_to_start_in_time(
            requests in prop::collection::vec(
                (0u64..3_000, 1u64..5_000_000, prop_oneof![
                    4 => (100u16..600).prop_map(Ok),
                    1 => Just(Err(Failure::Timeout)),
                    1 => Just(Err(Failure::Reset)),
                ]),
                1..300,
            ),
        ) {
            let zero = Instant::now();
            let at = |ms| zero + Duration::from_millis(ms);
            let mut record = Record::new(at(1_000), at(2_000), SECOND);
            // Those that were answered or waited for in vain, among them the latter, and all others.
            let (mut kept, mut in_vain, mut broken) = (Vec::new(), 0, 0);
            for &(start, ns, outcome) in &requests {
                let end = at(start) + Duration::from_nanos(ns);
                record.ended(at(start), end, outcome);
                if (1_000..2_000).contains(&start) {
                    match outcome {
                        Err(Failure::Reset) => broken += 1,
                        _ => kept.push(ns),
                    }
                    in_vain += u64::from(outcome == Err(Failure::Timeout));
                }
            }
            kept.sort_unstable();
            prop_assert_eq!(record.answers(), kept.len() as u64 - in_vain);
            prop_assert_eq!((record.failures.timeout, record.failures.total()), (in_vain, in_vain + broken));
            prop_assert_eq!((record.requests(), record.latency.len()), (kept.len() as u64 + broken, kept.len() as u64));
            if let Some(&most) = kept.last() {
                let median = kept[(kept.len() - 1) / 2];
                let near = |found: u64, meant: u64| found.abs_diff(meant) <= 1 + meant / 1_000;
                prop_assert!(near(record.latency.value_at_quantile(0.5), median));
                prop_assert!(near(record.latency.max(), most));
            }
        }
    }

    #[test]
    fn rates_are_of_the_time_or_to_the_last_answer() {
        let zero = Instant::now();
        let at = |ms| zero + Duration::from_millis(ms);
        let mut record = Record::new(at(0), at(2_000), SECOND);
        for (start, end, status) in [(0, 500, 200), (500, 1_000, 304), (900, 1_000, 503), (1_900, 2_100, 200)]
        {
            record.ended(at(start), at(end), Ok(status));
        }
        assert!((record.rps(false) - 1.0).abs() < 1e-9, "two good answers within two seconds");
        assert!((record.rps(true) - 3.0 / 2.1).abs() < 1e-9, "three good answers until 2.1 s");
        assert_eq!((record.errors(), record.bad_statuses()), (1, 1));
        let empty = Record::new(at(0), at(0), SECOND);
        assert!(empty.rps(true).abs() < 1e-9 && empty.rps(false).abs() < 1e-9);
    }

    #[test]
    fn longer_than_a_minute_counts_as_a_minute() {
        let zero = Instant::now();
        let mut record = Record::new(zero, zero + SECOND, SECOND);
        record.ended(zero, zero + Duration::from_secs(100), Ok(200));
        assert!(record.latency.max() >= limits::LATENCY_MAX_NS && record.answers() == 1);
    }
}
