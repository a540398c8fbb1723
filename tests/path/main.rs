//! The router as a process between real peers: a request's path from a client's socket to an origin's and back.

#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test
#![allow(unreachable_pub)] // `support` says `pub` as a library would; a test binary has no outside
#![allow(clippy::cast_possible_truncation)] // figures here are small, on machines of 64 bits
#![allow(clippy::print_stdout)] // figures, and what a part said before its test failed

#[path = "../support/mod.rs"]
mod support;

mod attacks;
mod cases;
mod chaos;
mod check;
mod clients_gone;
mod dead_endpoints;
mod errors_by_fault;
mod explain;
mod feed;
mod feed_cuts;
mod feed_disk;
mod feed_guards;
mod feed_levels;
mod feed_refused;
mod forward;
mod framing;
mod heads;
mod identity;
mod isolation;
mod lag;
mod large;
mod limits;
mod listeners;
mod log;
mod machine;
mod many;
mod mixes;
mod names;
mod origin_faults;
mod output;
mod panics;
mod paths;
mod pools;
mod process;
mod reload;
mod rewriting;
mod second_attempts;
mod seen;
mod shares;
mod slow;
mod splits;
mod state;
mod stderr;
mod unix_listeners;
mod unix_sockets;
