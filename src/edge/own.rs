//! What the router answers itself, whatever the host name.

use super::client::Client;
use super::core::Edge;
use super::failure::Failure;
use super::log::Record;
use super::request::{Identity, Scratch};
use crate::observe::Reason;
use crate::proto::http1::Method;
use crate::proto::problem::ALLOW;

/// Where the load balancer in front asks whether the router is well.
const HEALTH_PATH: &[u8] = b"/.well-known/gateway-health";

/// Field lines and content of an answer.
type Answer = (&'static str, &'static str);

const HEALTHY: Answer = ("Content-Type: text/plain\r\n", "ok\n");
/// To an OPTIONS request that may be forwarded no further (RFC 9110, 7.6.2 and 9.3.7).
const OPTIONS: Answer = (ALLOW, "");

/// Answers the request if it is for the router; then true if the connection may carry another.
///
/// # Errors
/// It is for the router, but not from whom may ask, or not now.
pub(super) fn answer(
    edge: &Edge,
    client: &Client,
    scratch: &Scratch,
    identity: &Identity,
    record: &Record,
) -> Option<Result<bool, Failure>> {
    let answer = match asked(scratch)? {
        Own::Health => health(client, scratch),
        Own::Options => Ok(OPTIONS),
    };
    Some(answer.map(|answer| send(edge, client, scratch, identity, record, answer)))
}

/// What is asked of the router itself.
pub(super) enum Own {
    Health,
    Options,
}

/// What the request asks of the router itself, if anything.
pub(super) fn asked(scratch: &Scratch) -> Option<Own> {
    if scratch.path.matched(scratch.head.path(&scratch.octets)) == HEALTH_PATH {
        return Some(Own::Health);
    }
    (scratch.head.max_forwards() == Some(0)).then_some(Own::Options)
}

/// 200 while new requests are welcome, 503 while draining; to internal peers alone.
fn health(client: &Client, scratch: &Scratch) -> Result<Answer, Failure> {
    if !client.is_internal() || scratch.has_body() {
        return Err(Reason::UnknownHost.into());
    }
    if client.door.is_closed() {
        return Err(Reason::Draining.into());
    }
    Ok(HEALTHY)
}

fn send(
    edge: &Edge,
    client: &Client,
    scratch: &Scratch,
    identity: &Identity,
    record: &Record,
    (fields, content): Answer,
) -> bool {
    // A body is not read.
    let goes_on = scratch.head.keep_alive() && !scratch.has_body() && !client.door.is_closed();
    let mut out = edge.core.head_buffer();
    out.extend_from_slice(b"HTTP/1.1 200 OK\r\nContent-Length: ");
    out.extend_from_slice(content.len().to_string().as_bytes());
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(fields.as_bytes());
    out.extend_from_slice(b"X-Request-Id: ");
    out.extend_from_slice(identity.request_id.as_octets());
    out.extend_from_slice(b"\r\nDate: ");
    out.extend_from_slice(edge.date().as_octets());
    out.extend_from_slice(if goes_on { b"\r\n\r\n".as_slice() } else { b"\r\nConnection: close\r\n\r\n" });
    if scratch.head.method() != Method::Head {
        out.extend_from_slice(content.as_bytes());
    }
    record.sent(out.len());
    record.answered(200);
    client.stream.send(out);
    goes_on
}
