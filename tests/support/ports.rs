//! Addresses for the parts to listen on.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU32, Ordering};

/// Below the range that the kernel takes clients' ports from, so that no connection of another test lands on one.
const FIRST: u32 = 10_000;
const COUNT: u32 = 20_000;

/// A loopback address on which nobody listens. Not handed out again for a long time.
///
/// # Panics
/// No port is free.
pub fn free_address() -> SocketAddr {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // Test processes that run side by side begin at different places.
    let start = std::process::id().wrapping_mul(257);
    for _ in 0..COUNT {
        let at = start.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        let port = u16::try_from(FIRST + at % COUNT).expect("both bounds are below 2^16");
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        if TcpListener::bind(address).is_ok() {
            return address;
        }
    }
    panic!("no free port between {FIRST} and {}", FIRST + COUNT);
}
