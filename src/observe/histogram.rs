//! How long things took, in buckets four to an octave.

use super::cell::Counter;
use std::time::Duration;

/// Each octave, from a power of two of microseconds to the next, is cut in four equal parts.
const PARTS_LOG2: u32 = 2;
/// The first bucket ends at 16 us.
const FIRST_LOG2: u32 = 4;
/// The last bucket that has an end ends at 67.1 s, 2^26 us.
const LAST_LOG2: u32 = 26;
/// Buckets that have an end; one without follows.
pub(super) const BOUNDED: usize = 1 + ((LAST_LOG2 - FIRST_LOG2) << PARTS_LOG2) as usize;

/// Counts of durations. Single writer, many readers; recording takes a few nanoseconds and no floating point.
///
/// A duration is told to within 25 %. Bucket 0 holds what took at most 16 us, the last what took over 67.1 s.
#[derive(Debug)]
pub struct Histogram {
    buckets: [Counter; BOUNDED + 1],
    sum_ns: Counter,
}

/// What a histogram held when it was read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reading {
    /// Durations per bucket, not accumulated; the last has no end.
    pub(crate) counts: [u64; BOUNDED + 1],
    pub(crate) sum_ns: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { buckets: [const { Counter::new(0) }; BOUNDED + 1], sum_ns: Counter::default() }
    }
}

impl Histogram {
    #[inline]
    pub fn record(&self, took: Duration) {
        self.record_many(took, 1);
    }

    /// The same of so many things that took as long.
    #[inline]
    pub fn record_many(&self, took: Duration, count: u64) {
        let ns = took.as_secs().saturating_mul(1_000_000_000).saturating_add(u64::from(took.subsec_nanos()));
        self.sum_ns.add(ns.wrapping_mul(count));
        self.buckets[bucket(ns)].add(count);
    }

    pub(crate) fn read(&self) -> Reading {
        Reading { counts: std::array::from_fn(|at| self.buckets[at].get()), sum_ns: self.sum_ns.get() }
    }
}

impl Reading {
    pub(super) fn nothing() -> Self {
        Self { counts: [0; BOUNDED + 1], sum_ns: 0 }
    }

    pub(super) fn add(&mut self, other: &Reading) {
        self.sum_ns = self.sum_ns.wrapping_add(other.sum_ns);
        for (sum, count) in self.counts.iter_mut().zip(other.counts) {
            *sum += count;
        }
    }
}

/// The bucket of a duration: the first whose end is not below it.
#[inline]
fn bucket(ns: u64) -> usize {
    // Ends belong to their bucket, as Prometheus has it ("le"), hence the 1.
    let us = ns.saturating_sub(1) / 1000;
    if us < 1 << FIRST_LOG2 {
        return 0;
    }
    let log2 = us.ilog2();
    let part = (us >> (log2 - PARTS_LOG2)) as usize & ((1 << PARTS_LOG2) - 1);
    let at = 1 + (((log2 - FIRST_LOG2) as usize) << PARTS_LOG2) + part;
    at.min(BOUNDED)
}

/// Where bucket `at` ends, in microseconds; `None` behind the last end.
pub(super) fn end_us(at: usize) -> Option<u64> {
    let (octave, part) = (at >> PARTS_LOG2, at as u64 & ((1 << PARTS_LOG2) - 1));
    (at < BOUNDED).then(|| ((1 << PARTS_LOG2) + part) << octave << (FIRST_LOG2 - PARTS_LOG2))
}

#[cfg(test)]
mod tests {
    use super::{BOUNDED, Histogram, end_us};
    use proptest::prelude::*;
    use std::time::Duration;

    /// How many of `durations` are at most as long as each end, and how many there are.
    fn accumulated(durations: &mut [Duration]) -> Vec<u64> {
        durations.sort_unstable();
        let at_most = |end| durations.partition_point(|&duration| duration <= end) as u64;
        let ends = (0..BOUNDED).filter_map(end_us).map(Duration::from_micros);
        ends.map(at_most).chain([durations.len() as u64]).collect()
    }

    fn any_duration() -> impl Strategy<Value = Duration> {
        // Evenly over the octaves; on an end, and a nanosecond beside it.
        let anywhere = (0_u32..=40, any::<u64>()).prop_map(|(log2, bits)| bits % (1 << log2.max(1)));
        let near_end = (0..BOUNDED, 0_u64..3)
            .prop_map(|(at, beside)| end_us(at).unwrap_or_default() * 1000 - 1 + beside);
        prop_oneof![anywhere, near_end].prop_map(Duration::from_nanos)
    }

    proptest! {
        #[test]
        fn agrees_with_a_sorted_list(mut durations in prop::collection::vec(any_duration(), 0..200)) {
            let histogram = Histogram::default();
            durations.iter().for_each(|&duration| histogram.record(duration));
            let reading = histogram.read();
            let sums = reading.counts.iter().scan(0, |sum, count| { *sum += count; Some(*sum) });
            prop_assert_eq!(sums.collect::<Vec<_>>(), accumulated(&mut durations));
            prop_assert_eq!(u128::from(reading.sum_ns), durations.iter().map(Duration::as_nanos).sum::<u128>());
        }
    }

    #[test]
    fn ends_run_from_16_us_to_67_s_four_to_an_octave() {
        let ends: Vec<u64> = (0..=BOUNDED).filter_map(end_us).collect();
        assert_eq!(ends.len(), BOUNDED);
        assert_eq!(ends[..6], [16, 20, 24, 28, 32, 40]);
        assert_eq!(ends.last(), Some(&67_108_864));
        assert!(ends.windows(2).all(|pair| pair[0] < pair[1] && pair[1] * 4 <= pair[0] * 5), "{ends:?}");
    }

    #[test]
    fn the_longest_duration_of_all_is_in_the_last_bucket() {
        let histogram = Histogram::default();
        histogram.record(Duration::MAX);
        assert_eq!(histogram.read().counts[BOUNDED], 1);
    }
}
