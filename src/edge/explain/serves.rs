//! What serves a host name: what is told of a request for its root, less the request.

use serde::Serialize;

use super::told::{Endpoint, Explanation, Service, Setting, Stored, Verdict};
use crate::proto::problem::TYPE_BASE;

/// As `GET /v1/routes` tells it; the parts are those of an [`Explanation`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Serves {
    /// As asked.
    host: String,
    /// Where the table has the host name, or the wildcard that answers for it.
    from: Option<Stored>,
    wildcard: Option<String>,
    service: Service,
    /// What becomes of `GET /`.
    answer: Verdict,
    /// What becomes of paths: `normalize`, `strict` or `raw`.
    paths: Option<String>,
    endpoints: Vec<Endpoint>,
    settings: Vec<Setting>,
    cores: Vec<u16>,
    differing: Vec<u16>,
}

/// Why nothing serves it, as a problem document (RFC 9457) for operators.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ServesNot {
    #[serde(rename = "type")]
    kind: String,
    title: String,
    pub status: u16,
    detail: String,
    /// As in metrics and log.
    reason: String,
    host: String,
    /// Where the table has its tombstone, or what is left of its mapping.
    from: Option<Stored>,
}

/// # Errors
/// No service has the host name, or it is none.
pub fn serves(told: Explanation) -> Result<Serves, Box<ServesNot>> {
    let Explanation {
        request,
        verdict,
        host: from,
        wildcard,
        service,
        path,
        endpoints,
        settings,
        cores,
        differing,
    } = told;
    let host = request.host;
    match (service, verdict) {
        (Some(service), answer) => {
            let paths = path.map(|path| path.paths);
            Ok(Serves { host, from, wildcard, service, answer, paths, endpoints, settings, cores, differing })
        }
        (None, Verdict::Problem { status, problem, title, reason, meaning, detail, .. }) => {
            let kind = format!("{TYPE_BASE}{problem}");
            let detail = detail.unwrap_or(meaning);
            Err(Box::new(ServesNot { kind, title, status, detail, reason, host, from }))
        }
        // A request for the root is never for the router itself.
        (None, Verdict::Forwarded { how: what } | Verdict::Answered { what, .. }) => {
            Err(Box::new(ServesNot {
                kind: format!("{TYPE_BASE}unknown-host"),
                title: "No service".to_owned(),
                status: 404,
                detail: what,
                reason: "unknown_host".to_owned(),
                host,
                from,
            }))
        }
    }
}
