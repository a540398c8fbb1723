//! Waiting for the last of several tasks of one core.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};
use std::time::Instant;

use ringway::runtime::Core;

/// Counts tasks; whoever waits is woken when the last has gone.
#[derive(Clone)]
pub struct Latch(Rc<Inner>);

struct Inner {
    core: Core,
    held: Cell<usize>,
    waiter: RefCell<Option<Waker>>,
}

/// Held by a task that is waited for; dropped when it ends, however it ends.
pub struct Hold(Latch);

impl Latch {
    #[must_use]
    pub fn new(core: &Core) -> Self {
        Self(Rc::new(Inner { core: core.clone(), held: Cell::new(0), waiter: RefCell::default() }))
    }

    #[must_use]
    pub fn hold(&self) -> Hold {
        self.0.held.set(self.0.held.get() + 1);
        Hold(self.clone())
    }

    #[must_use]
    pub fn count(&self) -> usize {
        self.0.held.get()
    }

    #[must_use]
    pub fn is_held(&self) -> bool {
        self.0.held.get() > 0
    }

    /// Ready when nobody holds it, or at that time.
    pub async fn released_by(&self, time: Instant) {
        futures_lite::future::or(self.released(), self.0.core.sleep_until(time)).await;
    }

    /// Ready when nobody holds it. One task may wait at a time.
    pub async fn released(&self) {
        poll_fn(|cx| {
            if self.0.held.get() == 0 {
                return Poll::Ready(());
            }
            self.0.waiter.replace(Some(cx.waker().clone()));
            Poll::Pending
        })
        .await;
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let inner = &*self.0.0;
        inner.held.set(inner.held.get() - 1);
        if inner.held.get() == 0
            && let Some(waiter) = inner.waiter.take()
        {
            waiter.wake();
            inner.core.stay_awake();
        }
    }
}
