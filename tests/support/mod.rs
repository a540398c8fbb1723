//! The real parts of the integration tests and what talks to them. Each part is started by one helper, which waits
//! until it answers and stops only what it started; a part that is missing fails the test with the command that
//! installs it.

pub mod changes;
pub mod curl;
pub mod dns;
pub mod nginx;
pub mod origin;
pub mod part;
pub mod ports;
pub mod python;
pub mod router;
pub mod setup;
pub mod wait;
pub mod wire;

pub use curl::Curl;
pub use nginx::Nginx;
pub use origin::{BlackHole, Origin, Visit};
pub use router::Router;
pub use setup::Setup;
pub use wait::{pause, wait_for, wait_until};
pub use wire::{Cut, Head, Wire};

/// Octets that look random and are the same each time, so that a lost or doubled piece shows.
pub fn noise(octets: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    std::iter::repeat_with(&mut next).flatten().take(octets).collect()
}

/// How many times as long the long proofs run: 1, or what `RINGWAY_SOAK` says.
pub fn soak() -> usize {
    std::env::var("RINGWAY_SOAK").ok().and_then(|times| times.parse().ok()).unwrap_or(1)
}

/// Held by tests that need the machine for themselves, one after the other.
pub fn alone() -> std::sync::MutexGuard<'static, ()> {
    static HEAVY: std::sync::Mutex<()> = std::sync::Mutex::new(());
    // A heavy test that failed says nothing about the next.
    HEAVY.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
