//! How far behind a core's loop runs, for other threads to read.

use super::cell::Counter;
use crate::runtime::{LAG_ENDS_US, LagStats};

/// A copy of a core's [`LagStats`].
#[derive(Debug, Default)]
pub struct LagCounters {
    counts: [Counter; LAG_ENDS_US.len() + 1],
    sum_ns: Counter,
}

impl LagCounters {
    /// Publishes what the core has seen so far. Meant for once a tick or so.
    pub fn store(&self, lag: &LagStats) {
        self.counts.iter().zip(lag.counts).for_each(|(counter, count)| counter.set(count));
        self.sum_ns.set(lag.sum_ns);
    }

    /// Buckets by their ends in seconds, not accumulated, and the sum in seconds.
    #[must_use]
    pub fn buckets(&self) -> (Vec<(f64, u64)>, f64) {
        let ends = LAG_ENDS_US.map(|us| us as f64 / 1e6).into_iter().chain([f64::INFINITY]);
        (ends.zip(self.counts.iter().map(Counter::get)).collect(), self.sum_ns.get() as f64 / 1e9)
    }
}
