//! Operator commands.

mod snapshots;

pub use snapshots::{build, inspect, verify};
