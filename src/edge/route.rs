//! Host name to endpoint: the tenant boundary. A request goes to the service that its host name belongs to, or nowhere.

use std::net::SocketAddr;

use ringway_state::HostHit;
use ringway_state::record::EndpointState;

use super::core::Edge;
use crate::observe::Reason;
use crate::pick::two_choices;

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
    let endpoints = owner.endpoints(view.local());
    let usable = |at: usize| {
        endpoints.get(at).filter(|endpoint| endpoint.state == EndpointState::Healthy).map(|e| e.address)
    };
    let pick = |except: Option<SocketAddr>| {
        let load =
            |at| usable(at).filter(|address| Some(*address) != except).map(|address| edge.pool.load(address));
        two_choices(endpoints.len(), |n| fastrand::usize(..n), load).and_then(usable)
    };
    let found = match wanted {
        Wanted::Any => pick(None),
        Wanted::Rather(tried) => pick(Some(tried)).or_else(|| pick(None)),
        Wanted::Only(tried) => pick(Some(tried)),
    };
    found.ok_or(Reason::NoHealthyEndpoints)
}
