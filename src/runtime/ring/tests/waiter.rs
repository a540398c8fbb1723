//! A task that waits: a waker that counts, and what it waits for.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Wake, Waker};

#[derive(Default)]
struct Count(AtomicU32);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// One wait, from the poll that was pending to the wake.
pub(super) struct Waiter<W> {
    pub(super) what: W,
    count: Arc<Count>,
}

impl<W> Waiter<W> {
    pub(super) fn new(what: W) -> Waiter<W> {
        Waiter { what, count: Arc::default() }
    }

    pub(super) fn waker(&self) -> Waker {
        Waker::from(Arc::clone(&self.count))
    }

    pub(super) fn is_woken(&self) -> bool {
        self.count.0.load(Ordering::Relaxed) > 0
    }
}
