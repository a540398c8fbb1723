//! A scripted origin, for what nginx does not do: misbehave on purpose, and show the very octets that it got.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use super::wire::{Cut, Head, Wire};

/// Stops listening when dropped; connections end by themselves.
pub struct Origin {
    pub address: SocketAddr,
    told: Arc<Told>,
}

/// What the origin remembers.
#[derive(Default)]
struct Told {
    connections: AtomicUsize,
    open: AtomicUsize,
    stopping: AtomicBool,
    requests: Mutex<Vec<Head>>,
}

/// One connection to the origin.
pub struct Visit {
    pub wire: Wire,
    /// 0 for the first connection, and so on.
    pub number: usize,
    told: Arc<Told>,
}

impl Origin {
    /// Runs `serve` for each connection, on a thread of its own; the connection closes when it returns.
    pub fn start(serve: impl Fn(Visit) + Send + Sync + 'static) -> Origin {
        Origin::serving(TcpListener::bind("127.0.0.1:0").expect("a free port"), serve)
    }

    /// Answers every request at `address`, which must be free, with 200 and `body`.
    pub fn at(address: SocketAddr, body: &'static str) -> Origin {
        Origin::serving(TcpListener::bind(address).expect("a free port"), answers(move |_, _| ok(body)))
    }

    fn serving(listener: TcpListener, serve: impl Fn(Visit) + Send + Sync + 'static) -> Origin {
        let address = listener.local_addr().expect("an address");
        // What std asks for is not enough for a crowd.
        socket2::SockRef::from(&listener).listen(4096).expect("a listening socket");
        let told = Arc::new(Told::default());
        let (seen, serve) = (Arc::clone(&told), Arc::new(serve));
        thread::spawn(move || {
            for stream in listener.incoming().map_while(io::Result::ok) {
                if seen.stopping.load(Ordering::Acquire) {
                    return;
                }
                let number = seen.connections.fetch_add(1, Ordering::AcqRel);
                seen.open.fetch_add(1, Ordering::AcqRel);
                let visit = Visit { wire: Wire::new(stream), number, told: Arc::clone(&seen) };
                let serve = Arc::clone(&serve);
                thread::spawn(move || serve(visit));
            }
        });
        Origin { address, told }
    }

    /// Answers every request on every connection with what `answer` makes of its head and body.
    pub fn answering(answer: impl Fn(&Head, &[u8]) -> Vec<u8> + Send + Sync + 'static) -> Origin {
        Origin::start(answers(answer))
    }

    /// Answers every request with 200 and `body`.
    pub fn saying(body: &'static str) -> Origin {
        Origin::answering(move |_, _| ok(body))
    }

    /// Connections so far.
    pub fn connections(&self) -> usize {
        self.told.connections.load(Ordering::Acquire)
    }

    /// Connections that neither side has closed.
    pub fn open(&self) -> usize {
        self.told.open.load(Ordering::Acquire)
    }

    /// Heads of the requests so far, in the order in which they came.
    pub fn requests(&self) -> Vec<Head> {
        self.told.requests.lock().expect("no test panics with it").clone()
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        self.told.stopping.store(true, Ordering::Release);
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(self.address);
    }
}

impl Visit {
    /// The next request, head and body.
    ///
    /// # Errors
    /// [`Cut`], if none comes whole.
    pub fn request(&mut self) -> Result<(Head, Vec<u8>), Cut> {
        let head = self.head()?;
        let body = self.wire.body(&head, false)?;
        Ok((head, body))
    }

    /// The next request's head alone.
    ///
    /// # Errors
    /// [`Cut`], if none comes whole.
    pub fn head(&mut self) -> Result<Head, Cut> {
        let head = self.wire.head()?;
        self.told.requests.lock().expect("no test panics with it").push(head.clone());
        Ok(head)
    }

    /// Sends; a router that has gone away is no error of the origin.
    pub fn say(&mut self, octets: impl AsRef<[u8]>) {
        let _ = self.wire.send(octets);
    }

    /// Ends the connection with a reset.
    pub fn reset(self) {
        let _ = socket2::SockRef::from(&self.wire.stream).set_linger(Some(std::time::Duration::ZERO));
    }

    /// Reads until the router ends the connection.
    pub fn wait_for_end(&mut self) {
        let _ = self.wire.rest();
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        self.told.open.fetch_sub(1, Ordering::AcqRel);
    }
}

fn answers(answer: impl Fn(&Head, &[u8]) -> Vec<u8>) -> impl Fn(Visit) {
    move |mut visit| {
        while let Ok((head, body)) = visit.request() {
            if visit.wire.send(answer(&head, &body)).is_err() {
                return;
            }
        }
    }
}

/// A listener whose queue is full: the kernel drops what knocks.
pub struct BlackHole {
    pub address: SocketAddr,
    _listener: socket2::Socket,
    _first: TcpStream,
}

impl BlackHole {
    /// # Panics
    /// No port is free.
    pub fn new() -> BlackHole {
        let listener =
            socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).expect("a socket");
        let address = super::ports::free_address();
        listener.bind(&address.into()).expect("a free port");
        listener.listen(0).expect("a bound socket");
        BlackHole { address, _listener: listener, _first: TcpStream::connect(address).expect("room for one") }
    }
}

/// A plain response.
pub fn ok(body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let mut response = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len()).into_bytes();
    response.extend_from_slice(body);
    response
}
