//! Operator commands.

mod here;
mod snapshots;

pub use here::look;
pub use snapshots::{build, inspect, verify};
