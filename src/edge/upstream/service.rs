//! A service as one core knows it: its endpoints, and how much of the core it has.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;
use std::task::Waker;
use std::time::{Duration, Instant};

use super::endpoint::{Endpoint, Figures, Lease};
use super::link::{Kept, Link};
use crate::config::Reuse;
use crate::observe::CoreMetrics;
use crate::pick::Outlook;
use crate::policy::Turns;

/// By address, which lies beside so that the search reads nothing else. Most services have a few.
type Endpoints = Vec<(SocketAddr, Rc<Endpoint>)>;

#[derive(Default)]
pub(in crate::edge) struct Service {
    pub(super) id: String,
    endpoints: RefCell<Endpoints>,
    /// Of its requests.
    pub(super) turns: RefCell<Turns<Waker>>,
    /// Connections to its endpoints, those under way and those kept included.
    connections: Cell<usize>,
    /// The core's table knows it, so that it is swept.
    pub(super) is_known: bool,
}

impl Service {
    /// A service of which nothing is known yet. The memory of `spare`, which was vacated, is used again.
    pub(super) fn new(id: &str, is_known: bool, spare: Option<Rc<Service>>) -> Rc<Service> {
        let spare = spare.and_then(Rc::into_inner).unwrap_or_default();
        let Service { id: mut text, endpoints, .. } = spare;
        text.clear();
        text.push_str(id);
        debug_assert!(endpoints.borrow().is_empty());
        Rc::new(Service { id: text, endpoints, is_known, ..Service::default() })
    }

    /// Lets go of all that a vacant one has of others.
    pub(super) fn vacate(&self) {
        self.endpoints.borrow_mut().clear();
    }

    /// Whether a request may go to an endpoint now, and how many others are there; `None` for one that is new to it.
    pub(super) fn outlook(&self, address: SocketAddr, now: Instant) -> Option<(Outlook, u32)> {
        let endpoints = self.endpoints.borrow();
        let (_, endpoint) = &endpoints[place(&endpoints, address).ok()?];
        Some((endpoint.outlook(now), endpoint.link.in_flight.get()))
    }

    pub(super) fn figures(&self, address: SocketAddr, now: Instant) -> Option<Figures> {
        let endpoints = self.endpoints.borrow();
        place(&endpoints, address).ok().map(|at| endpoints[at].1.figures(now))
    }

    /// Whether an endpoint is known to speak HTTP/1.0, so that it cannot read chunks.
    pub(super) fn speaks_http10(&self, address: SocketAddr, now: Instant) -> bool {
        let endpoints = self.endpoints.borrow();
        place(&endpoints, address).is_ok_and(|at| endpoints[at].1.speaks_http10(now))
    }

    /// How bad an endpoint is beside others that may not be asked either: less is better.
    pub(in crate::edge) fn badness(&self, address: SocketAddr, now: Instant) -> Duration {
        let endpoints = self.endpoints.borrow();
        place(&endpoints, address).map_or(Duration::ZERO, |at| endpoints[at].1.badness(now))
    }

    /// Counts a request at an endpoint for as long as the lease lives. `link` makes or finds what goes with one that is new.
    pub(super) fn lease(
        &self,
        address: SocketAddr,
        now: Instant,
        reuse: Reuse,
        link: impl FnOnce() -> Rc<Link>,
    ) -> Lease {
        let mut endpoints = self.endpoints.borrow_mut();
        let at = place(&endpoints, address);
        // After a reload that changed it, no kept connection may serve both ways.
        if let Ok(at) = at
            && endpoints[at].1.reuse == reuse
        {
            return Lease::new(Rc::clone(&endpoints[at].1));
        }
        let endpoint = Rc::new(Endpoint::new(now, reuse, link()));
        let known = (address, Rc::clone(&endpoint));
        match at {
            Ok(at) => endpoints[at] = known,
            Err(at) => endpoints.insert(at, known),
        }
        Lease::new(endpoint)
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
        let links = endpoints.iter().filter_map(|(_, endpoint)| endpoint.own_link());
        let first = links.filter_map(|link| Some((link.first()?, link))).min_by_key(|(end, _)| *end);
        first.iter().for_each(|(_, link)| link.close_first(metrics));
        first.is_some()
    }

    /// Keeps a connection for its next request, if there are fewer than `most` at its endpoint.
    pub(super) fn keep(&self, lease: &Lease, kept: Kept, most: usize, metrics: &CoreMetrics) {
        let link = &lease.endpoint().link;
        if link.len() < most && self.is_known && kept.until > kept.stream.core().now() {
            link.push(kept, metrics);
        }
    }

    /// Closes its own kept connections that are broken or too old, and forgets endpoints that are not in use; true if none
    /// is left.
    pub(super) fn sweep(&self, now: Instant, metrics: &CoreMetrics) -> bool {
        let mut endpoints = self.endpoints.borrow_mut();
        endpoints.retain(|(_, endpoint)| {
            if let Some(link) = endpoint.own_link() {
                link.close_until(now, metrics);
            }
            !endpoint.may_be_forgotten(now)
        });
        endpoints.is_empty()
    }

    /// Nothing of it is worth remembering.
    pub(super) fn is_vacant(&self) -> bool {
        self.endpoints.borrow().iter().all(|(_, endpoint)| endpoint.is_vacant())
    }

    /// What it alone keeps at each endpoint.
    pub(super) fn each_own_link(&self, with: impl FnMut(&Link)) {
        let endpoints = self.endpoints.borrow();
        endpoints.iter().filter_map(|(_, endpoint)| endpoint.own_link()).for_each(with);
    }
}

/// Where the endpoint is, or belongs.
fn place(endpoints: &Endpoints, address: SocketAddr) -> Result<usize, usize> {
    endpoints.binary_search_by_key(&address, |(address, _)| *address)
}

/// A connection to an endpoint, counted for its service.
pub(in crate::edge) struct Open(Rc<Service>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.connections.set(self.0.connections.get() - 1);
    }
}
