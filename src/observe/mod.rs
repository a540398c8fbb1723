//! What the router tells of itself. Recorded on-core without locks or system calls, exported off-core.
//!
//! A core owns one [`CoreMetrics`] and one [`access::LogSink`]. The admin thread reads the former when it is
//! scraped; the log thread drains the latter.

pub mod access;
mod cell;
mod histogram;
mod metrics;
mod reason;

pub use cell::{Counter, Gauge};
pub use histogram::Histogram;
pub use metrics::{ByClass, CoreMetrics, RingCounters};
pub use reason::{Fault, Reason};
