//! How looking up the names of endpoints goes.

use super::cell::{Counter, Gauge};

/// Written by the names' thread alone.
#[derive(Debug, Default)]
pub struct NameStats {
    /// Look-ups that have ended, by how.
    pub answered: Counter,
    pub failed: Counter,
    /// Since their names are no longer wanted.
    pub given_up: Counter,
    pub names: Gauge,
    pub failing: Gauge,
    /// Due, and not asked for yet since others are.
    pub waiting: Gauge,
}
