//! Heads: parsed as they arrive, written as they go on.
use std::hint::black_box;

use ringway::proto::date::HttpDate;
use ringway::proto::http1::{
    Method, Parsed, RequestEdits, RequestHead, ResponseEdits, ResponseHead, Scheme, Version,
    write_request_head, write_response_head,
};
use ringway::proto::trace::{IdSource, TraceContext};

use super::timing::Case;
use crate::client::request;

const HOST: &str = "shop-000001.tenants.example";

/// The comparison's answer: 8 fields.
const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\n\
    Server: origin\r\n\
    Date: Sun, 29 Nov 2026 12:00:00 GMT\r\n\
    Content-Type: application/octet-stream\r\n\
    Content-Length: 1024\r\n\
    Connection: keep-alive\r\n\
    Cache-Control: private, max-age=60\r\n\
    X-Origin: origin-1\r\n\
    Vary: Accept-Encoding\r\n\r\n";

pub(super) fn cases() -> Vec<Case> {
    vec![parse_request(), write_request(), parse_response(), write_response(), request_ids()]
}

fn parse_request() -> Case {
    let (mut head, octets) = (RequestHead::new(), request(HOST));
    Case::new("parse request head", format!("{} octets, 12 fields", octets.len()), move |count| {
        let whole = (0..count)
            .filter(|_| matches!(head.parse(black_box(octets.as_bytes())), Ok(Parsed::Complete { .. })));
        all(count, whole.count())
    })
}

fn parse_response() -> Case {
    let mut head = ResponseHead::new();
    Case::new("parse response head", format!("{} octets, 8 fields", RESPONSE.len()), move |count| {
        let whole = (0..count)
            .filter(|_| matches!(head.parse(black_box(RESPONSE), Method::Get), Ok(Parsed::Complete { .. })));
        all(count, whole.count())
    })
}

/// A parse that fails is fast and worth nothing.
fn all(count: u64, done: usize) -> u64 {
    assert_eq!(count, done as u64, "every parse is complete");
    count
}

fn write_request() -> Case {
    let (mut head, octets) = (RequestHead::new(), request(HOST));
    let parsed = head.parse(octets.as_bytes());
    assert!(matches!(parsed, Ok(Parsed::Complete { .. })), "the request is well-formed: {parsed:?}");
    let mut ids = IdSource::new(1, 2, 3);
    let (request_id, trace) = (ids.request_id(), TraceContext::begin(None, true, &mut ids));
    let mut out = Vec::new();
    Case::new("write request head", "edited, with the added fields", move |count| {
        let edits = RequestEdits {
            request_id: &request_id,
            trace: &trace,
            attempt: 1,
            client_address: b"127.0.0.1",
            scheme: Scheme::Http,
            peer_is_trusted: false,
            path: None,
            upgrade: false,
        };
        (0..count).fold(0, |sum, _| {
            out.clear();
            write_request_head(&mut out, black_box(&head), black_box(octets.as_bytes()), &edits);
            sum + out.len() as u64
        })
    })
}

fn write_response() -> Case {
    let mut head = ResponseHead::new();
    let parsed = head.parse(RESPONSE, Method::Get);
    assert!(matches!(parsed, Ok(Parsed::Complete { .. })), "the response is well-formed: {parsed:?}");
    let mut ids = IdSource::new(1, 2, 3);
    let (request_id, date) = (ids.request_id(), HttpDate::from_unix_seconds(1_795_000_000));
    let mut out = Vec::new();
    Case::new("write response head", "edited", move |count| {
        let edits = ResponseEdits {
            request_id: &request_id,
            date: &date,
            client_version: Version::Http11,
            keep_alive: true,
            upgrade: false,
        };
        (0..count).fold(0, |octets, _| {
            out.clear();
            let delivery = write_response_head(&mut out, black_box(&head), black_box(RESPONSE), &edits);
            octets + out.len() as u64 + u64::from(delivery.keep_alive)
        })
    })
}

fn request_ids() -> Case {
    let mut ids = IdSource::new(1, 2, 3);
    Case::new("request id and trace", "", move |count| {
        (0..count).fold(0, |sum, _| {
            let (id, trace) = (ids.request_id(), TraceContext::begin(None, true, &mut ids));
            sum + u64::from(black_box(id).as_octets()[31])
                + u64::from(black_box(trace).current().as_octets()[35])
        })
    })
}
