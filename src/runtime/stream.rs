//! Streams, listeners and received octets, as tasks see them.

#![allow(clippy::cast_possible_truncation)] // a chunk is shorter than its buffer, which fits 16 bits
#![allow(unsafe_code)] // reads octets of a buffer that this value was lent

use std::cell::Cell;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::ops::Deref;
use std::os::fd::BorrowedFd;
use std::task::{Context, Poll};
use std::time::Duration;

use super::core::Core;
use super::ring::Fault;
use super::ring::driver::End;
use super::ring::tx::Piece;

/// A TCP stream on its core's ring. Dropping it sends what is queued, then closes; if its task panics, or it broke
/// before all was sent, it is closed with a reset, so that what was cut does not look whole.
pub struct Stream {
    core: Core,
    slot: u32,
    end: End,
}

impl Stream {
    pub(super) fn new(core: Core, slot: u32) -> Stream {
        Stream { core, slot, end: End::Finish }
    }

    /// Waits until a stream made by [`Core::connect`] is connected.
    ///
    /// # Errors
    /// [`Fault::Os`] with the peer's refusal, [`Fault::TimedOut`] at the deadline.
    pub async fn connected(&self) -> Result<(), Fault> {
        poll_fn(|cx| self.core.driver(|d| d.poll_connected(self.slot, cx.waker()))).await
    }

    /// The next octets as they came, at most [`crate::limits::RECV_BUFFER_OCTETS`]; `None` after the peer's FIN.
    ///
    /// # Errors
    /// The stream broke or the deadline passed; octets that came before are handed out first.
    pub async fn recv(&self) -> Result<Option<Chunk>, Fault> {
        poll_fn(|cx| self.poll_recv(cx)).await
    }

    /// [`recv`](Self::recv) for use inside another future.
    pub fn poll_recv(&self, cx: &mut Context<'_>) -> Poll<Result<Option<Chunk>, Fault>> {
        self.core.driver(|d| {
            d.poll_recv(self.slot, cx.waker()).map_ok(|received| {
                received.map(|(buffer, octets)| {
                    let at = d.octets(buffer).as_ptr();
                    Chunk { core: self.core.clone(), buffer, at, from: 0, to: octets }
                })
            })
        })
    }

    /// Waits, marked as idle; true once octets have come, false if the peer has sent FIN. Holds no buffer meanwhile.
    ///
    /// # Errors
    /// The stream broke; or `timeout` passed, or what [`Core::hasten_idle`] left of it.
    pub async fn idle(&self, timeout: Duration) -> Result<bool, Fault> {
        self.core.driver(|d| d.set_deadline(self.slot, d.tick_after(timeout)));
        poll_fn(|cx| self.core.driver(|d| d.poll_idle(self.slot, cx.waker()))).await
    }

    /// Octets of memory that are queued and not yet taken by the kernel; a chunk counts as the whole buffer that it keeps.
    pub fn queued_octets(&self) -> usize {
        self.core.driver(|d| d.queued_octets(self.slot))
    }

    /// Octets that the peer has not acknowledged: queued here, or in the kernel's send buffer. One system call. Only as
    /// this falls does the peer take anything; the kernel reports room long after.
    pub fn octets_ahead(&self) -> usize {
        let fd = self.core.driver(|d| d.descriptor(self.slot));
        let mut in_kernel: libc::c_int = 0;
        // SAFETY: the driver keeps the descriptor open for as long as this stream exists; the call writes one int, ours.
        let told = unsafe { libc::ioctl(fd, libc::TIOCOUTQ, &raw mut in_kernel) };
        let in_kernel = if told == 0 { usize::try_from(in_kernel).unwrap_or(0) } else { 0 };
        self.queued_octets() + in_kernel
    }

    /// Ready with the error that broke the stream (a reset, say), once one has. A FIN is no error: the peer may
    /// have said all that it has to say and wait for an answer.
    pub fn poll_broken(&self, cx: &mut Context<'_>) -> Poll<Fault> {
        self.core.driver(|d| d.poll_broken(self.slot, cx.waker()))
    }

    /// Ready once the stream is broken or its deadline has passed, whatever has been received.
    pub fn poll_fault(&self, cx: &mut Context<'_>) -> Poll<Fault> {
        self.core.driver(|d| d.poll_fault(self.slot, cx.waker()))
    }

    /// True if nothing unread has come: the test of a pooled connection before it is used again.
    pub fn is_quiet(&self) -> bool {
        self.core.driver(|d| d.is_quiet(self.slot))
    }

    /// Queues octets; they go out when the task next waits. Bounded by whoever awaits [`sent`](Self::sent).
    pub fn send(&self, octets: Vec<u8>) {
        self.core.driver(|d| d.send(self.slot, Piece::Owned { octets, from: 0 }));
    }

    /// Queues received octets without copying them.
    pub fn send_chunk(&self, chunk: Chunk) {
        let (buffer, at, from, to) = chunk.into_parts();
        self.core.driver(|d| d.send(self.slot, Piece::Lent { buffer, at, from, to }));
    }

