//! A client's connection between and during requests.

use std::cell::Cell;
use std::net::{IpAddr, Ipv4Addr};
use std::rc::Rc;

use super::core::{Door, Edge};
use super::reader::Reader;
use crate::runtime::{Fault, Stream};

/// Kept small: an idle connection is this, its task and its slot.
pub(super) struct Client {
    pub(super) stream: Stream,
    pub(super) reader: Reader,
    pub(super) door: Rc<Door>,
    address: Cell<Option<IpAddr>>,
}

impl Client {
    pub(super) fn new(stream: Stream, door: Rc<Door>) -> Client {
        Client { stream, reader: Reader::default(), door, address: Cell::new(None) }
    }

    /// Waits for the first octet of a request, holding nothing meanwhile; false if none came in time, the client
    /// left, or the router drains.
    pub(super) async fn has_request(&self, edge: &Edge) -> bool {
        if !self.reader.is_empty() {
            return true;
        }
        if edge.is_draining() {
            return false;
        }
        let came = self.stream.idle(edge.settings.timeouts.idle).await;
        if came == Err(Fault::TimedOut) {
            edge.metrics.idle_timeouts.inc();
        }
        came == Ok(true)
    }

    /// The peer's address, asked once. A peer that is gone has none, and will not read an answer either.
    pub(super) fn address(&self) -> IpAddr {
        self.address.get().unwrap_or_else(|| {
            let ip =
                self.stream.peer().map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.ip().to_canonical());
            self.address.set(Some(ip));
            ip
        })
    }

    /// The peer may say on whose behalf it asks.
    pub(super) fn is_trusted(&self) -> bool {
        let trusted = &self.door.trusted_proxies;
        !trusted.is_empty() && trusted.iter().any(|range| range.contains(self.address()))
    }

    /// The peer may ask how the router is.
    pub(super) fn is_internal(&self) -> bool {
        self.door.internal_from.iter().any(|range| range.contains(self.address()))
    }
}
