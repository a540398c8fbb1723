//! Connections in: one task per listener, one per connection.

use std::rc::Rc;
use std::sync::Arc;

use super::client::Client;
use super::core::Edge;
use super::door::Door;
use crate::limits;
use crate::observe::CoreMetrics;
use crate::runtime::Listener;

/// Accepts until `listener` is dropped, which ends this task's wait with it.
pub(super) async fn run(edge: Rc<Edge>, listener: Rc<Listener>, door: Rc<Door>) {
    while let Some(stream) = listener.accept().await {
        edge.metrics.connections_accepted.inc();
        let open = Open::new(Rc::clone(&edge));
        edge.core.spawn(super::serve_connection(open, Client::new(stream, Rc::clone(&door), &edge.asked)));
    }
}

/// Counts a connection for as long as it lives, however it ends.
pub(super) struct Open(pub(super) Rc<Edge>);

impl Open {
    fn new(edge: Rc<Edge>) -> Open {
        edge.connections.set(edge.connections.get() + 1);
        edge.metrics.connections_open.inc();
        Open(edge)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.connections.set(self.0.connections.get() - 1);
        self.0.metrics.connections_open.dec();
    }
}

/// Counts a request in flight for as long as it lives, however it ends.
pub(super) struct InFlight(Arc<CoreMetrics>);

impl InFlight {
    pub(super) fn new(edge: &Edge) -> InFlight {
        edge.metrics.requests_in_flight.inc();
        InFlight(Arc::clone(&edge.metrics))
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.requests_in_flight.dec();
    }
}

/// A connection's leave to keep what a request needs while it waits for its next.
pub(super) struct Warm<'a>(&'a Edge);

impl Warm<'_> {
    /// `None` if enough connections have it.
    pub(super) fn new(edge: &Edge) -> Option<Warm<'_>> {
        if edge.warm.get() >= limits::WARM_CONNECTIONS {
            edge.metrics.warm_full.inc();
            return None;
        }
        edge.warm.set(edge.warm.get() + 1);
        Some(Warm(edge))
    }
}

impl Drop for Warm<'_> {
    fn drop(&mut self) {
        self.0.warm.set(self.0.warm.get() - 1);
    }
}
