//! ringway measured: beside other proxies in one run (`compare`), part by part (`micro`), and against its own
//! accepted counts (`ratchet`). Absolute times mean nothing on shared machines, so figures are ratios of
//! peers that took turns.
//!
//! ```text
//! cli ──▶ compare ──▶ peers (configured alike) ──▶ rounds (turns A B A B) ──▶ stats ──▶ report
//!    ├──▶ neighbours ringway alone, windows with and without services in trouble
//!    ├──▶ churn      ringway alone, windows with and without changes; then changes for minutes, and a burst
//!    ├──▶ generators ringway-loadgen beside wrk, oha and h2load
//!    ├──▶ micro      closures timed: head parse, look-up, apply, pick
//!    └──▶ ratchet    io_uring_enter calls and callgrind instructions per request
//! ```
pub mod churn;
pub mod cli;
pub mod client;
pub mod compare;
pub mod data_set;
pub mod failure;
pub mod generator;
pub mod generators;
pub mod half_load;
pub mod histogram;
pub mod interrupt;
pub mod limits;
pub mod machine;
pub mod micro;
pub mod neighbours;
pub mod owned;
pub mod peers;
pub mod procfs;
pub mod progress;
pub mod ratchet;
pub mod report;
pub mod rounds;
pub mod scene;
pub mod stats;
