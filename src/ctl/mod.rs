//! Operator commands.

mod admin;
mod check;
mod explain;
mod guards;
mod pages;
mod snapshots;

pub use check::check;
pub use explain::{Explain, explain};
pub use guards::{Guards, Running, guards};
pub use pages::{completions, man, schema};
pub use snapshots::{build, inspect, verify};
