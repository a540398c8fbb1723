//! Host name to endpoint: the tenant boundary. A request goes to the service that its host name belongs to, or nowhere.

use std::net::SocketAddr;
use std::rc::Rc;

use ringway_state::record::{Endpoint, EndpointState};
use ringway_state::{By, Endpoints, HostHit, ServiceRef, View};

use super::asked::Work;
use super::core::Edge;
use super::request::Scratch;
use super::upstream::{self, InUse, Service};
use crate::observe::Reason;
use crate::pick::{Outlook, two_choices};

/// Which endpoint is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    Any,
    /// Another than this where there is one.
    Rather(SocketAddr),
    /// Another than this.
    Only(SocketAddr),
}

/// A service as this core knows it, and one of its endpoints.
pub(super) struct Found<'a> {
    pub(super) service: InUse<'a>,
    pub(super) address: SocketAddr,
}

/// Finds the service of `host` (lower case, no port) and one of its endpoints in this node's region. Writes the
/// service's id to `id`, and what the client's connection works for from now on to `work`.
///
/// # Errors
/// `UnknownHost` and `Tombstoned`, `NoHealthyEndpoints`.
pub(super) fn find<'a>(
    edge: &'a Edge,
    host: &[u8],
    wanted: Wanted,
    (id, work): (&mut String, Option<&Work>),
) -> Result<Found<'a>, Reason> {
    let view = edge.view();
    let (owner, by) = owner(&view, host).inspect_err(|reason| {
        if *reason == Reason::UnknownHost {
            edge.metrics.table_lookups_missed.inc();
        }
    })?;
    // No wait lies between this and the look-up, in which a cut would miss it.
    work.inspect(|work| work.is_for(host, by));
    id.clear();
    id.push_str(owner.id());
    let service = edge.pool.service(id);
    let candidates = Candidates { edge, id, service: &service, endpoints: owner.endpoints(view.local()) };
    let address = match wanted {
        Wanted::Any => candidates.best(None).or_else(|| candidates.least_bad(None)),
        Wanted::Rather(tried) => {
            let others = candidates.best(Some(tried)).or_else(|| candidates.least_bad(Some(tried)));
            others.or_else(|| candidates.least_bad(None))
        }
        Wanted::Only(tried) => candidates.best(Some(tried)),
    };
    let address = address.ok_or(Reason::NoHealthyEndpoints)?;
    Ok(Found { service, address })
}

/// The service that `host` (lower case, no port) belongs to.
///
/// # Errors
/// `UnknownHost` and `Tombstoned`.
#[inline]
pub(super) fn owner<'v>(view: &'v View, host: &[u8]) -> Result<(ServiceRef<'v>, By), Reason> {
    match view.host_by(host) {
        Some((HostHit::Service(owner), by)) => Ok((owner, by)),
        Some((HostHit::Tombstone { .. }, _)) => Err(Reason::Tombstoned),
        None => Err(Reason::UnknownHost),
    }
}

/// Whether an endpoint takes requests, as far as the table says.
#[inline]
pub(super) fn is_candidate(endpoint: &Endpoint) -> bool {
    endpoint.state == EndpointState::Healthy
}

/// An endpoint for a request whose service has been found before.
///
/// # Errors
/// As [`find`]; and `NoHealthyEndpoints`, if the host name has another service since.
pub(super) fn again(edge: &Edge, scratch: &Scratch, wanted: Wanted) -> Result<SocketAddr, Reason> {
    let mut id = String::new();
    let found = find(edge, scratch.head.host(), wanted, (&mut id, None))?;
    if id == scratch.service { Ok(found.address) } else { Err(Reason::NoHealthyEndpoints) }
}

/// The endpoints of a service in this node's region.
struct Candidates<'a> {
    edge: &'a Edge,
    id: &'a str,
    service: &'a Rc<Service>,
    endpoints: Endpoints<'a>,
}

impl Candidates<'_> {
    fn address(&self, at: usize, except: Option<SocketAddr>) -> Option<SocketAddr> {
        let endpoint = self.endpoints.get(at)?;
        (is_candidate(&endpoint) && Some(endpoint.address) != except).then_some(endpoint.address)
    }

    /// The less loaded of two that serve as far as this core knows. Those that have failed are probed when it is time.
    fn best(&self, except: Option<SocketAddr>) -> Option<SocketAddr> {
        let Candidates { edge, id, service, endpoints } = self;
        let load = |at| {
            let address = self.address(at, except)?;
            match edge.pool.outlook(service, address, edge.core.now()) {
                (Outlook::Good, load) => Some(load),
                (Outlook::Bad, _) => None,
                (Outlook::Due, _) => {
                    upstream::probe(edge, service, address, edge.settings().of_service(id));
                    None
                }
            }
        };
        let at = two_choices(endpoints.len(), |n| fastrand::usize(..n), load)?;
        self.address(at, except)
    }

    /// The one that should serve again soonest, where none serves: an attempt is better than none.
    fn least_bad(&self, except: Option<SocketAddr>) -> Option<SocketAddr> {
        let Candidates { edge, service, endpoints, .. } = self;
        let all = (0..endpoints.len()).filter_map(|at| self.address(at, except));
        let least = all.min_by_key(|address| service.badness(*address, edge.core.now()))?;
        edge.metrics.upstream_all_bad.inc();
        Some(least)
    }
}
