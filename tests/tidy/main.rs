//! The house's rules, held by reading the sources.

#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test
#![allow(clippy::print_stdout)] // the planning figures

mod borders;
mod habits;
mod lengths;
mod limits;
mod links;
mod mutations;
mod source;
