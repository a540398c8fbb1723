//! A connection to an endpoint: a kept one, or a new one.

use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use super::{Lease, Pool};
use crate::config::OriginTimeouts;
use crate::edge::core::Edge;
use crate::edge::failure::Failure;
use crate::edge::reader::Reader;
use crate::observe::{CoreMetrics, Reason};
use crate::runtime::{Core, Stream};

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
    let lease = edge.pool.lease(address, edge.core.now());
    if !fresh && let Some((stream, reused)) = edge.pool.take(&lease) {
        return Ok(Origin { stream, reader: Reader::default(), lease, reused });
    }
    let stream = connect(&edge.core, &edge.metrics, &lease, address, timeout).await?;
    Ok(Origin { stream, reader: Reader::default(), lease, reused: false })
}

async fn connect(
    core: &Core,
    metrics: &CoreMetrics,
    lease: &Lease,
    address: SocketAddr,
    timeout: Duration,
) -> Result<Stream, Failure> {
    metrics.upstream_connects.inc();
    let Ok(stream) = core.connect(address) else {
        metrics.upstream_connect_failures.inc();
        return Err(Reason::Overloaded.into());
    };
    let connecting = lease.connecting(core.now());
    stream.set_timeout(timeout);
    if let Err(fault) = stream.connected().await {
        metrics.upstream_connect_failures.inc();
        failed(core, metrics, lease);
        return Err(Failure::of_connect(fault));
    }
    connecting.connected(core.now());
    stream.clear_timeout();
    Ok(stream)
}

/// The endpoint has failed, and is left alone for a while.
pub(super) fn failed(core: &Core, metrics: &CoreMetrics, lease: &Lease) {
    if lease.failed(core.now()) {
        metrics.upstream_backoffs.inc();
    }
}

/// Sees beside all requests whether an endpoint that was left alone takes connections again. If so, the next request finds
/// one.
pub(in crate::edge) fn probe(edge: &Edge, address: SocketAddr, timeouts: &OriginTimeouts) {
    let (core, pool, metrics) = (edge.core.clone(), Rc::clone(&edge.pool), edge.metrics.clone());
    let OriginTimeouts { connect: timeout, upstream_idle, .. } = *timeouts;
    edge.pool.lease(address, edge.core.now()).probed();
    edge.core.spawn(async move {
        metrics.upstream_probes.inc();
        let lease = pool.lease(address, core.now());
        if let Ok(stream) = connect(&core, &metrics, &lease, address, timeout).await {
            Pool::keep(&pool, &lease, stream, false, upstream_idle);
        }
    });
}

impl Origin {
    /// The connection goes back to the pool, or is closed if anything is left on it that nobody asked for.
    pub(in crate::edge) fn keep(self, edge: &Edge, timeout: Duration) {
        if self.reader.is_empty() && self.stream.is_quiet() {
            edge.pool.keep(&self.lease, self.stream, true, timeout);
        }
    }
}
