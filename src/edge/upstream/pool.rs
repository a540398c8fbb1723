//! All endpoints that one core has in use, and the connections that it keeps to them.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::endpoint::{Endpoint, Kept, Lease};
use crate::limits;
use crate::observe::CoreMetrics;
use crate::pick::Outlook;
use crate::runtime::Stream;

/// An endpoint belongs to one service at a time, so what is known of it is kept by address.
pub(in crate::edge) struct Pool {
    endpoints: RefCell<HashMap<SocketAddr, Rc<Endpoint>, foldhash::fast::RandomState>>,
    idle_max: Cell<usize>,
    metrics: Arc<CoreMetrics>,
}

impl Pool {
    pub(in crate::edge) fn new(idle_max: usize, metrics: Arc<CoreMetrics>) -> Rc<Pool> {
        Rc::new(Pool { endpoints: RefCell::default(), idle_max: Cell::new(idle_max), metrics })
    }

    /// How many connections are kept per endpoint from now on; more that are kept already stay until they age.
    pub(in crate::edge) fn set_idle_max(&self, idle_max: usize) {
        self.idle_max.set(idle_max);
    }

    /// Whether a request may go to an endpoint now, and how many others this core has there.
    pub(in crate::edge) fn outlook(&self, address: SocketAddr, now: Instant) -> (Outlook, u32) {
        let endpoints = self.endpoints.borrow();
        let Some(endpoint) = endpoints.get(&address) else { return (Outlook::Good, 0) };
        (endpoint.outlook(now), endpoint.in_flight.get())
    }

    /// How bad an endpoint is beside others that may not be asked either: less is better.
    pub(in crate::edge) fn badness(&self, address: SocketAddr, now: Instant) -> Duration {
        self.endpoints.borrow().get(&address).map_or(Duration::ZERO, |endpoint| endpoint.badness(now))
    }

    /// Counts a request at an endpoint for as long as the lease lives.
    pub(in crate::edge) fn lease(&self, address: SocketAddr, now: Instant) -> Lease {
        let mut endpoints = self.endpoints.borrow_mut();
        let endpoint = match endpoints.get(&address) {
            Some(known) => Rc::clone(known),
            None => {
                let new = Rc::new(Endpoint::new(now));
                // Beyond the bound an endpoint works, but nothing of it is kept.
                if endpoints.len() < limits::POOLED_ENDPOINTS {
                    endpoints.insert(address, Rc::clone(&new));
                } else {
                    self.metrics.pool_full.inc();
                }
                new
            }
        };
        endpoint.in_flight.set(endpoint.in_flight.get() + 1);
        Lease(endpoint)
    }

    /// A kept connection on which nothing has come since: no FIN, no reset, no octet that nobody asked for. With it, whether
    /// it has carried a request before.
    pub(in crate::edge) fn take(&self, lease: &Lease) -> Option<(Stream, bool)> {
        while let Some(kept) = lease.0.idle.borrow_mut().pop() {
            self.metrics.upstream_idle.dec();
            if kept.stream.is_quiet() {
                self.metrics.upstream_reused.inc();
                return Some((kept.stream, kept.carried));
            }
            self.metrics.upstream_stale.inc();
        }
        None
    }

    /// Keeps a connection whose exchange has ended cleanly, or that has `carried` none yet, for at most `timeout`.
    pub(in crate::edge) fn keep(&self, lease: &Lease, stream: Stream, carried: bool, timeout: Duration) {
        let mut idle = lease.0.idle.borrow_mut();
        // One reference is the lease's, one the table's: an endpoint that the table does not know is never swept.
        if idle.len() < self.idle_max.get() && Rc::strong_count(&lease.0) > 1 {
            stream.clear_timeout();
            self.metrics.upstream_idle.inc();
            idle.push(Kept { since: stream.core().now(), stream, carried, timeout });
        }
    }

    /// Closes kept connections that are broken or too old, and forgets endpoints that are not in use.
    pub(in crate::edge) fn sweep(&self, now: Instant) {
        self.endpoints.borrow_mut().retain(|_, endpoint| {
            let mut idle = endpoint.idle.borrow_mut();
            let before = idle.len();
            idle.retain(|kept| kept.stream.is_quiet() && now.duration_since(kept.since) < kept.timeout);
            (idle.len()..before).for_each(|_| self.metrics.upstream_idle.dec());
            !idle.is_empty() || endpoint.in_flight.get() > 0 || endpoint.is_remembered(now)
        });
    }

    /// Closes every kept connection.
    pub(in crate::edge) fn close_idle(&self) {
        self.endpoints.borrow().values().for_each(|endpoint| {
            let kept = std::mem::take(&mut *endpoint.idle.borrow_mut());
            kept.iter().for_each(|_| self.metrics.upstream_idle.dec());
        });
    }
}
