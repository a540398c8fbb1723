//! Connections to one endpoint that wait for their next request.

use std::cell::RefCell;
use std::time::Instant;

use super::service::Open;
use crate::observe::CoreMetrics;
use crate::runtime::Stream;

/// Most recently used last: the warmest is taken first, the rest may age out. They belong to a service's endpoint, or to all
/// services that share connections to it ([`Reuse`](crate::config::Reuse)).
#[derive(Default)]
pub(super) struct Idle(RefCell<Vec<Kept>>);

/// A connection that waits.
pub(super) struct Kept {
    pub(super) stream: Stream,
    /// Counted for its service; one that is shared counts for nobody while it waits.
    pub(super) open: Option<Open>,
    /// It has carried a request before.
    pub(super) carried: bool,
    pub(super) until: Instant,
}

impl Kept {
    /// It may carry a request now: its time is not over, and nothing has come on it since, no FIN, no reset, no octet that
    /// nobody asked for.
    fn is_good(&self, now: Instant) -> bool {
        now < self.until && self.stream.is_quiet()
    }
}

impl Idle {
    pub(super) fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.0.borrow().len()
    }

    /// One that may carry a request.
    pub(super) fn take(&self, now: Instant, metrics: &CoreMetrics) -> Option<Kept> {
        while let Some(kept) = self.0.borrow_mut().pop() {
            metrics.upstream_idle.dec();
            if kept.is_good(now) {
                metrics.upstream_reused.inc();
                return Some(kept);
            }
            metrics.upstream_stale.inc();
        }
        None
    }

    /// Keeps one more.
    pub(super) fn push(&self, kept: Kept, metrics: &CoreMetrics) {
        kept.stream.clear_timeout();
        metrics.upstream_idle.inc();
        self.0.borrow_mut().push(kept);
    }

    /// When the first would end.
    pub(super) fn first(&self) -> Option<Instant> {
        self.0.borrow().first().map(|kept| kept.until)
    }

    /// Closes that one.
    pub(super) fn close_first(&self, metrics: &CoreMetrics) {
        metrics.upstream_idle.dec();
        drop(self.0.borrow_mut().remove(0));
    }

    /// When each would end.
    pub(super) fn ends(&self, ends: &mut Vec<Instant>) {
        ends.extend(self.0.borrow().iter().map(|kept| kept.until));
    }

    /// Closes those that would end by `end`, and those that are broken; returns how many.
    pub(super) fn close_until(&self, end: Instant, metrics: &CoreMetrics) -> usize {
        let mut idle = self.0.borrow_mut();
        let before = idle.len();
        idle.retain(|kept| kept.is_good(end));
        let closed = before - idle.len();
        (0..closed).for_each(|_| metrics.upstream_idle.dec());
        closed
    }

    pub(super) fn close_all(&self, metrics: &CoreMetrics) {
        let kept = std::mem::take(&mut *self.0.borrow_mut());
        kept.iter().for_each(|_| metrics.upstream_idle.dec());
    }
}
