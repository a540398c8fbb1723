//! Operator commands.

mod admin;
mod check;
mod explain;
mod guards;
mod pages;
mod state;

pub use check::check;
pub use explain::{Explain, explain};
pub use guards::{Guards, Running, guards};
pub use pages::{completions, man, schema};
#[cfg(test)]
use state::build;
pub use state::{StateCommand, state};
