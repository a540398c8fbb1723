//! Many tasks of one core that sleep: one of them waits for the core's clock, for all.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use ringway::runtime::Core;

/// Wakes tasks at their times. A handle; all clones are the same.
///
/// The core looks through all of its sleepers each turn, which is for a few of them; here thousands may sleep.
#[derive(Clone)]
pub struct Alarm(Rc<Inner>);

struct Inner {
    core: Core,
    /// By time, then in the order in which they came.
    sleepers: RefCell<BTreeMap<(Instant, u64), Waker>>,
    count: Cell<u64>,
    /// Of the task that waits for the earliest.
    pacer: RefCell<Option<Waker>>,
}

impl Alarm {
    #[must_use]
    pub fn new(core: &Core) -> Self {
        let alarm = Self(Rc::new(Inner {
            core: core.clone(),
            sleepers: RefCell::default(),
            count: Cell::new(0),
            pacer: RefCell::default(),
        }));
        core.spawn(pace(alarm.clone()));
        alarm
    }

    /// Sleeps for at least `time`.
    pub async fn sleep(&self, time: Duration) {
        if !time.is_zero() {
            self.sleep_until(self.0.core.now() + time).await;
        }
    }

    pub async fn sleep_until(&self, until: Instant) {
        let mut key = None;
        poll_fn(|cx| {
            let inner = &*self.0;
            if inner.core.now() >= until {
                return Poll::Ready(());
            }
            let key = *key.get_or_insert_with(|| {
                inner.count.set(inner.count.get() + 1);
                (until, inner.count.get())
            });
            let mut sleepers = inner.sleepers.borrow_mut();
            sleepers.insert(key, cx.waker().clone());
            if sleepers.first_key_value().is_some_and(|(first, _)| *first == key) {
                inner.call_pacer();
            }
            Poll::Pending
        })
        .await;
        // Woken by another future that it was polled beside.
        if let Some(key) = key {
            self.0.sleepers.borrow_mut().remove(&key);
        }
    }
}

impl Inner {
    fn call_pacer(&self) {
        if let Some(pacer) = self.pacer.take() {
            pacer.wake();
            self.core.stay_awake();
        }
    }

    fn earliest(&self) -> Option<Instant> {
        self.sleepers.borrow().first_key_value().map(|((at, _), _)| *at)
    }

    fn wake_due(&self) {
        let now = self.core.now();
        let mut sleepers = self.sleepers.borrow_mut();
        while let Some(first) = sleepers.first_entry().filter(|first| first.key().0 <= now) {
            first.remove().wake();
            self.core.stay_awake();
        }
    }
}

/// Waits for the earliest sleeper until an earlier one comes, for as long as the core runs.
async fn pace(alarm: Alarm) {
    loop {
        let earliest = alarm.0.earliest();
        let changed = poll_fn(|cx| {
            if alarm.0.earliest() != earliest {
                return Poll::Ready(());
            }
            alarm.0.pacer.replace(Some(cx.waker().clone()));
            Poll::Pending
        });
        match earliest {
            Some(at) => futures_lite::future::or(alarm.0.core.sleep_until(at), changed).await,
            None => changed.await,
        }
        alarm.0.wake_due();
    }
}
