//! A turn cut into equal intervals: what ended in each, for charts over time and for logs. Pure.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use crate::limits;
use crate::record;

/// What ended within an interval, of the requests whose figures are kept.
#[derive(Clone, Debug)]
pub struct Interval {
    /// From 0; intervals in which nothing ended are left out.
    pub number: u32,
    pub begin: Instant,
    pub length: Duration,
    /// Answers of class 1xx to 3xx.
    pub good: u64,
    /// All others, failures among them.
    pub errors: u64,
    /// Of the answers, and of requests that were waited for in vain, in nanoseconds.
    pub latency: Histogram<u64>,
}

/// Collects them one after the other.
#[derive(Clone, Debug)]
pub struct Intervals {
    from: Instant,
    length: Duration,
    current: Option<Interval>,
    ended: Vec<Interval>,
}

/// Lengths that people read easily, in milliseconds.
const LENGTHS_MS: [u64; 11] = [100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 300_000, 900_000];

/// The length of the intervals of so long a time: the shortest that makes a chart's number of them.
#[must_use]
pub fn length_for(time: Duration) -> Duration {
    let lengths = LENGTHS_MS.map(Duration::from_millis);
    let fits = |length: &Duration| time.as_nanos() / length.as_nanos() < limits::INTERVALS_MEANT;
    lengths.into_iter().find(fits).unwrap_or(lengths[lengths.len() - 1])
}

impl Intervals {
    #[must_use]
    pub fn new(from: Instant, length: Duration) -> Self {
        Self { from, length, current: None, ended: Vec::new() }
    }

    /// A request ended at `end`, which seldom comes before another's: then it counts with that one. `latency` in
    /// nanoseconds where it counts.
    pub fn add(&mut self, end: Instant, good: bool, latency: Option<u64>) {
        let interval = self.at(end);
        if good {
            interval.good += 1;
        } else {
            interval.errors += 1;
        }
        if let Some(latency) = latency {
            interval.latency.saturating_record(latency);
        }
    }

    fn at(&mut self, end: Instant) -> &mut Interval {
        let since = end.saturating_duration_since(self.from).as_nanos();
        let number = since / self.length.as_nanos().max(1);
        let number = u32::try_from(number).unwrap_or(u32::MAX).min(limits::INTERVALS_MAX - 1);
        if self.current.as_ref().is_some_and(|current| current.number < number) {
            self.ended.extend(self.current.take());
        }
        let (from, length) = (self.from, self.length);
        self.current.get_or_insert_with(|| Interval {
            number,
            begin: from + length * number,
            length,
            good: 0,
            errors: 0,
            latency: record::histogram(),
        })
    }

    /// Those that have ended since they were taken last.
    pub fn take(&mut self) -> Vec<Interval> {
        std::mem::take(&mut self.ended)
    }

    /// All that were not taken: the turn is over.
    pub fn finish(&mut self) -> Vec<Interval> {
        self.ended.extend(self.current.take());
        self.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// However often they are taken, every request is in the interval in which it ended, in order.
        #[test]
        fn each_counts_once(mut ends in prop::collection::vec((0u64..5_000, any::<bool>()), 1..200), every in 1usize..20) {
            ends.sort_unstable();
            let (zero, length) = (Instant::now(), Duration::from_millis(100));
            let (mut intervals, mut found) = (Intervals::new(zero, length), Vec::new());
            for (count, (end, good)) in ends.iter().enumerate() {
                intervals.add(zero + Duration::from_millis(*end), *good, good.then_some(*end));
                if count % every == 0 {
                    found.extend(intervals.take());
                }
            }
            found.extend(intervals.finish());
            prop_assert!(found.windows(2).all(|pair| pair[0].number < pair[1].number));
            for interval in &found {
                let within = |end: u64| end / 100 == u64::from(interval.number);
                let count = |good: bool| ends.iter().filter(|one| within(one.0) && one.1 == good).count() as u64;
                prop_assert_eq!((interval.good, interval.errors), (count(true), count(false)));
                prop_assert_eq!(interval.latency.len(), count(true));
                prop_assert_eq!(interval.begin, zero + length * interval.number);
            }
            prop_assert_eq!(found.iter().map(|one| one.good + one.errors).sum::<u64>(), ends.len() as u64);
        }
    }

    #[test]
    fn lengths_make_a_chart() {
        for (seconds, ms) in [(1, 100), (10, 100), (60, 500), (600, 5_000), (86_400, 900_000)] {
            let length = length_for(Duration::from_secs(seconds));
            assert_eq!(length, Duration::from_millis(ms), "{seconds}");
        }
    }
}
