//! The request head as it goes to the origin: the client's octets, less what concerns only its own
//! connection, plus what the gateway vouches for. Untouched lines that lie together are copied together.

use super::field::{Field, Known};
use super::framing::{Framing, Version, is_plain_length, write_length};
use super::request::RequestHead;
use crate::proto::trace::{RequestId, TraceContext};

/// What this router calls itself in Via (RFC 9110, 7.6.3): all of them the same, so that nobody can tell them apart.
pub(super) const PSEUDONYM: &[u8] = b"ringway";

/// The scheme under which the client asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    Http,
    Https,
}

/// What the gateway puts into a request.
#[derive(Debug, Clone, Copy)]
pub struct RequestEdits<'a> {
    pub request_id: &'a RequestId,
    pub trace: &'a TraceContext,
    /// 1 for the first try; one digit.
    pub attempt: u8,
    /// The client's address as text.
    pub client_address: &'a [u8],
    pub scheme: Scheme,
    /// The peer is one of `trusted_proxies`: its X-Forwarded-* and Forwarded go on, with its address
    /// appended.
    pub peer_is_trusted: bool,
    /// Goes on instead of the path that the client sent.
    pub path: Option<&'a [u8]>,
    /// Pass on the client's wish for another protocol, where it has one.
    pub upgrade: bool,
}

/// Octets that the gateway adds at most, without those that copy the client's.
const ADDED_OCTETS: usize = 512;

/// Appends the head to send to the origin, as HTTP/1.1 with the body framed as `head.framing()` says.
/// `octets` is what `head` was parsed from.
///
/// Removed: what RFC 9110, 7.6.1 names or `Connection` nominates, Proxy, X-Verified-*, X-Attempt, X-Request-Id,
/// traceparent, and from peers not trusted X-Forwarded-* and Forwarded. `Via` is added to requests alone
/// (7.6.3 asks no more of a gateway).
pub fn write_request_head(out: &mut Vec<u8>, head: &RequestHead, octets: &[u8], edits: &RequestEdits<'_>) {
    out.reserve(head.whole().end() - head.whole().start() + ADDED_OCTETS);
    let upgrade = edits.upgrade && head.asks_upgrade();
    let mut run = first_lines(out, head, octets, edits.path);
    let fields = head.fields().as_slice();
    let end = head.whole().end() - 2;
    for (at, field) in fields.iter().enumerate() {
        if is_kept(field, head, octets, edits, upgrade) {
            continue;
        }
        out.extend_from_slice(octets.get(run..field.line_start()).unwrap_or_default());
        run = fields.get(at + 1).map_or(end, Field::line_start);
        if field.known() == Known::ContentLength {
            write_length(out, field.value(octets));
        }
    }
    out.extend_from_slice(octets.get(run..end).unwrap_or_default());
    add_hop(out, head, upgrade);
    add_forwarding(out, head, octets, edits);
    add_identity(out, head, edits);
}

/// Writes what must stand before the fields, unless it can be copied along with them; tells where the copy
/// begins.
fn first_lines(out: &mut Vec<u8>, head: &RequestHead, octets: &[u8], path: Option<&[u8]>) -> usize {
    if head.version() == Version::Http11 && !head.has_absolute_target() && path.is_none() {
        return head.whole().start();
    }
    out.extend_from_slice(head.method_text(octets));
    out.push(b' ');
    out.extend_from_slice(path.unwrap_or_else(|| head.path(octets)));
    if let Some(query) = head.query(octets) {
        out.push(b'?');
        out.extend_from_slice(query);
    }
    out.extend_from_slice(b" HTTP/1.1\r\n");
    if head.has_absolute_target() || head.fields().find(Known::Host).is_none() {
        out.extend_from_slice(b"Host: ");
        out.extend_from_slice(head.authority(octets));
        out.extend_from_slice(b"\r\n");
    }
    head.fields().as_slice().first().map_or(head.whole().end() - 2, Field::line_start)
}

