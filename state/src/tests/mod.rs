//! Properties of the whole: table, snapshot and parser against the plain model and against damage.
#![allow(clippy::unwrap_used)] // a test that cannot set up must fail loudly

mod damage;
mod differences;
mod formats;
mod levels;
mod memory;
mod overlay;
mod parse;
mod replicas;
mod schedules;
mod snapshot;
pub(crate) mod world;
