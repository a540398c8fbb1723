//! Real processes on loopback: the origin under curl and raw sockets, the generator against the origin and
//! against targets that misbehave. A module a command.
#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test

mod changes;
mod idle;
mod origin;
mod plans;
mod reports;
mod router;
mod run;
mod scripted;
mod support;
mod troubles;
