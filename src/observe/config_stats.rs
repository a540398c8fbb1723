//! What became of the configuration since the start.

use super::cell::{Counter, Gauge};
use std::time::{SystemTime, UNIX_EPOCH};

/// Written by the main thread alone.
#[derive(Debug, Default)]
pub struct ConfigStats {
    applied: Counter,
    pub refused: Counter,
    applied_at: Gauge,
    restart_needed: Gauge,
}

impl ConfigStats {
    /// The configuration of the start is in effect.
    pub fn begin(&self) {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.applied_at.set(since.as_secs());
    }

    /// Another is, but for what needs a restart, if anything does.
    pub fn applied(&self, restart_needed: bool) {
        self.begin();
        self.applied.inc();
        self.restart_needed.set(u64::from(restart_needed));
    }

    /// Reloads that took effect, and that were refused.
    pub(super) fn reloads(&self) -> (u64, u64) {
        (self.applied.get(), self.refused.get())
    }

    /// Seconds since 1970.
    pub(super) fn applied_at(&self) -> u64 {
        self.applied_at.get()
    }

    pub(super) fn restart_needed(&self) -> u64 {
        self.restart_needed.get()
    }
}
