//! How looking up the names of endpoints goes.

use super::cell::{Counter, Gauge};

/// Written by the names' thread alone.
#[derive(Debug, Default)]
pub struct NameStats {
    pub lookups: Counter,
    pub failures: Counter,
    pub names: Gauge,
    pub failing: Gauge,
}
