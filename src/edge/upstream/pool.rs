//! All services that one core has in use, and the connections that it keeps for them.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::BuildHasher;
use std::net::SocketAddr;
use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::endpoint::{Figures, Lease};
use super::link::{Kept, Link};
use super::service::Service;
use crate::config::{Reuse, UpstreamLimits};
use crate::limits;
use crate::observe::CoreMetrics;
use crate::pick::Outlook;

/// Endpoints, and connections to them, belong to one service each: what one tenant's endpoint does never touches another's.
/// Only services that are told to ([`Reuse::Endpoint`]) share connections.
pub(in crate::edge) struct Pool {
    services: RefCell<Services>,
    shared: RefCell<HashMap<SocketAddr, Rc<Link>, RandomState>>,
    metrics: Arc<CoreMetrics>,
}

/// Services by their ids.
#[derive(Default)]
struct Services {
    known: HashTable<Rc<Service>>,
    /// Of ids, which are other people's words.
    hasher: RandomState,
    /// Forgotten ones, for those that come next: their memory is still in the processor's caches.
    spare: Vec<Rc<Service>>,
}

impl Services {
    fn find(&self, id: &str) -> Option<&Rc<Service>> {
        self.known.find(self.hasher.hash_one(id), |service| service.id == id)
    }

    /// One that was not known, and is from now on if there is room.
    fn add(&mut self, id: &str) -> Rc<Service> {
        let is_known = self.known.len() < limits::POOLED_SERVICES;
        let new = Service::new(id, is_known, self.spare.pop());
        if is_known {
            let hash = |service: &Rc<Service>| self.hasher.hash_one(&*service.id);
            self.known.insert_unique(hash(&new), Rc::clone(&new), hash);
        }
        new
    }

    fn forget(&mut self, service: &Rc<Service>) {
        let hash = self.hasher.hash_one(&*service.id);
        let known = self.known.find_entry(hash, |known| Rc::ptr_eq(known, service));
        if let Ok(known) = known {
            let (forgotten, _) = known.remove();
            forgotten.vacate();
            if self.spare.len() < limits::SPARE_SERVICES {
                self.spare.push(forgotten);
            }
        }
    }
}

impl Pool {
    pub(in crate::edge) fn new(metrics: Arc<CoreMetrics>) -> Pool {
        Pool { services: RefCell::default(), shared: RefCell::default(), metrics }
    }

