//! The response head as it goes to the client, and how its body must be sent.

use super::field::{Field, Known};
use super::framing::{Framing, Version, is_plain_length, write_length};
use super::response::ResponseHead;
use crate::proto::date::HttpDate;
use crate::proto::trace::RequestId;

/// What the gateway puts into a response.
#[derive(Debug, Clone, Copy)]
pub struct ResponseEdits<'a> {
    pub request_id: &'a RequestId,
    /// For an origin that gave no Date (RFC 9110, 6.6.1).
    pub date: &'a HttpDate,
    /// Of the request.
    pub client_version: Version,
    /// The client and we mean to go on after this response.
    pub keep_alive: bool,
    /// The client asked for another protocol and a 101 is what it may get.
    pub upgrade: bool,
}

/// How the rest of a response goes to the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivery {
    /// `Chunked` where the origin's body ends with its connection or is chunked and the client knows the
    /// coding.
    pub framing: Framing,
    /// Whether the client's connection outlasts the response.
    pub keep_alive: bool,
}

impl Delivery {
    fn of(head: &ResponseHead, edits: &ResponseEdits<'_>) -> Self {
        let framing = match (head.framing(), edits.client_version) {
            (Framing::Chunked | Framing::UntilClose, Version::Http11) => Framing::Chunked,
            (Framing::Chunked | Framing::UntilClose, Version::Http10) => Framing::UntilClose,
            (framing, _) => framing,
        };
        Self { framing, keep_alive: edits.keep_alive && framing != Framing::UntilClose }
    }
}

/// Octets that the gateway adds at most.
const ADDED_OCTETS: usize = 192;

/// Appends the head to send to the client, and tells how to send the body. `octets` is what `head` was parsed
/// from. Interim heads are for HTTP/1.1 clients alone (RFC 9110, 15.2) and get nothing added.
pub fn write_response_head(
    out: &mut Vec<u8>,
    head: &ResponseHead,
    octets: &[u8],
    edits: &ResponseEdits<'_>,
) -> Delivery {
    let delivery = Delivery::of(head, edits);
    let upgrade = edits.upgrade && head.status() == 101;
    out.reserve(head.whole().end() + ADDED_OCTETS);
    let mut run = status_line(out, head, octets);
    let fields = head.fields().as_slice();
    let end = head.whole().end() - 2;
    let mut dated = false;
    for (at, field) in fields.iter().enumerate() {
        if is_kept(field, head, octets, upgrade) {
            dated |= field.known() == Known::Date;
            continue;
        }
        out.extend_from_slice(octets.get(run..field.line_start()).unwrap_or_default());
        run = fields.get(at + 1).map_or(end, Field::line_start);
        if field.known() == Known::ContentLength && may_tell_length(head) {
            write_length(out, field.value(octets));
        }
    }
    out.extend_from_slice(octets.get(run..end).unwrap_or_default());
    if upgrade {
        out.extend_from_slice(b"Connection: upgrade\r\n");
    }
    if head.status() >= 200 {
        add(out, edits, delivery, dated);
    }
    out.extend_from_slice(b"\r\n");
    delivery
}

/// Writes the status line unless it can be copied along with the fields; tells where the copy begins.
fn status_line(out: &mut Vec<u8>, head: &ResponseHead, octets: &[u8]) -> usize {
    const CODE_END: usize = "HTTP/1.1 200".len();
    let has_space = octets.get(CODE_END) == Some(&b' ');
    if head.version() == Version::Http11 && has_space {
        return 0;
    }
    out.extend_from_slice(b"HTTP/1.1");
    out.extend_from_slice(octets.get("HTTP/1.1".len()..CODE_END).unwrap_or_default());
    if !has_space {
        out.push(b' ');
    }
    CODE_END
}

/// RFC 9110, 8.6: never in 1xx and 204; in answers to HEAD and in 304 it tells of another message.
fn may_tell_length(head: &ResponseHead) -> bool {
    !matches!(head.status(), 100..=199 | 204)
}

#[inline]
fn is_kept(field: &Field, head: &ResponseHead, octets: &[u8], upgrade: bool) -> bool {
    let kept = match field.known() {
        Known::ContentLength => return may_tell_length(head) && is_plain_length(field, octets),
        Known::Upgrade => return upgrade,
        Known::Connection
        | Known::Http2Settings
        | Known::KeepAlive
        | Known::Lookalike
        | Known::ProxyConnection
        | Known::Te
        | Known::TransferEncoding
        | Known::XRequestId => false,
        Known::Other
        | Known::Date
        | Known::Expect
        | Known::Forwarded
        | Known::Host
        | Known::Proxy
        | Known::MaxForwards
        | Known::Traceparent
        | Known::Tracestate
        | Known::Via
        | Known::XAttempt
        | Known::XForwardedFor
        | Known::XForwardedHost
        | Known::XForwardedLookalike
        | Known::XForwardedOther
        | Known::XForwardedProto
        | Known::XVerified => true,
    };
    kept && !head.nominates(field, octets)
}

fn add(out: &mut Vec<u8>, edits: &ResponseEdits<'_>, delivery: Delivery, dated: bool) {
    if delivery.framing == Framing::Chunked {
        out.extend_from_slice(b"Transfer-Encoding: chunked\r\n");
    }
    match (delivery.keep_alive, edits.client_version) {
        (false, _) => out.extend_from_slice(b"Connection: close\r\n"),
        (true, Version::Http10) => out.extend_from_slice(b"Connection: keep-alive\r\n"),
        (true, Version::Http11) => {}
    }
    if !dated {
        out.extend_from_slice(b"Date: ");
        out.extend_from_slice(edits.date.as_octets());
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"X-Request-Id: ");
    out.extend_from_slice(edits.request_id.as_octets());
    out.extend_from_slice(b"\r\n");
}
