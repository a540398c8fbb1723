//! Endpoints as one core knows them: requests in flight, and connections kept for the next.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::limits;
use crate::observe::CoreMetrics;
use crate::runtime::Stream;

/// All endpoints that this core has in use. An endpoint belongs to one service at a time, so connections are kept by
/// address.
pub(in crate::edge) struct Pool {
    endpoints: RefCell<HashMap<SocketAddr, Rc<Endpoint>, foldhash::fast::RandomState>>,
    idle_max: Cell<usize>,
    metrics: Arc<CoreMetrics>,
}

/// One endpoint's connections on one core.
pub(in crate::edge) struct Endpoint {
    in_flight: Cell<u32>,
    /// Most recently used last: the warmest is taken first, the rest may age out.
    idle: RefCell<Vec<Kept>>,
}

struct Kept {
    stream: Stream,
    since: Instant,
    timeout: Duration,
}

impl Pool {
    pub(in crate::edge) fn new(idle_max: usize, metrics: Arc<CoreMetrics>) -> Pool {
        Pool { endpoints: RefCell::default(), idle_max: Cell::new(idle_max), metrics }
    }

    /// How many connections are kept per endpoint from now on; more that are kept already stay until they age.
    pub(in crate::edge) fn set_idle_max(&self, idle_max: usize) {
        self.idle_max.set(idle_max);
    }

    /// Requests that this core has open at an endpoint.
    pub(in crate::edge) fn load(&self, address: SocketAddr) -> u32 {
        self.endpoints.borrow().get(&address).map_or(0, |endpoint| endpoint.in_flight.get())
    }

    /// Counts a request at an endpoint for as long as the lease lives.
    pub(in crate::edge) fn lease(&self, address: SocketAddr) -> Lease {
        let mut endpoints = self.endpoints.borrow_mut();
        let endpoint = match endpoints.get(&address) {
            Some(known) => Rc::clone(known),
            None => {
                let new = Rc::new(Endpoint { in_flight: Cell::new(0), idle: RefCell::default() });
                // Beyond the bound an endpoint works, but its connections are not kept.
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

    /// A kept connection on which nothing has come since: no FIN, no reset, no octet that nobody asked for.
    pub(in crate::edge) fn take(&self, lease: &Lease) -> Option<Stream> {
        while let Some(kept) = lease.0.idle.borrow_mut().pop() {
            self.metrics.upstream_idle.dec();
            if kept.stream.is_quiet() {
                self.metrics.upstream_reused.inc();
                return Some(kept.stream);
            }
            self.metrics.upstream_stale.inc();
        }
        None
    }

    /// Keeps a connection whose exchange has ended cleanly, for at most `timeout`.
    pub(in crate::edge) fn keep(&self, lease: &Lease, stream: Stream, timeout: Duration) {
        let mut idle = lease.0.idle.borrow_mut();
        // One reference is the lease's, one the table's: an endpoint that the table does not know is never swept.
        if idle.len() < self.idle_max.get() && Rc::strong_count(&lease.0) > 1 {
            stream.clear_timeout();
            self.metrics.upstream_idle.inc();
            idle.push(Kept { since: stream.core().now(), stream, timeout });
        }
    }

    /// Closes kept connections that are broken or too old, and forgets endpoints that are not in use.
    pub(in crate::edge) fn sweep(&self, now: Instant) {
        self.endpoints.borrow_mut().retain(|_, endpoint| {
            let mut idle = endpoint.idle.borrow_mut();
            let before = idle.len();
            idle.retain(|kept| kept.stream.is_quiet() && now.duration_since(kept.since) < kept.timeout);
            (idle.len()..before).for_each(|_| self.metrics.upstream_idle.dec());
            !idle.is_empty() || endpoint.in_flight.get() > 0
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

/// A request in flight at an endpoint.
pub(in crate::edge) struct Lease(Rc<Endpoint>);

impl Drop for Lease {
    fn drop(&mut self) {
        self.0.in_flight.set(self.0.in_flight.get() - 1);
    }
}
