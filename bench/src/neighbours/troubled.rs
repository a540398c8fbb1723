//! Three origins whose trouble can be switched on and off. They live in the harness: what they carry is little.
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::Duration;

use socket2::{Domain, SockRef, Socket, Type};

use super::background;
use crate::failure::Failure;

/// How long the slow one takes.
const SLOW: Duration = Duration::from_secs(2);
/// Connections that the kernel completes for the one that swallows.
const BACKLOG: i32 = 8;
/// How long a connection to oneself may take; one that takes longer finds no room.
const FILLING_PATIENCE: Duration = Duration::from_millis(50);
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Slow,
    Swallowing,
    Resetting,
}

/// Whether they are in trouble. Who waits for its end sleeps.
#[derive(Default)]
struct Trouble {
    now: Mutex<bool>,
    changed: Condvar,
}

impl Trouble {
    fn lock(&self) -> MutexGuard<'_, bool> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_now(&self) -> bool {
        *self.lock()
    }

    fn set(&self, trouble: bool) {
        *self.lock() = trouble;
        self.changed.notify_all();
    }

    fn wait_for_end(&self) {
        let ended = self.changed.wait_while(self.lock(), |now| *now);
        drop(ended.unwrap_or_else(PoisonError::into_inner));
    }
}

pub(super) struct Troubled {
    addresses: Vec<SocketAddr>,
    trouble: Arc<Trouble>,
}

impl Troubled {
    pub(super) fn start() -> Result<Self, Failure> {
        let trouble = Arc::new(Trouble::default());
        let start = |kind| {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
            socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into())?;
            socket.listen(if kind == Kind::Swallowing { BACKLOG } else { 1024 })?;
            let listener = TcpListener::from(socket);
            let (address, trouble) = (listener.local_addr()?, Arc::clone(&trouble));
            background::spawn(move || serve(&listener, kind, &trouble));
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
        self.trouble.set(trouble);
        // Whoever waits for a connection looks at once.
        for address in &self.addresses {
            let _ = TcpStream::connect_timeout(address, FILLING_PATIENCE);
        }
    }
}

fn serve(listener: &TcpListener, kind: Kind, trouble: &Arc<Trouble>) {
    loop {
        if kind == Kind::Swallowing && trouble.is_now() {
            swallow(listener, trouble);
        }
        if let Ok((stream, _)) = listener.accept() {
            let trouble = Arc::clone(trouble);
            background::spawn(move || talk(stream, kind, &trouble));
        }
    }
}

/// Fills the kernel's queue of connections, so that it drops whatever else comes, until the trouble ends.
fn swallow(listener: &TcpListener, trouble: &Trouble) {
    let Ok(address) = listener.local_addr() else { return };
    let connect = || TcpStream::connect_timeout(&address, FILLING_PATIENCE).ok();
    let _filling: Vec<TcpStream> = (0..4 * BACKLOG).map_while(|_| connect()).collect();
    trouble.wait_for_end();
}

/// Answers GET requests until the router leaves.
fn talk(mut stream: TcpStream, kind: Kind, trouble: &Trouble) {
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
        if trouble.is_now() {
            match kind {
                Kind::Slow => sleep(SLOW),
                Kind::Resetting => {
                    let _ = SockRef::from(&stream).set_linger(Some(Duration::ZERO));
                    return;
                }
                Kind::Swallowing => {
                    trouble.wait_for_end();
                    return;
                }
            }
        }
        if stream.write_all(ANSWER).is_err() {
            return;
        }
    }
}
