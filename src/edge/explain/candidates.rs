//! The endpoints of a service, and which of them a request may go to.

use ringway_state::record::EndpointState;
use ringway_state::{ServiceRef, View};

use super::told::Endpoint;
use super::{Known, Live};
use crate::config::is_stand_in;
use crate::edge::route;
use crate::edge::settings::{Settings, Way};

/// Of a service in the node's region, in the table's order.
pub(super) struct Candidates {
    pub(super) endpoints: Vec<Endpoint>,
    /// The table has some that take requests, whether they may be asked or not.
    pub(super) any_healthy: bool,
}

impl Candidates {
    pub(super) fn of(
        view: &View,
        settings: &Settings,
        owner: ServiceRef<'_>,
        known: Known<'_>,
    ) -> Candidates {
        let all = owner.endpoints(view.local());
        let tell = |endpoint: ringway_state::record::Endpoint| {
            let way = settings.way(owner.id(), endpoint.address);
            let live = known(owner.id(), endpoint.address);
            let why = match (route::is_candidate(&endpoint), &way) {
                (false, _) => Some(format!("{}: takes no new requests", word(endpoint.state))),
                (true, Err(no_way)) => Some(format!("not allowed: {no_way}")),
                (true, Ok(_)) => live.and_then(comes_last),
            };
            Endpoint {
                address: match way {
                    Ok(Way::Socket(path)) => format!("unix:{}", path.display()),
                    Err(_) if is_stand_in(endpoint.address) => "unix:(another service's)".to_owned(),
                    _ => endpoint.address.to_string(),
                },
                name: None,
                state: word(endpoint.state).to_owned(),
                candidate: route::is_candidate(&endpoint) && way.is_ok(),
                why,
                cores: live.into_iter().collect(),
            }
        };
        Candidates {
            any_healthy: all.iter().any(|endpoint| route::is_candidate(&endpoint)),
            endpoints: all.iter().map(tell).collect(),
        }
    }

    /// How a request's endpoint is picked, as [`route::find`] does; `None` if there is none.
    pub(super) fn pick(&self) -> Option<String> {
        let candidates: Vec<&Endpoint> =
            self.endpoints.iter().filter(|endpoint| endpoint.candidate).collect();
        let is_last = |endpoint: &&&Endpoint| endpoint.cores.iter().any(|live| live.is_last);
        let good = candidates.iter().filter(|endpoint| !is_last(endpoint)).count();
        let all = candidates.len();
        let soonest =
            candidates.iter().min_by_key(|endpoint| endpoint.cores.first().map(|l| l.left_alone_ms))?;
        Some(match (all, good) {
            (1, _) => "the only candidate".to_owned(),
            (_, 0) => {
                format!("all {all} have failed of late; the one left alone for least: {}", soonest.address)
            }
            (_, 1) => format!("the only one of {all} candidates that has not failed of late"),
            (_, good) if good == all => {
                format!("of {all} candidates, the less loaded of two drawn at random")
            }
            _ => format!(
                "of the {good} candidates that have not failed of late, the less loaded of two drawn at random"
            ),
        })
    }
}

/// As in a change.
fn word(state: EndpointState) -> &'static str {
    match state {
        EndpointState::Starting => "starting",
        EndpointState::Healthy => "healthy",
        EndpointState::Draining => "draining",
        EndpointState::Dead => "dead",
    }
}

/// Why an endpoint that may be asked is asked only if no other serves.
fn comes_last(live: Live) -> Option<String> {
    if !live.is_last {
        return None;
    }
    Some(match (live.failures, live.left_alone_ms) {
        (0, _) => "a connection to it takes long, so others come first".to_owned(),
        (failures, 0) => format!("failed {failures} times in a row; it is being tried, others come first"),
        (failures, ms) => {
            format!("failed {failures} times in a row; left alone for {ms} ms, others come first")
        }
    })
}
