//! A connection to an endpoint: a kept one, or a new one.

use std::cell::Cell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use super::endpoint::Lease;
use super::link::Kept;
use super::service::{Open, Service};
use crate::config::ServiceSettings;
use crate::edge::asked::Work;
use crate::edge::core::Edge;
use crate::edge::failure::Failure;
use crate::edge::reader::Reader;
use crate::edge::settings::Way;
use crate::limits;
use crate::observe::{CoreMetrics, Reason};
use crate::proto::http1::Version;
use crate::runtime::{Core, Fault, Stream};

/// A connection on which a request may be sent.
pub(in crate::edge) struct Origin {
    /// Whose request it carries. Let go before the stream, whose place is another's then.
    work: Work,
    pub(in crate::edge) stream: Stream,
    pub(in crate::edge) reader: Reader,
    lease: Lease,
    open: Open,
    /// How long it may wait for its next request.
    idle: Cell<Duration>,
    /// It has carried a request before, so its peer may be about to close it.
    pub(in crate::edge) reused: bool,
}

/// A connection without a deadline for the request of a `client`; a new one if `fresh`: where one kept connection has died,
/// others may have too.
///
/// # Errors
/// The endpoint is no origin's, refuses, does not answer in time, or the router is out of descriptors.
pub(super) async fn to(
    edge: &Edge,
    service: &Rc<Service>,
    address: SocketAddr,
    settings: &ServiceSettings,
    (fresh, client): (bool, &Work),
) -> Result<Origin, Failure> {
    let (core, metrics, reader) = (&edge.core, &edge.metrics, Reader::default());
    let idle = Cell::new(settings.timeouts.upstream_idle);
    let lease = edge.pool.lease(service, address, core.now(), settings.reuse);
    if edge.settings().way(&service.id, address).is_err() {
        metrics.upstream_connect_failures.inc();
        failed(core, metrics, &lease);
        return Err(Reason::EndpointNotAllowed.into());
    }
    let kept = if fresh { None } else { lease.endpoint().link.take(core.now(), metrics) };
    let work_on = |stream: &Stream| {
        let work = edge.asked.begin(stream);
        work.is_for_same(client);
        work
    };
    if let Some(Kept { stream, open, carried, .. }) = kept {
        let work = work_on(&stream);
        let open = open.unwrap_or_else(|| count(edge, service, settings));
        return Ok(Origin { work, stream, reader, lease, open, idle, reused: carried });
    }
    let (stream, open) = begin(edge, service, address, settings)?;
    let work = work_on(&stream);
    established(core, metrics, &lease, &stream, settings).await?;
    Ok(Origin { work, stream, reader, lease, open, idle, reused: false })
}

/// A connection that is being made, to the address or the Unix socket that it stands for.
fn begin(
    edge: &Edge,
    service: &Rc<Service>,
    address: SocketAddr,
    settings: &ServiceSettings,
) -> Result<(Stream, Open), Failure> {
    let now = edge.settings();
    let way = now.way(&service.id, address).map_err(|_| Reason::EndpointNotAllowed)?;
    edge.metrics.upstream_connects.inc();
    let open = count(edge, service, settings);
    let stream = match way {
        Way::Address(address) => edge.core.connect(address),
        Way::Socket(path) => edge.core.connect_unix(path),
    };
    if stream.is_err() {
        edge.metrics.upstream_connect_failures.inc();
    }
    Ok((stream.map_err(|_| Reason::Overloaded)?, open))
}

/// Counts a connection for its service.
fn count(edge: &Edge, service: &Rc<Service>, settings: &ServiceSettings) -> Open {
    service.open(share(&edge.core, settings.upstream.connections), &edge.metrics)
}

/// Waits until it is made.
async fn established(
    core: &Core,
    metrics: &CoreMetrics,
    lease: &Lease,
    stream: &Stream,
    settings: &ServiceSettings,
) -> Result<(), Failure> {
    let connecting = lease.connecting(core.now());
    stream.set_timeout(settings.timeouts.connect);
    if let Err(fault) = stream.connected().await {
        if fault == Fault::SEVERED {
            return Err(Reason::HostTaken.into());
        }
        metrics.upstream_connect_failures.inc();
        failed(core, metrics, lease);
        return Err(Failure::of_connect(fault));
    }
    connecting.connected(core.now());
    stream.clear_timeout();
    Ok(())
}

/// What a service may have of something that costs a descriptor: `most`, or its share of those that there are.
pub(in crate::edge) fn share(core: &Core, most: usize) -> usize {
    most.min((core.open_max() / limits::SERVICE_SHARE).max(1))
}

fn failed(core: &Core, metrics: &CoreMetrics, lease: &Lease) {
    if lease.failed(core.now()) {
        metrics.upstream_backoffs.inc();
    }
}

/// Sees beside all requests whether an endpoint that was left alone takes connections again. If so, the next request finds
/// one.
pub(in crate::edge) fn probe(
    edge: &Edge,
    service: &Rc<Service>,
    address: SocketAddr,
    settings: ServiceSettings,
) {
    let Ok((stream, open)) = begin(edge, service, address, &settings) else { return };
    let (core, metrics, pool) = (edge.core.clone(), edge.metrics.clone(), Rc::clone(&edge.pool));
    let (service, lease) =
        (Rc::clone(service), edge.pool.lease(service, address, core.now(), settings.reuse));
    lease.probed();
    edge.metrics.upstream_probes.inc();
    edge.core.spawn(async move {
        if established(&core, &metrics, &lease, &stream, &settings).await.is_ok() {
            let until = core.now() + settings.timeouts.upstream_idle;
            let kept = Kept { stream, open: Some(open), carried: false, until };
            pool.keep(&service, &lease, kept, &settings.upstream);
        }
    });
}

impl Origin {
    /// The endpoint has answered; the connection may wait for as long as `idle` after that.
    pub(super) fn answered(&self, version: Version, idle: Duration) {
        self.lease.answered(version, self.stream.core().now());
        self.idle.set(idle);
    }

    /// The endpoint has taken the connection and broken it: it is left alone for a while.
    pub(super) fn failed(&self, edge: &Edge) {
        failed(&edge.core, &edge.metrics, &self.lease);
    }

    /// The connection is kept for the next request, or closed if anything is left on it that nobody asked for.
    pub(super) fn keep(self, edge: &Edge, service: &Service, settings: &ServiceSettings) {
        let Origin { work, stream, reader, lease, open, idle, .. } = self;
        if reader.is_empty() && stream.is_quiet() {
            work.is_for_nobody();
            drop(work);
            let kept = Kept { stream, open: Some(open), carried: true, until: edge.core.now() + idle.get() };
            edge.pool.keep(service, &lease, kept, &settings.upstream);
        }
    }
}
