//! Connections of the admin listener: so many at a time, each for so long, whatever its client does.

use crate::limits::{ADMIN_CONNECTION_MS, ADMIN_CONNECTIONS_MAX, ADMIN_HEAD_MS};
use crate::observe::registry::Registry;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::{Instant, Sleep, sleep};

/// What clients may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub(super) connections: usize,
    /// For a request's head, from when its connection is taken up.
    pub(super) head: Duration,
    /// For its body and its answer, from when the head is whole.
    pub(super) time: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            connections: ADMIN_CONNECTIONS_MAX,
            head: Duration::from_millis(ADMIN_HEAD_MS),
            time: Duration::from_millis(ADMIN_CONNECTION_MS),
        }
    }
}

/// A listener with so many places. Whoever comes when all are taken gets that of the client who has been longest about to
/// ask; if all have asked, he waits until one is answered.
pub(super) struct Bounded {
    socket: TcpListener,
    places: Arc<Semaphore>,
    asking: Asking,
    accepted: u64,
    bounds: Bounds,
    registry: Arc<Registry>,
}

/// Connections whose request's head has not come whole, the longest first. What is dropped here ends its connection.
type Asking = Arc<Mutex<BTreeMap<u64, oneshot::Sender<()>>>>;

impl Bounded {
    pub(super) fn new(socket: TcpListener, bounds: Bounds, registry: Arc<Registry>) -> Self {
        let places = Arc::new(Semaphore::new(bounds.connections));
        Self { socket, places, asking: Asking::default(), accepted: 0, bounds, registry }
    }

    /// A place, for which somebody else's may be taken.
    async fn place(&self) -> Option<OwnedSemaphorePermit> {
        let places = || Arc::clone(&self.places);
        if let Ok(place) = places().try_acquire_owned() {
            return Some(place);
        }
        if changed(&self.asking, BTreeMap::pop_first).is_some() {
            self.registry.admin_evicted.inc();
        }
        // Fails only for a closed semaphore, and this one is never closed.
        places().acquire_owned().await.ok()
    }
}

fn changed<T>(asking: &Asking, change: impl FnOnce(&mut BTreeMap<u64, oneshot::Sender<()>>) -> T) -> T {
    // Nothing can panic while it is held, and it is whole in any case.
    change(&mut asking.lock().unwrap_or_else(PoisonError::into_inner))
}

impl axum::serve::Listener for Bounded {
    type Io = Visit;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Visit, SocketAddr) {
        let (stream, peer) = axum::serve::Listener::accept(&mut self.socket).await;
        let place = self.place().await;
        self.accepted += 1;
        let (keep, dropped) = oneshot::channel();
        changed(&self.asking, |asking| asking.insert(self.accepted, keep));
        let turn = Turn { number: self.accepted, dropped, asking: Arc::clone(&self.asking) };
        let end = Box::pin(sleep(self.bounds.head));
        let asked = Asked { turn: Some(turn), line_is_empty: false };
        (Visit { stream, end, time: self.bounds.time, asked, _place: place }, peer)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }
}

/// A connection among those whose request has not come.
struct Turn {
    number: u64,
    dropped: oneshot::Receiver<()>,
    asking: Asking,
}

impl Drop for Turn {
    fn drop(&mut self) {
        changed(&self.asking, |asking| asking.remove(&self.number));
    }
}

/// How far the request has come.
struct Asked {
    /// Until its head is whole.
    turn: Option<Turn>,
    /// Nothing but CR stands on the line that is coming in.
    line_is_empty: bool,
}

impl Asked {
    /// True if the head ends in these octets.
    fn ends_in(&mut self, octets: &[u8]) -> bool {
        octets.iter().any(|&octet| match octet {
            b'\n' => std::mem::replace(&mut self.line_is_empty, true),
            b'\r' => false,
            _ => {
                self.line_is_empty = false;
                false
            }
        })
    }
}

/// A connection that fails once its time is up, or its place is needed.
pub(super) struct Visit {
    stream: TcpStream,
    end: Pin<Box<Sleep>>,
    time: Duration,
    asked: Asked,
    _place: Option<OwnedSemaphorePermit>,
}

impl Visit {
    /// The stream, unless it has come to its end. Otherwise the task is woken when it has.
    fn stream(&mut self, context: &mut Context<'_>) -> io::Result<Pin<&mut TcpStream>> {
        let turn = self.asked.turn.as_mut();
        let has_lost = turn.is_some_and(|turn| Pin::new(&mut turn.dropped).poll(context).is_ready());
        match has_lost || self.end.as_mut().poll(context).is_ready() {
            true => Err(io::ErrorKind::TimedOut.into()),
            false => Ok(Pin::new(&mut self.stream)),
        }
    }

    /// These octets have come. Once the head is whole, the rest has its own time.
    fn heard(&mut self, octets: &[u8]) {
        if self.asked.turn.is_some() && self.asked.ends_in(octets) {
            self.asked.turn = None;
            self.end.as_mut().reset(Instant::now() + self.time);
        }
    }
}

impl AsyncRead for Visit {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = self.stream(context)?.poll_read(context, buffer);
        self.heard(buffer.filled().get(before..).unwrap_or_default());
        polled
    }
}

impl AsyncWrite for Visit {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        octets: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.stream(context)?.poll_write(context, octets)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream(context)?.poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream(context)?.poll_shutdown(context)
    }
}
