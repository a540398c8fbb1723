//! Host name to endpoint: the tenant boundary. A request goes to the service that its host name belongs to, or nowhere.

use std::net::SocketAddr;

use ringway_state::record::EndpointState;
use ringway_state::{Endpoints, HostHit};

use super::core::Edge;
use super::upstream;
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

/// Finds the service of `host` (lower case, no port) and one of its endpoints in this node's region. Writes the
/// service's id to `service`.
///
/// # Errors
/// `UnknownHost` and `Tombstoned`, `NoHealthyEndpoints`.
pub(super) fn find(
    edge: &Edge,
    host: &[u8],
    wanted: Wanted,
    service: &mut String,
) -> Result<SocketAddr, Reason> {
    let view = edge.view();
    let owner = match view.host(host) {
        Some(HostHit::Service(owner)) => owner,
        Some(HostHit::Tombstone { .. }) => return Err(Reason::Tombstoned),
        None => {
            edge.metrics.table_lookups_missed.inc();
            return Err(Reason::UnknownHost);
        }
    };
    service.clear();
    service.push_str(owner.id());
    let candidates = Candidates { edge, service, endpoints: owner.endpoints(view.local()) };
    let found = match wanted {
        Wanted::Any => candidates.best(None).or_else(|| candidates.least_bad(None)),
        Wanted::Rather(tried) => {
            let others = candidates.best(Some(tried)).or_else(|| candidates.least_bad(Some(tried)));
            others.or_else(|| candidates.least_bad(None))
        }
        Wanted::Only(tried) => candidates.best(Some(tried)),
    };
    found.ok_or(Reason::NoHealthyEndpoints)
}

/// The endpoints of a service in this node's region.
struct Candidates<'a> {
    edge: &'a Edge,
    service: &'a str,
    endpoints: Endpoints<'a>,
}

impl Candidates<'_> {
    fn address(&self, at: usize, except: Option<SocketAddr>) -> Option<SocketAddr> {
        let endpoint = self.endpoints.get(at)?;
        (endpoint.state == EndpointState::Healthy && Some(endpoint.address) != except)
            .then_some(endpoint.address)
    }

    /// The less loaded of two that serve as far as this core knows. Those that have failed are probed when it is time.
    fn best(&self, except: Option<SocketAddr>) -> Option<SocketAddr> {
        let Candidates { edge, service, endpoints } = self;
        let load = |at| {
            let address = self.address(at, except)?;
            match edge.pool.outlook(address, edge.core.now()) {
                (Outlook::Good, load) => Some(load),
                (Outlook::Bad, _) => None,
                (Outlook::Due, _) => {
                    upstream::probe(edge, address, &edge.settings().of_service(service).timeouts);
                    None
                }
            }
        };
        let at = two_choices(endpoints.len(), |n| fastrand::usize(..n), load)?;
        self.address(at, except)
    }

    /// The one that should serve again soonest, where none serves: an attempt is better than none.
    fn least_bad(&self, except: Option<SocketAddr>) -> Option<SocketAddr> {
        let Candidates { edge, endpoints, .. } = self;
        let all = (0..endpoints.len()).filter_map(|at| self.address(at, except));
        let least = all.min_by_key(|address| edge.pool.badness(*address, edge.core.now()))?;
        edge.metrics.upstream_all_bad.inc();
        Some(least)
    }
}
