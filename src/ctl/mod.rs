//! Operator commands.

mod admin;
mod explain;
mod here;
mod snapshots;

pub use explain::{Explain, explain};
pub use here::look;
pub use snapshots::{build, inspect, verify};
