//! Listening sockets: one per core and address, sharing the port.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::thread;
use std::time::{Duration, Instant};

use socket2::{Domain, Protocol, SockFilter, SockRef, Socket, Type};

use crate::limits;

/// How long a start waits for the sockets of a process that is ending.
pub const PREDECESSOR: Duration = Duration::from_millis(limits::PREDECESSOR_MS);
/// How often a start looks whether its predecessor's sockets have gone.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(20);

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
/// started by mistake must not take half the connections. One that is ending has `patience` for it.
///
/// # Errors
/// As [`bind`].
pub fn ensure_free(address: SocketAddr, patience: Duration) -> io::Result<()> {
    let deadline = Instant::now() + patience;
    loop {
        match open(address)?.bind(&address.into()) {
            Err(e) if e.kind() == io::ErrorKind::AddrInUse && Instant::now() < deadline => {
                thread::sleep(LOOK_EVERY);
            }
            outcome => return outcome,
        }
    }
}

/// A program for the kernel's packet filter that drops the segment which begins a handshake (RFC 9293, 3.5) and no other.
const NO_SYN: [SockFilter; 5] = [
    SockFilter::new(0x30, 0, 0, 13),       // load the octet of flags
    SockFilter::new(0x54, 0, 0, 0x12),     // keep SYN and ACK
    SockFilter::new(0x15, 0, 1, 0x02),     // SYN without ACK?
    SockFilter::new(0x06, 0, 0, 0),        // then drop it
    SockFilter::new(0x06, 0, 0, u32::MAX), // else take it whole
];

/// From now on the socket begins no handshake. Those under way come to their end, and what is in the queue stays.
///
/// # Errors
/// It is no TCP socket, or the kernel has no such filters.
pub(super) fn refuse_new(listener: BorrowedFd<'_>) -> io::Result<()> {
    SockRef::from(&listener).attach_filter(&NO_SYN)
}

fn open(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    if address.is_ipv6() {
        // [::] takes IPv4 too; any other IPv6 address is itself alone.
        socket.set_only_v6(!address.ip().is_unspecified())?;
    }
    socket.set_reuse_address(true)?;
    // Both are inherited by what it accepts.
    socket.set_tcp_nodelay(true)?;
    socket.set_tcp_notsent_lowat(limits::KERNEL_UNSENT_OCTETS)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a failed unwrap is a failed test
    use super::*;

    #[test]
    fn what_is_accepted_inherits_delay_and_bound() {
        let listener = std::net::TcpListener::from(bind(([127, 0, 0, 1], 0).into()).unwrap());
        let _client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (accepted, _) = listener.accept().unwrap();
        let accepted = SockRef::from(&accepted);
        assert!(accepted.tcp_nodelay().unwrap());
        assert_eq!(accepted.tcp_notsent_lowat().unwrap(), limits::KERNEL_UNSENT_OCTETS);
    }
}
