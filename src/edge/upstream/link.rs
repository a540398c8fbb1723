//! What a core has with one endpoint: requests under way, and connections that wait for their next.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::Instant;

use super::service::Open;
use crate::observe::CoreMetrics;
use crate::runtime::Stream;

/// A service's with its endpoint, or that of all services that share connections to it ([`Reuse`](crate::config::Reuse)).
pub(super) struct Link {
    pub(super) in_flight: Cell<u32>,
    /// Most recently used last: the warmest is taken first, the rest may age out.
    kept: RefCell<Vec<Kept>>,
    metrics: Arc<CoreMetrics>,
}

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

impl Link {
    pub(super) fn new(metrics: &Arc<CoreMetrics>) -> Link {
        Link { in_flight: Cell::new(0), kept: RefCell::default(), metrics: Arc::clone(metrics) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.kept.borrow().is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.kept.borrow().len()
    }

    /// One that may carry a request.
    pub(super) fn take(&self, now: Instant, metrics: &CoreMetrics) -> Option<Kept> {
        while let Some(kept) = self.kept.borrow_mut().pop() {
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
        self.kept.borrow_mut().push(kept);
    }

    /// When the first would end.
    pub(super) fn first(&self) -> Option<Instant> {
        self.kept.borrow().first().map(|kept| kept.until)
    }

    /// Closes that one.
    pub(super) fn close_first(&self, metrics: &CoreMetrics) {
        metrics.upstream_idle.dec();
        drop(self.kept.borrow_mut().remove(0));
    }

    /// When each would end.
    pub(super) fn ends(&self, ends: &mut Vec<Instant>) {
        ends.extend(self.kept.borrow().iter().map(|kept| kept.until));
    }

    /// Closes those that would end by `end`, and those that are broken; returns how many.
    pub(super) fn close_until(&self, end: Instant, metrics: &CoreMetrics) -> usize {
        let mut all = self.kept.borrow_mut();
        let before = all.len();
        all.retain(|kept| kept.is_good(end));
        let closed = before - all.len();
        (0..closed).for_each(|_| metrics.upstream_idle.dec());
        closed
    }

    fn close_all(&self, metrics: &CoreMetrics) {
        let kept = std::mem::take(&mut *self.kept.borrow_mut());
        kept.iter().for_each(|_| metrics.upstream_idle.dec());
    }
}

/// A reload that changes how connections are shared leaves this one's kept connections to nobody.
impl Drop for Link {
    fn drop(&mut self) {
        self.close_all(&self.metrics);
    }
}
