//! What the router tells of itself. Recorded on-core without locks or system calls, exported off-core.
//!
//! A core owns one [`CoreMetrics`] and one [`access::LogSink`]. The [`admin`] thread reads the former when it is
//! scraped ([`Registry`]); the log's thread drains the latter ([`access::LogWriter`]). What the process itself has
//! to say goes to stderr, as JSON lines too, by a thread of its own ([`process_log`]).

pub mod access;
pub mod admin;
mod cell;
mod config_stats;
mod drain;
mod errors;
mod feed_stats;
mod histogram;
mod lag;
mod metrics;
mod name_stats;
mod process;
pub mod process_log;
mod readiness;
mod reason;
#[cfg(test)]
mod reference;
mod registry;
mod slow;
mod times;
mod timestamp;
pub mod top;

pub use cell::{Counter, Gauge};
pub use config_stats::ConfigStats;
pub use errors::{ErrorCounters, ErrorKind, PendingErrors, ServiceErrors};
pub use feed_stats::FeedStats;
pub use histogram::Histogram;
pub use lag::LagCounters;
pub use metrics::{ByClass, CoreMetrics, RingCounters};
pub use name_stats::NameStats;
pub use readiness::Readiness;
pub use reason::{Fault, Reason};
pub use registry::{FeedFiles, NodeLabels, Registry, TableFigures, TableFile};
pub use slow::SlowNotes;
pub use times::{Stage, Times};
pub use timestamp::timestamp;
pub use top::TopHosts;
