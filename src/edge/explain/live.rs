//! What a core does with a request now, and what it has with the endpoints.

use std::net::SocketAddr;

use super::told::{Explanation, Live};
use super::{Ask, explain_with};
use crate::config::UpstreamLimits;
use crate::edge::core::Edge;
use crate::edge::upstream;
use crate::pick::Outlook;
use crate::runtime::millis;

/// By the table and settings that the core serves from at this moment. Looks only: what a request would set going is not.
pub(in crate::edge) fn on_core(edge: &Edge, ask: &Ask) -> Explanation {
    let known = |service: &str, address: SocketAddr| {
        let figures = edge.pool.figures(service, address, edge.core.now());
        Some(Live {
            core: edge.core.number(),
            in_flight: figures.in_flight,
            connections_kept: figures.kept,
            failures: figures.failures,
            left_alone_ms: millis(figures.left_alone),
            is_last: figures.outlook != Outlook::Good,
        })
    };
    let mut told = explain_with(&edge.view(), &edge.settings(), ask, &known);
    told.cores = vec![edge.core.number()];
    let service = told.service.as_ref().map(|service| edge.settings().of_service(&service.id));
    for setting in &mut told.settings {
        let effective = service.and_then(|service| share(edge, &setting.name, &service.upstream));
        setting.effective = effective.map(|most| most.to_string()).filter(|most| *most != setting.value);
    }
    told
}

/// What a service may have of this core, whose descriptors are shared out.
fn share(edge: &Edge, setting: &str, most: &UpstreamLimits) -> Option<usize> {
    let most = match setting {
        "limits.upstream_connections" => most.connections,
        "limits.upstream_requests" => return Some(upstream::most_in_flight(&edge.core, most)),
        "limits.upstream_waiting" => most.waiting,
        _ => return None,
    };
    Some(upstream::share(&edge.core, most))
}
