//! Three origins whose trouble can be switched on and off. They live in the harness: what they carry is little.
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, sleep};
use std::time::Duration;

use socket2::{Domain, SockRef, Socket, Type};

use crate::failure::Failure;

/// How long the slow one takes.
const SLOW: Duration = Duration::from_secs(2);
/// Connections that the kernel completes for the one that swallows.
const BACKLOG: i32 = 8;
const LOOK_EVERY: Duration = Duration::from_millis(5);
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Slow,
    Swallowing,
    Resetting,
}

pub(super) struct Troubled {
    addresses: Vec<SocketAddr>,
    trouble: Arc<AtomicBool>,
}

impl Troubled {
    pub(super) fn start() -> Result<Self, Failure> {
        let trouble = Arc::new(AtomicBool::new(false));
        let start = |kind| {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
            socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into())?;
            socket.listen(if kind == Kind::Swallowing { BACKLOG } else { 1024 })?;
            let listener = TcpListener::from(socket);
            let (address, trouble) = (listener.local_addr()?, Arc::clone(&trouble));
            thread::spawn(move || serve(&listener, kind, &trouble));
            Ok(address)
        };
        let addresses = [Kind::Slow, Kind::Swallowing, Kind::Resetting].into_iter().map(start);
        let addresses = addresses.collect::<std::io::Result<_>>().map_err(Failure::file("127.0.0.1:0"))?;
        Ok(Self { addresses, trouble })
    }

    /// Host name and endpoint of each.
    pub(super) fn services(&self) -> Vec<(String, SocketAddr)> {
        let names = ["slow", "swallowing", "resetting"].map(|name| format!("{name}.neighbours.example"));
        names.into_iter().zip(self.addresses.iter().copied()).collect()
    }

    /// From now on they are in trouble, or healthy.
    pub(super) fn set(&self, trouble: bool) {
        self.trouble.store(trouble, Ordering::Release);
    }
}

fn serve(listener: &TcpListener, kind: Kind, trouble: &Arc<AtomicBool>) {
    let swallows = || kind == Kind::Swallowing && trouble.load(Ordering::Acquire);
    let _ = listener.set_nonblocking(kind == Kind::Swallowing);
    loop {
        if swallows() {
            swallow(listener, swallows);
        }
        match listener.accept() {
            Ok((stream, _)) => {
                let trouble = Arc::clone(trouble);
                thread::spawn(move || talk(stream, kind, &trouble));
            }
            Err(_) => sleep(LOOK_EVERY),
        }
    }
}

/// Fills the kernel's queue of connections, so that it drops whatever else comes, for as long as `goes_on`.
fn swallow(listener: &TcpListener, goes_on: impl Fn() -> bool) {
    let Ok(address) = listener.local_addr() else { return };
    let connect = || TcpStream::connect_timeout(&address, Duration::from_millis(50)).ok();
    let _filling: Vec<TcpStream> = (0..4 * BACKLOG).map_while(|_| connect()).collect();
    while goes_on() {
        sleep(LOOK_EVERY);
    }
}

/// Answers GET requests until the router leaves.
fn talk(mut stream: TcpStream, kind: Kind, trouble: &AtomicBool) {
    let _ = stream.set_nonblocking(false);
    let _ = stream.set_nodelay(true);
    let (mut octets, mut room) = (Vec::new(), [0; 4096]);
    loop {
        match stream.read(&mut room) {
            Ok(0) | Err(_) => return,
            Ok(got) => octets.extend_from_slice(&room[..got]),
        }
        if !octets.ends_with(b"\r\n\r\n") {
            continue;
        }
        octets.clear();
        if trouble.load(Ordering::Acquire) {
            match kind {
                Kind::Slow => sleep(SLOW),
                Kind::Resetting => {
                    let _ = SockRef::from(&stream).set_linger(Some(Duration::ZERO));
                    return;
                }
                Kind::Swallowing => {
                    while trouble.load(Ordering::Acquire) {
                        sleep(LOOK_EVERY);
                    }
                    return;
                }
            }
        }
        if stream.write_all(ANSWER).is_err() {
            return;
        }
    }
}
