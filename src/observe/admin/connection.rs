//! Connections of the admin listener: so many at a time, each for so long, whatever its client does.

use crate::limits::{ADMIN_CONNECTION_MS, ADMIN_CONNECTIONS_MAX};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Sleep, sleep};

/// What clients may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub(super) connections: usize,
    pub(super) time: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { connections: ADMIN_CONNECTIONS_MAX, time: Duration::from_millis(ADMIN_CONNECTION_MS) }
    }
}

/// A listener that accepts only while there is a place.
pub(super) struct Bounded {
    socket: TcpListener,
    places: Arc<Semaphore>,
    time: Duration,
}

impl Bounded {
    pub(super) fn new(socket: TcpListener, bounds: Bounds) -> Self {
        Self { socket, places: Arc::new(Semaphore::new(bounds.connections)), time: bounds.time }
    }
}

impl axum::serve::Listener for Bounded {
    type Io = Visit;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Visit, SocketAddr) {
        // Fails only for a closed semaphore, and this one is never closed.
        let place = Arc::clone(&self.places).acquire_owned().await.ok();
        let (stream, peer) = axum::serve::Listener::accept(&mut self.socket).await;
        let end = Box::pin(sleep(self.time));
        (Visit { stream, end, _place: place }, peer)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }
}

/// A connection that fails once its time is up.
pub(super) struct Visit {
    stream: TcpStream,
    end: Pin<Box<Sleep>>,
    _place: Option<OwnedSemaphorePermit>,
}

impl Visit {
    /// The stream, unless the time is up. Otherwise the task is woken when it is.
    fn stream(&mut self, context: &mut Context<'_>) -> io::Result<Pin<&mut TcpStream>> {
        match self.end.as_mut().poll(context) {
            Poll::Ready(()) => Err(io::ErrorKind::TimedOut.into()),
            Poll::Pending => Ok(Pin::new(&mut self.stream)),
        }
    }
}

impl AsyncRead for Visit {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.stream(context)?.poll_read(context, buffer)
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
