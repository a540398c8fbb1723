//! A service as one core knows it: its endpoints, and how much of the core it has.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::task::Waker;
use std::time::{Duration, Instant};

use super::endpoint::{Endpoint, Kept, Lease};
use crate::observe::CoreMetrics;
use crate::pick::Outlook;
use crate::policy::Turns;

type Endpoints = HashMap<SocketAddr, Rc<Endpoint>, foldhash::fast::RandomState>;

pub(in crate::edge) struct Service {
    endpoints: RefCell<Endpoints>,
    /// Of its requests.
    pub(super) turns: RefCell<Turns<Waker>>,
    /// Connections to its endpoints, those under way and those kept included.
    connections: Cell<usize>,
    /// The core's table knows it, so that it is swept.
    is_known: bool,
}

impl Service {
    pub(super) fn new(is_known: bool) -> Rc<Service> {
        Rc::new(Service {
            endpoints: RefCell::default(),
            turns: RefCell::default(),
            connections: Cell::new(0),
            is_known,
        })
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
    pub(super) fn lease(&self, address: SocketAddr, now: Instant) -> Lease {
        let mut endpoints = self.endpoints.borrow_mut();
        let endpoint = endpoints.entry(address).or_insert_with(|| Rc::new(Endpoint::new(now)));
        Lease::new(Rc::clone(endpoint))
    }

    /// Counts a connection for as long as it lives. With `most` open already, the kept one that would end first is closed.
    pub(super) fn open(self: &Rc<Service>, most: usize, metrics: &CoreMetrics) -> Open {
        if self.connections.get() >= most && self.close_first(metrics) {
            metrics.upstream_evicted.inc();
        }
        self.connections.set(self.connections.get() + 1);
        Open(Rc::clone(self))
    }

    fn close_first(&self, metrics: &CoreMetrics) -> bool {
        let endpoints = self.endpoints.borrow();
        let until = |endpoint: &&Rc<Endpoint>| endpoint.idle.borrow().first().map(|kept| kept.until);
        let first = endpoints.values().filter(|endpoint| until(endpoint).is_some()).min_by_key(until);
        let closed = first.map(|endpoint| endpoint.idle.borrow_mut().remove(0));
        closed.iter().for_each(|_| metrics.upstream_idle.dec());
        closed.is_some()
    }

    /// A kept connection that may carry a request.
    pub(super) fn take(&self, lease: &Lease, now: Instant, metrics: &CoreMetrics) -> Option<Kept> {
        while let Some(kept) = lease.endpoint().idle.borrow_mut().pop() {
            metrics.upstream_idle.dec();
            if kept.is_good(now) {
                metrics.upstream_reused.inc();
                return Some(kept);
            }
            metrics.upstream_stale.inc();
        }
        None
    }

    /// Keeps a connection for its next request, if there are fewer than `most` at its endpoint.
    pub(super) fn keep(&self, lease: &Lease, kept: Kept, most: usize, metrics: &CoreMetrics) {
        let mut idle = lease.endpoint().idle.borrow_mut();
        if idle.len() < most && self.is_known && kept.until > kept.stream.core().now() {
            kept.stream.clear_timeout();
            metrics.upstream_idle.inc();
            idle.push(kept);
        }
    }

    /// Closes kept connections that are broken or too old, and forgets endpoints that are not in use; true if none is left.
    pub(super) fn sweep(&self, now: Instant, metrics: &CoreMetrics) -> bool {
        let mut endpoints = self.endpoints.borrow_mut();
        endpoints.retain(|_, endpoint| {
            let mut idle = endpoint.idle.borrow_mut();
            let before = idle.len();
            idle.retain(|kept| kept.is_good(now));
            (idle.len()..before).for_each(|_| metrics.upstream_idle.dec());
            !idle.is_empty() || endpoint.in_flight.get() > 0 || endpoint.is_remembered(now)
        });
        endpoints.is_empty()
    }

    /// Closes every kept connection.
    pub(super) fn close_idle(&self, metrics: &CoreMetrics) {
        for endpoint in self.endpoints.borrow().values() {
            let kept = std::mem::take(&mut *endpoint.idle.borrow_mut());
            kept.iter().for_each(|_| metrics.upstream_idle.dec());
        }
    }
}

/// A connection to an endpoint, counted for its service.
pub(in crate::edge) struct Open(Rc<Service>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.connections.set(self.0.connections.get() - 1);
    }
}
