//! All services that one core has in use.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use super::service::Service;
use crate::limits;
use crate::observe::CoreMetrics;

/// Endpoints and connections belong to one service each: what one tenant's endpoint does never touches another's.
pub(in crate::edge) struct Pool {
    services: RefCell<HashMap<Box<str>, Rc<Service>, foldhash::fast::RandomState>>,
    metrics: Arc<CoreMetrics>,
}

impl Pool {
    pub(in crate::edge) fn new(metrics: Arc<CoreMetrics>) -> Pool {
        Pool { services: RefCell::default(), metrics }
    }

    /// The service with that id, as this core knows it.
    pub(in crate::edge) fn service(&self, id: &str) -> Rc<Service> {
        let mut services = self.services.borrow_mut();
        if let Some(known) = services.get(id) {
            return Rc::clone(known);
        }
        // Beyond the bound a service works, but is not counted, and nothing of it is kept.
        let is_known = services.len() < limits::POOLED_SERVICES;
        let new = Service::new(is_known);
        if is_known {
            services.insert(id.into(), Rc::clone(&new));
        } else {
            self.metrics.pool_full.inc();
        }
        new
    }

    /// Closes kept connections that are broken or too old, and forgets what is not in use.
    pub(in crate::edge) fn sweep(&self, now: Instant) {
        self.services.borrow_mut().retain(|_, service| {
            let is_empty = service.sweep(now, &self.metrics);
            !is_empty || Rc::strong_count(service) > 1
        });
    }

    /// Closes every kept connection.
    pub(in crate::edge) fn close_idle(&self) {
        self.services.borrow().values().for_each(|service| service.close_idle(&self.metrics));
    }
}
