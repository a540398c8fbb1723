//! From other threads to a core: a wait-free ring of messages and a bell that is rung once per batch.

use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::core::Core;

/// An eventfd that a core's ring reads. Ringing it while it still rings costs no system call.
pub(crate) struct Doorbell {
    file: std::fs::File,
    ringing: AtomicBool,
}

impl Doorbell {
    /// # Errors
    /// No descriptor left.
    #[allow(unsafe_code)] // std has no eventfd
    pub(crate) fn new() -> io::Result<Arc<Doorbell>> {
        // SAFETY: takes no pointer.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: eventfd just made this descriptor for us.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Arc::new(Doorbell { file: fd.into(), ringing: AtomicBool::new(false) }))
    }

    pub(crate) fn fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    fn ring(&self) {
        if !self.ringing.swap(true, Ordering::AcqRel) {
            // The counter is far from its limit, so this neither blocks nor fails.
            let _ = (&self.file).write(&1u64.to_ne_bytes());
        }
    }

    /// The core has heard it, and looks at its messages after this.
    pub(crate) fn answered(&self) {
        self.ringing.swap(false, Ordering::AcqRel);
    }
}

/// The end that another thread holds. Messages wait in order until [`ring`](Self::ring).
pub struct Sender<M> {
    messages: rtrb::Producer<M>,
    bell: Arc<Doorbell>,
}

impl<M: Send> Sender<M> {
    /// Adds a message without waking the core.
    ///
    /// # Errors
    /// The mailbox is full; gives the message back.
    pub fn put(&mut self, message: M) -> Result<(), M> {
        self.messages.push(message).map_err(|rtrb::PushError::Full(message)| message)
    }

    /// Wakes the core: once for however many messages.
    pub fn ring(&self) {
        self.bell.ring();
    }

    /// A mailbox of the same core for another thread. What is sent is received once the receiver has [joined] the core's
    /// own.
    ///
    /// [joined]: Receiver::join
    pub fn another(&self, messages: usize) -> (Sender<M>, Receiver<M>) {
        mailbox(messages, Arc::clone(&self.bell))
    }
}

/// The end that waits to be moved to its core.
pub struct Receiver<M>(Vec<rtrb::Consumer<M>>);

impl<M: Send> Receiver<M> {
    /// The next message; waits for the bell when there is none. Each sender's come in their order.
    pub async fn recv(&mut self, core: &Core) -> M {
        loop {
            if let Some(message) = self.0.iter_mut().find_map(|messages| messages.pop().ok()) {
                return message;
            }
            core.doorbell().await;
        }
    }

    /// Receives what another sender to the same core sends, too.
    pub fn join(&mut self, mut other: Receiver<M>) {
        self.0.append(&mut other.0);
    }
}

/// A mailbox for `messages` messages, with the bell of the core that it belongs to.
pub(crate) fn mailbox<M: Send>(messages: usize, bell: Arc<Doorbell>) -> (Sender<M>, Receiver<M>) {
    let (producer, consumer) = rtrb::RingBuffer::new(messages);
    (Sender { messages: producer, bell }, Receiver(vec![consumer]))
}