    /// Waits until at most `left` octets are queued, counted as [`queued_octets`](Self::queued_octets) does.
    ///
    /// # Errors
    /// The stream broke, and what was queued is lost; or the deadline passed.
    pub async fn sent(&self, left: usize) -> Result<(), Fault> {
        poll_fn(|cx| self.core.driver(|d| d.poll_sent(self.slot, left, cx.waker()))).await
    }

    /// Sends FIN after what is queued; receiving goes on.
    pub fn finish_sending(&self) {
        self.core.driver(|d| d.finish_sending(self.slot));
    }

    /// From now on, waits on this stream fail with [`Fault::TimedOut`] once `timeout` has passed; replaces the
    /// timeout before. Up to two ticks late, never early.
    pub fn set_timeout(&self, timeout: Duration) {
        self.core.driver(|d| d.set_deadline(self.slot, d.tick_after(timeout)));
    }

    pub fn clear_timeout(&self) {
        self.core.driver(|d| d.set_deadline(self.slot, super::ring::NEVER));
    }

    /// Closes with a reset when dropped: what the peer has so far must not look complete.
    pub fn reset(&mut self) {
        self.end = End::Reset;
    }

    /// Its place among the streams of its core, which is another's some time after it was dropped, in another life. What
    /// [`Core::sever`] takes.
    pub fn place(&self) -> (u32, u32) {
        (self.slot, self.core.driver(|d| d.life(self.slot)))
    }

    /// Whether it was broken by [`Core::sever`].
    pub fn is_severed(&self) -> bool {
        self.core.driver(|d| d.is_severed(self.slot))
    }

    /// # Errors
    /// The peer is gone.
    pub fn peer(&self) -> io::Result<SocketAddr> {
        let fd = self.core.driver(|d| d.descriptor(self.slot));
        // SAFETY: the driver keeps the descriptor open for as long as this stream exists.
        let fd = unsafe { BorrowedFd::borrow_raw(fd) };
        let peer = socket2::SockRef::from(&fd).peer_addr()?;
        peer.as_socket().ok_or_else(|| io::Error::from(io::ErrorKind::Unsupported))
    }

    pub fn core(&self) -> &Core {
        &self.core
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // A task that panics has not sent all that it meant to.
        let end = if std::thread::panicking() { End::Reset } else { self.end };
        self.core.driver(|d| d.release(self.slot, end));
    }
}

/// Received octets, in the buffer that the kernel put them in. Dropping it gives the buffer back.
pub struct Chunk {
    core: Core,
    buffer: u16,
    at: *const u8,
    from: u16,
    to: u16,
}

impl Chunk {
    /// Drops the first `octets` octets (at most all).
    pub fn advance(&mut self, octets: usize) {
        self.from += octets.min(self.len()) as u16;
    }

    /// Gives the buffer to the driver: this value no longer gives it back.
    fn into_parts(self) -> (u16, *const u8, u16, u16) {
        let this = std::mem::ManuallyDrop::new(self);
        // SAFETY: `this` is never dropped, so its handle is read out, and dropped, exactly once.
        drop(unsafe { std::ptr::read(&raw const this.core) });
        (this.buffer, this.at, this.from, this.to)
    }

    /// Keeps the first `octets` octets.
    pub fn truncate(&mut self, octets: usize) {
        self.to = self.from + octets.min(self.len()) as u16;
    }
}

impl Deref for Chunk {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the buffer is lent to this value until it is dropped or sent, so the kernel does not write to
        // it; `from <= to`, and the kernel filled at least `to` octets.
        unsafe {
            std::slice::from_raw_parts(self.at.add(usize::from(self.from)), usize::from(self.to - self.from))
        }
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        self.core.driver(|d| d.give_back(self.buffer));
    }
}

/// A listening socket on its core's ring. Dropping it stops accepting.
pub struct Listener {
    core: Core,
    slot: u32,
    stopped: Cell<bool>,
}

impl Listener {
    pub(super) fn new(core: Core, slot: u32) -> Listener {
        Listener { core, slot, stopped: Cell::new(false) }
    }

    /// The next connection, taken under the ring's care; `None` after [`stop`](Self::stop).
    pub async fn accept(&self) -> Option<Stream> {
        let stream = poll_fn(|cx| match self.stopped.get() {
            true => Poll::Ready(None),
            false => self.core.driver(|d| d.poll_accept(self.slot, cx.waker()).map(Some)),
        });
        let stream = stream.await?;
        Some(Stream::new(self.core.clone(), self.core.driver(|d| d.adopt(stream))))
    }

    /// Keeps new clients out, who will try again in a second; those in the kernel's queue are still accepted. False if the
    /// kernel does not do that.
    pub fn refuse_new(&self) -> bool {
        let fd = self.core.driver(|d| d.descriptor(self.slot));
        // SAFETY: the driver keeps the descriptor open until `stop`, and then `stopped` is set.
        let fd = (!self.stopped.get()).then(|| unsafe { BorrowedFd::borrow_raw(fd) });
        fd.is_some_and(|fd| super::listener::refuse_new(fd).is_ok())
    }

    /// Closes the listening socket; who waits in [`accept`](Self::accept) is told.
    pub fn stop(&self) {
        if !self.stopped.replace(true) {
            self.core.driver(|d| d.stop_listening(self.slot));
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.stop();
    }
}
