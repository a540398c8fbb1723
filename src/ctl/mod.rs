//! Operator commands.

mod admin;
mod explain;
mod guards;
mod here;
mod pages;
mod snapshots;

pub use explain::{Explain, explain};
pub use guards::{Guards, Running, guards};
pub use here::look;
pub use pages::{completions, man, schema};
pub use snapshots::{build, inspect, verify};
