//! A request head: split, accepted or refused, rewritten and read again.

use super::common::{assert_head, count, prefix_ends, step_and_octets};
use super::second;
use crate::proto::http1::{Parsed, RequestEdits, RequestHead, Scheme, Version, write_request_head};
use crate::proto::trace::{IdSource, TraceContext};

pub fn check(input: &[u8]) {
    let (step, octets) = step_and_octets(input);
    let mut head = RequestHead::new();
    let whole = head.parse(octets);
    let mut pieces = RequestHead::new();
    let verdict = prefix_ends(octets.len(), step)
        .map(|end| pieces.parse(&octets[..end]))
        .find(|verdict| *verdict != Ok(Parsed::Partial))
        .unwrap_or(Ok(Parsed::Partial));
    assert_eq!(verdict, whole);
    second::request(octets, &whole, &head);
    if let Ok(Parsed::Complete { len }) = whole {
        accepted(&head, &octets[..len]);
    }
}

fn accepted(head: &RequestHead, octets: &[u8]) {
    assert_head(octets, head.fields());
    assert!(
        head.host().iter().all(
            |octet| matches!(octet, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b':' | b'[' | b']')
        )
    );
    assert!(!head.host().is_empty() || head.version() == Version::Http10);
    let path = head.path(octets);
    assert!(path.starts_with(b"/") || path == b"*");
    for peer_is_trusted in [false, true] {
        rewritten(head, octets, peer_is_trusted);
    }
}

fn rewritten(head: &RequestHead, octets: &[u8], peer_is_trusted: bool) {
    let mut ids = IdSource::new(1, 2, 3);
    let request_id = ids.request_id();
    let trace = TraceContext::begin(head.traceparent(octets), true, &mut ids);
    let edits = RequestEdits {
        request_id: &request_id,
        trace: &trace,
        attempt: 1,
        client_address: b"192.0.2.1",
        scheme: Scheme::Http,
        peer_is_trusted,
        path: None,
        upgrade: true,
    };
    let mut out = Vec::new();
    write_request_head(&mut out, head, octets, &edits);
    let mut again = RequestHead::new();
    match again.parse(&out) {
        Ok(Parsed::Complete { len }) => assert_eq!(len, out.len()),
        // What is added may take a head beyond its limits, and a request without a host has none after
        // either.
        other => {
            use crate::proto::http1::HeadError::{HostMalformed, TooLarge, TooManyFields};
            assert!(
                matches!(other, Err(TooLarge | TooManyFields))
                    || (other == Err(HostMalformed) && head.host().is_empty())
            );
            return;
        }
    }
    assert_head(&out, again.fields());
    assert_eq!(again.version(), Version::Http11);
    assert_eq!((again.method_text(&out), again.host()), (head.method_text(octets), head.host()));
    assert_eq!((again.path(&out), again.query(&out)), (head.path(octets), head.query(octets)));
    assert_eq!((again.framing(), again.asks_upgrade()), (head.framing(), head.asks_upgrade()));
    let fields = again.fields();
    for name in ["host", "x-request-id", "traceparent", "x-attempt", "x-forwarded-for"] {
        assert_eq!(count(fields, &out, name), 1, "{name}");
    }
    for name in ["keep-alive", "proxy", "proxy-connection", "http2-settings", "x-verified-subject"] {
        assert_eq!(count(fields, &out, name), 0, "{name}");
    }
    assert_eq!(count(fields, &out, "te"), usize::from(head.takes_trailers()));
    assert_eq!(again.takes_trailers(), head.takes_trailers());
    // Not to be told from X-Forwarded-, to CGI.
    let forged = |name: &[u8]| name.len() > 12 && name[..12].eq_ignore_ascii_case(b"x_forwarded_");
    assert!(!fields.as_slice().iter().any(|field| forged(field.name(&out))));
    if !peer_is_trusted {
        assert_eq!((count(fields, &out, "x-forwarded-host"), count(fields, &out, "forwarded")), (1, 0));
    }
}
