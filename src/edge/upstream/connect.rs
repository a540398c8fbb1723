//! A connection to an endpoint: a kept one, or a new one.

use std::net::SocketAddr;
use std::time::Duration;

use crate::edge::core::Edge;
use crate::edge::failure::Failure;
use crate::edge::reader::Reader;
use crate::edge::upstream::Lease;
use crate::observe::Reason;
use crate::runtime::Stream;

/// A connection on which a request may be sent.
pub(in crate::edge) struct Origin {
    pub(in crate::edge) stream: Stream,
    pub(in crate::edge) reader: Reader,
    pub(in crate::edge) lease: Lease,
    /// It has carried a request before, so its peer may be about to close it.
    pub(in crate::edge) reused: bool,
}

/// A connection without a deadline; a new one if `fresh`: where one kept connection has died, others may have too.
///
/// # Errors
/// The endpoint refuses, does not answer within `timeout`, or the router is out of descriptors.
pub(super) async fn to(
    edge: &Edge,
    address: SocketAddr,
    timeout: Duration,
    fresh: bool,
) -> Result<Origin, Failure> {
    let lease = edge.pool.lease(address);
    if !fresh && let Some(stream) = edge.pool.take(&lease) {
        return Ok(Origin { stream, reader: Reader::default(), lease, reused: true });
    }
    edge.metrics.upstream_connects.inc();
    let connected = async {
        let stream = edge.core.connect(address).map_err(|_| Failure::from(Reason::Overloaded))?;
        stream.set_timeout(timeout);
        stream.connected().await.map_err(Failure::of_connect)?;
        stream.clear_timeout();
        Ok::<Stream, Failure>(stream)
    };
    let connected = connected.await.inspect_err(|_| edge.metrics.upstream_connect_failures.inc());
    Ok(Origin { stream: connected?, reader: Reader::default(), lease, reused: false })
}

impl Origin {
    /// The connection goes back to the pool, or is closed if anything is left on it that nobody asked for.
    pub(in crate::edge) fn keep(self, edge: &Edge, timeout: Duration) {
        if self.reader.is_empty() && self.stream.is_quiet() {
            edge.pool.keep(&self.lease, self.stream, timeout);
        }
    }
}
