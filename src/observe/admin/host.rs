//! By which names the admin listener may be asked.

use axum::extract::{Request, State};
use axum::http::header::HOST;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, StatusCode, Version};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use std::net::IpAddr;

use super::routes::json_answer;

/// Whether a listener is for its own machine alone.
#[derive(Debug, Clone, Copy)]
pub(super) struct IsLoopback(pub(super) bool);

/// Refuses requests that name no host (RFC 9112, 3.2), and those to the loopback by a name of the outside: a web page whose name
/// was made to mean 127.0.0.1 could otherwise read what is answered here to its reader.
pub(super) async fn check(
    State(IsLoopback(is_loopback)): State<IsLoopback>,
    request: Request,
    next: Next,
) -> Response {
    match judge(request.headers(), request.version(), is_loopback) {
        Ok(()) => next.run(request).await,
        Err((status, why)) => json_answer(status, &why).into_response(),
    }
}

fn judge(fields: &HeaderMap, version: Version, is_loopback: bool) -> Result<(), (StatusCode, Value)> {
    let mut hosts = fields.get_all(HOST).iter();
    let host = match (hosts.next(), hosts.next()) {
        (None, _) if version < Version::HTTP_11 => return Ok(()),
        (Some(host), None) => Authority::try_from(host.as_bytes()).ok(),
        _ => None,
    };
    let Some(host) = host else {
        let why = json!({ "error": "the request must have one Host field, with a host name or address" });
        return Err((StatusCode::BAD_REQUEST, why));
    };
    match is_loopback && !is_own(host.host()) {
        false => Ok(()),
        true => {
            let why = format!(
                "ask by address or as localhost, not as {}: this listener is for its machine",
                host.host()
            );
            Err((StatusCode::MISDIRECTED_REQUEST, json!({ "error": why })))
        }
    }
}

/// No name that a stranger can make mean this machine.
fn is_own(host: &str) -> bool {
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let name = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    address.parse::<IpAddr>().is_ok() || name == "localhost" || name.ends_with(".localhost")
}