    /// The service with that id, as this core knows it, for a request.
    pub(in crate::edge) fn service(&self, id: &str) -> InUse<'_> {
        InUse { pool: self, service: self.known(id) }
    }

    fn known(&self, id: &str) -> Rc<Service> {
        let mut services = self.services.borrow_mut();
        if let Some(known) = services.find(id) {
            return Rc::clone(known);
        }
        let new = services.add(id);
        // Beyond the bound a service works, but is not counted, and nothing of it is kept.
        if !new.is_known {
            self.metrics.pool_full.inc();
        }
        new
    }

    /// Counts a request of `service` at an endpoint for as long as the lease lives.
    pub(super) fn lease(&self, service: &Service, address: SocketAddr, now: Instant, reuse: Reuse) -> Lease {
        let new = || Rc::new(Link::new(&self.metrics));
        let link = || match reuse {
            Reuse::Service => new(),
            Reuse::Endpoint => Rc::clone(self.shared.borrow_mut().entry(address).or_insert_with(new)),
        };
        service.lease(address, now, reuse, link)
    }

    /// Whether a request of `service` may go to an endpoint now, and how many others this core has there, those of all
    /// services that share connections to it included.
    pub(in crate::edge) fn outlook(
        &self,
        service: &Service,
        address: SocketAddr,
        now: Instant,
    ) -> (Outlook, u32) {
        let shared = || self.shared.borrow().get(&address).map_or(0, |link| link.in_flight.get());
        service.outlook(address, now).unwrap_or_else(|| (Outlook::Good, shared()))
    }

    /// How an endpoint of a service stands. Changes nothing, so that asking leaves no trace.
    pub(in crate::edge) fn figures(&self, service: &str, address: SocketAddr, now: Instant) -> Figures {
        let services = self.services.borrow();
        let known = services.find(service).and_then(|service| service.figures(address, now));
        known.unwrap_or(Figures::UNKNOWN)
    }

    /// Keeps a connection for its next request, if `most` allows it. With so many on the core that clients might find no
    /// room, those that would end first are closed.
    pub(super) fn keep(&self, service: &Service, lease: &Lease, mut kept: Kept, most: &UpstreamLimits) {
        if lease.endpoint().own_link().is_none() {
            kept.open = None;
        }
        let core = kept.stream.core();
        let room = core.open_max() / limits::KEPT_SHARE;
        service.keep(lease, kept, most.idle_connections, &self.metrics);
        if self.metrics.upstream_idle.get() > room.max(1) as u64 {
            self.thin();
        }
    }

    /// Closes the [`limits::KEPT_THINNED`] connections that would end first.
    fn thin(&self) {
        let mut ends = Vec::new();
        self.each_link(|link| link.ends(&mut ends));
        let count = limits::KEPT_THINNED.min(ends.len());
        let Some(last) = count.checked_sub(1) else { return };
        let (_, end, _) = ends.select_nth_unstable(last);
        let end = *end;
        self.each_link(|link| {
            let closed = link.close_until(end, &self.metrics);
            self.metrics.upstream_evicted.add(closed as u64);
        });
    }

    /// Forgets a service whose request has ended unless something of it is worth remembering: among millions that come once
    /// in a while, those in use stay in the processor's caches.
    fn let_go(&self, service: &Rc<Service>) {
        const TABLE_AND_REQUEST: usize = 2;
        if Rc::strong_count(service) == TABLE_AND_REQUEST && service.is_vacant() {
            self.services.borrow_mut().forget(service);
        }
    }

    fn each_link(&self, mut with: impl FnMut(&Link)) {
        self.shared.borrow().values().for_each(|link| with(link));
        self.services.borrow().known.iter().for_each(|service| service.each_own_link(&mut with));
    }

    /// Closes kept connections that are broken or too old, and forgets what is not in use.
    pub(in crate::edge) fn sweep(&self, now: Instant) {
        self.services.borrow_mut().known.retain(|service| {
            let is_empty = service.sweep(now, &self.metrics);
            !is_empty || Rc::strong_count(service) > 1
        });
        self.shared.borrow_mut().retain(|_, link| {
            link.close_until(now, &self.metrics);
            !link.is_empty() || Rc::strong_count(link) > 1
        });
    }
}

/// A service that a request is for.
pub(in crate::edge) struct InUse<'a> {
    pool: &'a Pool,
    service: Rc<Service>,
}

impl Deref for InUse<'_> {
    type Target = Rc<Service>;

    fn deref(&self) -> &Rc<Service> {
        &self.service
    }
}

impl Drop for InUse<'_> {
    fn drop(&mut self) {
        self.pool.let_go(&self.service);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(pool: &Pool) -> usize {
        pool.services.borrow().known.len()
    }

    /// Of services that come once, none is remembered; one in use always is, and one whose endpoint has failed.
    #[test]
    fn services_that_come_once_are_forgotten() {
        let (pool, now) = (Pool::new(Arc::default()), Instant::now());
        let address = SocketAddr::from(([127, 0, 0, 1], 9000));
        let used = pool.service("svc_used");
        let lease = pool.lease(&used, address, now, Reuse::Endpoint);
        lease.failed(now);
        for n in 0..3 * limits::SPARE_SERVICES {
            let service = pool.service(&format!("svc_{n}"));
            assert_eq!(*service.id, format!("svc_{n}"));
            assert_eq!(service.outlook(address, now), None, "nothing of another service is left");
            drop(pool.lease(&service, address, now, Reuse::Endpoint));
            assert!(Rc::ptr_eq(&service, &pool.service(&format!("svc_{n}"))), "in use");
            drop(service);
            assert_eq!(known(&pool), 1);
        }
        drop((used, lease));
        let again = pool.service("svc_used");
        assert!(again.badness(address, now) > std::time::Duration::ZERO, "it is remembered that it failed");
        drop(again);
        pool.sweep(now);
        assert_eq!(known(&pool), 1, "only what is worth remembering is left");
        assert_eq!(pool.shared.borrow().len(), 1);
        pool.sweep(now + std::time::Duration::from_secs(3600));
        assert!(known(&pool) == 0 && pool.shared.borrow().is_empty());
    }
}
