//! A listener as its connections see it.

use std::cell::{Cell, RefCell};
use std::net::IpAddr;

use crate::config::{Listener, Peers};

/// Shared by a listener's connections on one core. What it says holds for all of them at once, also for those that came
/// before it was changed.
#[derive(Debug)]
pub(super) struct Door {
    trust: RefCell<Trust>,
    /// A Unix socket: its peers have no address.
    pub(super) is_unix: bool,
    closed: Cell<bool>,
}

/// Who may say what at a listener.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Trust {
    pub(super) trusted_proxies: Peers,
    pub(super) internal_from: Peers,
}

impl From<&Listener> for Trust {
    fn from(listener: &Listener) -> Trust {
        Trust {
            trusted_proxies: listener.trusted_proxies.clone(),
            internal_from: listener.internal_from.clone(),
        }
    }
}

impl Door {
    pub(super) fn new(trust: Trust, is_unix: bool) -> Door {
        Door { trust: RefCell::new(trust), is_unix, closed: Cell::new(false) }
    }

    pub(super) fn set(&self, trust: Trust) {
        self.trust.replace(trust);
    }

    /// The listener is going away: each answer from now on is its connection's last.
    pub(super) fn close(&self) {
        self.closed.set(true);
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.get()
    }

    /// The peer may say on whose behalf it asks. Its address is asked for only where anyone may.
    pub(super) fn trusts(&self, peer: impl FnOnce() -> Option<IpAddr>) -> bool {
        let trusted = &self.trust.borrow().trusted_proxies;
        !trusted.is_nobody() && trusted.has(peer())
    }

    /// The peer may ask how the router is.
    pub(super) fn is_internal(&self, peer: Option<IpAddr>) -> bool {
        self.trust.borrow().internal_from.has(peer)
    }
}
