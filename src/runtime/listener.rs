//! Listening sockets: one per core and address, sharing the port.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::thread;
use std::time::{Duration, Instant};

use socket2::{Domain, Protocol, Socket, Type};

use crate::limits;

/// How often a start looks whether its predecessor's sockets have gone.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A listening socket of one core. The kernel spreads connections over all sockets of the address.
///
/// # Errors
/// The address is in use by another program, not on this host, or not permitted.
pub fn bind(address: SocketAddr) -> io::Result<OwnedFd> {
    let socket = open(address)?;
    socket.set_reuse_port(true)?;
    socket.bind(&address.into())?;
    socket.listen(limits::LISTEN_BACKLOG)?;
    Ok(socket.into())
}

/// Fails if another process listens on `address`, even one that would share the port with us: a second router
/// started by mistake must not take half the connections. Waits for one that is ending.
///
/// # Errors
/// As [`bind`].
pub fn ensure_free(address: SocketAddr) -> io::Result<()> {
    let deadline = Instant::now() + Duration::from_millis(limits::PREDECESSOR_MS);
    loop {
        match open(address)?.bind(&address.into()) {
            Err(e) if e.kind() == io::ErrorKind::AddrInUse && Instant::now() < deadline => {
                thread::sleep(LOOK_EVERY);
            }
            outcome => return outcome,
        }
    }
}

fn open(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    if address.is_ipv6() {
        // [::] takes IPv4 too; any other IPv6 address is itself alone.
        socket.set_only_v6(!address.ip().is_unspecified())?;
    }
    socket.set_reuse_address(true)?;
    socket.set_tcp_nodelay(true)?; // inherited by what it accepts
    Ok(socket)
}
