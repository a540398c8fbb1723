//! The sole door to the machine: glommio, io_uring, clocks, threads, signals. Everything else is handed what
//! it needs.
//!
//! A core is a pinned thread with a glommio executor. Its tasks talk to the ring through [`Core`], [`Stream`]
//! and [`Listener`]; one driver task turns the ring and sleeps in it ([`Core`] says why that is safe).

mod core;
mod executor;
mod idle;
mod lag;
pub mod listener;
pub mod machine;
mod mailbox;
mod resident;
mod ring;
mod signals;
mod stream;
#[cfg(test)]
mod tests;
pub mod unix_listener;
mod watch;

pub use core::{Core, before_abort};
pub use executor::{CoreOptions, CoreThread, start};
pub use idle::IdlePolicy;
pub use lag::{LAG_ENDS_US, LagStats, Stall};
pub use mailbox::{Receiver, Sender};
pub use resident::keep_code;
pub use ring::{Fault, RingStats, Severed};
pub use signals::{Signal, on_signal, outlive_full_files};
pub use stream::{Chunk, Listener, Stream};
pub use unix_listener::UnixListener;
pub use watch::{FileWatch, Waker};

use std::time::Duration;

/// Whole milliseconds.
pub fn millis(duration: Duration) -> u64 {
    duration.as_secs().saturating_mul(1000).saturating_add(u64::from(duration.subsec_millis()))
}

/// A core's index in 16 bits, which `limits::CORES_MAX` keeps it within.
pub fn number(index: usize) -> u16 {
    u16::try_from(index).unwrap_or(u16::MAX)
}
