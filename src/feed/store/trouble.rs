//! When to try again what a folder did not take. Pure.

use std::time::{Duration, Instant};

use crate::limits;

/// Failures in a row, and when to try again.
#[derive(Debug, Default)]
pub(super) struct Trouble {
    failures: u32,
    until: Option<Instant>,
}

impl Trouble {
    /// One more failure; how long to wait.
    pub(super) fn more(&mut self, now: Instant) -> Duration {
        let first = Duration::from_millis(limits::CHORES_RETRY_MS);
        let wait = first
            .saturating_mul(1 << self.failures.min(16))
            .min(Duration::from_millis(limits::CHORES_RETRY_MOST_MS));
        self.failures += 1;
        self.until = Some(now + wait);
        wait
    }

    pub(super) fn is_any(&self) -> bool {
        self.failures > 0
    }

    pub(super) fn is_over(&self, now: Instant) -> bool {
        self.until.is_none_or(|until| until <= now)
    }

    pub(super) fn left(&self, now: Instant) -> Option<Duration> {
        Some(self.until?.saturating_duration_since(now)).filter(|left| !left.is_zero())
    }
}
