//! A thread per core: pinned, with its glommio executor and its ring.

use std::future::Future;
use std::io;
use std::sync::Arc;

use glommio::{ExecutorJoinHandle, LocalExecutorBuilder, Placement};

use super::core::Core;
use super::idle::IdlePolicy;
use super::mailbox::{Doorbell, Receiver, Sender, mailbox};
use crate::limits;

/// What a core is started with.
#[derive(Clone, Copy, Debug)]
pub struct CoreOptions {
    /// 0 for the first core, and so on.
    pub index: usize,
    /// The CPU that it runs on.
    pub cpu: usize,
    pub idle: IdlePolicy,
    /// Descriptors that it may hold.
    pub open_max: usize,
}

/// A running core. [`join`](Self::join) waits for its end.
pub struct CoreThread(ExecutorJoinHandle<io::Result<()>>);

impl CoreThread {
    /// # Errors
    /// The core's ring broke, or the thread panicked.
    pub fn join(self) -> io::Result<()> {
        self.0.join().map_err(|e| io::Error::other(e.to_string()))?
    }
}

/// Starts a core's thread, on which `main` runs as the first task with the receiving end of the core's mailbox. `ended`
/// runs when the core has ended, or has not come about, even by a panic.
///
/// # Errors
/// The CPU does not exist or is not ours, or the machine lacks descriptors, memory or threads.
pub fn start<M, F>(
    options: CoreOptions,
    main: impl FnOnce(Core, Receiver<M>) -> F + Send + 'static,
    ended: impl FnOnce() + Send + 'static,
) -> io::Result<(CoreThread, Sender<M>)>
where
    M: Send + 'static,
    F: Future<Output = ()> + 'static,
{
    let bell = Doorbell::new()?;
    let (sender, receiver) = mailbox(limits::MAILBOX_MESSAGES, Arc::clone(&bell));
    // From here on: the executor panics on its thread, before it runs anything, where the machine has none for its helpers.
    let ended = OnDrop(Some(ended));
    let thread = LocalExecutorBuilder::new(Placement::Fixed(options.cpu))
        .name(&format!("core-{}", options.index))
        .io_memory(limits::GLOMMIO_IO_MEMORY_OCTETS)
        .ring_depth(limits::GLOMMIO_RING_DEPTH)
        .spawn(move || async move {
            let _ended = ended;
            let core = Core::new(options.index, bell, options.open_max)?;
            core.spawn(main(core.clone(), receiver));
            core.drive(options.idle).await
        })
        .map_err(|e| io::Error::other(e.to_string()))?;
    Ok((CoreThread(thread), sender))
}

struct OnDrop<F: FnOnce()>(Option<F>);

impl<F: FnOnce()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        if let Some(f) = self.0.take() {
            f();
        }
    }
}