#[inline]
fn is_kept(
    field: &Field,
    head: &RequestHead,
    octets: &[u8],
    edits: &RequestEdits<'_>,
    upgrade: bool,
) -> bool {
    let kept = match field.known() {
        Known::Other | Known::Date | Known::Via => true,
        // Without these the origin would read another message; they cannot be nominated.
        Known::ContentLength => return is_plain_length(field, octets),
        Known::Host => return !head.has_absolute_target(),
        Known::Expect => head.version() == Version::Http11,
        // One less goes on.
        Known::MaxForwards => head.max_forwards().is_none(),
        Known::Upgrade => return upgrade,
        Known::Tracestate => edits.trace.continues_inbound(),
        Known::Forwarded | Known::XForwardedHost | Known::XForwardedProto | Known::XForwardedOther => {
            edits.peer_is_trusted
        }
        Known::Connection
        | Known::Http2Settings
        | Known::KeepAlive
        | Known::Lookalike
        | Known::Proxy
        | Known::ProxyConnection
        | Known::Te
        | Known::Traceparent
        | Known::TransferEncoding
        | Known::XAttempt
        | Known::XForwardedFor
        | Known::XForwardedLookalike
        | Known::XRequestId
        | Known::XVerified => false,
    };
    kept && !head.nominates(field, octets)
}

fn add_hop(out: &mut Vec<u8>, head: &RequestHead, upgrade: bool) {
    if head.framing() == Framing::Chunked {
        out.extend_from_slice(b"Transfer-Encoding: chunked\r\n");
    }
    if let Some(left) = head.max_forwards() {
        out.extend_from_slice(b"Max-Forwards: ");
        out.extend_from_slice(left.saturating_sub(1).to_string().as_bytes());
        out.extend_from_slice(b"\r\n");
    }
    // Trailers are passed on, so that the client's word holds for this hop as well.
    match (upgrade, head.takes_trailers()) {
        (false, false) => {}
        (true, false) => out.extend_from_slice(b"Connection: upgrade\r\n"),
        (false, true) => out.extend_from_slice(b"TE: trailers\r\nConnection: TE\r\n"),
        (true, true) => out.extend_from_slice(b"TE: trailers\r\nConnection: upgrade, TE\r\n"),
    }
}

/// X-Forwarded-For, -Host and -Proto: a trusted peer's are kept or continued, others' replaced.
fn add_forwarding(out: &mut Vec<u8>, head: &RequestHead, octets: &[u8], edits: &RequestEdits<'_>) {
    let from_peer = if edits.peer_is_trusted { head.fields().as_slice() } else { &[] };
    let from_peer = |known: Known| {
        from_peer.iter().filter(move |field| field.known() == known && !head.nominates(field, octets))
    };
    out.extend_from_slice(b"X-Forwarded-For: ");
    for said in
        from_peer(Known::XForwardedFor).map(|field| field.value(octets)).filter(|said| !said.is_empty())
    {
        out.extend_from_slice(said);
        out.extend_from_slice(b", ");
    }
    out.extend_from_slice(edits.client_address);
    if from_peer(Known::XForwardedHost).next().is_none() {
        out.extend_from_slice(b"\r\nX-Forwarded-Host: ");
        out.extend_from_slice(head.authority(octets));
    }
    if from_peer(Known::XForwardedProto).next().is_none() {
        out.extend_from_slice(match edits.scheme {
            Scheme::Http => b"\r\nX-Forwarded-Proto: http".as_slice(),
            Scheme::Https => b"\r\nX-Forwarded-Proto: https",
        });
    }
}

/// X-Request-Id, traceparent, X-Attempt, Via and the empty line that ends the head.
fn add_identity(out: &mut Vec<u8>, head: &RequestHead, edits: &RequestEdits<'_>) {
    out.extend_from_slice(b"\r\nX-Request-Id: ");
    out.extend_from_slice(edits.request_id.as_octets());
    out.extend_from_slice(b"\r\ntraceparent: ");
    out.extend_from_slice(edits.trace.current().as_octets());
    out.extend_from_slice(b"\r\nX-Attempt: ");
    out.push(b'0' + edits.attempt.min(9));
    out.extend_from_slice(match head.version() {
        Version::Http10 => b"\r\nVia: 1.0 ",
        Version::Http11 => b"\r\nVia: 1.1 ",
    });
    out.extend_from_slice(PSEUDONYM);
    out.extend_from_slice(b"\r\n\r\n");
}
