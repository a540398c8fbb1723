//! Whole requests, head and body, as an origin gets them: a second parser, no kin of the router's, must find in
//! them the very requests that the client sent, and nothing that should have stopped on the way.

use crate::message::{self, Kind, Message};
use crate::proto::http1::{
    BodyReader, BodyStep, Framing, Parsed, RequestEdits, RequestHead, Scheme, write_chunk, write_last_chunk,
    write_request_head,
};
use crate::proto::path::NormalPath;
use crate::proto::trace::{IdSource, TraceContext};

pub fn check(input: &[u8]) {
    let mut rest = input;
    // Pipelined requests, as far as they are sound.
    while let Some((sent, used)) = forward(rest) {
        let (got, taken) = message::read(Kind::Request, &sent, false)
            .expect("sound to the second parser")
            .expect("a whole head");
        assert!(got.whole && taken == sent.len(), "not one request: {:?}", sent.escape_ascii().to_string());
        stripped(&got);
        // Of what the client sent, it may take less, but nothing else.
        if let Ok(Some((meant, taken))) = message::read(Kind::Request, &rest[..used], false) {
            assert!(meant.whole && taken == used);
            agree(&meant, &got);
        }
        rest = &rest[used..];
    }
}

/// What goes to the origin for the first request, and how many octets that request took; `None` if it is refused
/// or not whole.
fn forward(octets: &[u8]) -> Option<(Vec<u8>, usize)> {
    let mut head = RequestHead::new();
    let Ok(Parsed::Complete { len }) = head.parse(octets) else { return None };
    let (head_octets, mut rest) = octets.split_at(len);
    let mut path = NormalPath::default();
    path.read(head.path(head_octets));
    // A request that names no host has no service.
    if path.error().is_some() || head.host().is_empty() || head.max_forwards() == Some(0) {
        return None;
    }
    let mut ids = IdSource::new(1, 2, 3);
    let edits = RequestEdits {
        request_id: &ids.request_id(),
        trace: &TraceContext::begin(head.traceparent(head_octets), true, &mut ids),
        attempt: 1,
        client_address: b"192.0.2.1",
        scheme: Scheme::Http,
        peer_is_trusted: false,
        path: path.resolved(),
        upgrade: false,
    };
    let mut out = Vec::new();
    write_request_head(&mut out, &head, head_octets, &edits);
    let mut body = BodyReader::new(head.framing());
    loop {
        match body.next(rest).ok()? {
            BodyStep::NeedMore => return None,
            BodyStep::Data(data) => {
                match head.framing() {
                    Framing::Chunked => write_chunk(&mut out, &rest[data.clone()]),
                    _ => out.extend_from_slice(&rest[data.clone()]),
                }
                rest = &rest[data.end..];
            }
            BodyStep::End { used } => {
                if head.framing() == Framing::Chunked {
                    write_last_chunk(&mut out, body.trailers(), &head.nominated(head_octets));
                }
                return Some((out, octets.len() - rest.len() + used));
            }
        }
    }
}

/// Nothing that stops here has passed, and what the router alone writes is there once.
fn stripped(got: &Message) {
    let folded = |name: &str| name.to_ascii_lowercase().replace('_', "-");
    let count = |wanted: &str| got.fields.iter().filter(|(name, _)| folded(name) == wanted).count();
    for name in [
        "keep-alive",
        "proxy",
        "proxy-connection",
        "upgrade",
        "http2-settings",
        "forwarded",
        "x-forwarded-port",
    ] {
        assert!(got.all(name).is_empty(), "{name} passed");
    }
    for name in ["host", "traceparent", "via"] {
        assert!(!got.all(name).is_empty(), "{name} is missing");
    }
    for name in ["x-request-id", "x-attempt", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto"] {
        assert_eq!(count(name), 1, "{name}");
    }
    assert_eq!((got.all("x-attempt"), got.all("x-forwarded-for")), (vec!["1"], vec!["192.0.2.1"]));
    assert!(matches!((&got.all("connection")[..], &got.all("te")[..]), ([], []) | (["TE"], ["trailers"])));
    for (name, _) in got.fields.iter().chain(&got.trailers) {
        assert!(!folded(name).starts_with("x-verified-"), "{name} passed");
    }
    for (name, _) in &got.trailers {
        for never in
            ["host", "content-length", "transfer-encoding", "connection", "x-attempt", "x-request-id"]
        {
            assert_ne!(folded(name), never, "as a trailer");
        }
    }
}

/// Both are the same request: method, target, host, content, and every field that the router does not touch.
fn agree(meant: &Message, got: &Message) {
    let method = |message: &Message| message.start.split(' ').next().unwrap_or_default().to_owned();
    assert_eq!((method(meant), &meant.body), (method(got), &got.body));
    // The same length, without the zeros that some take for the mark of an octal number.
    let lengths =
        meant.all("content-length").into_iter().map(|length| match length.trim_start_matches('0') {
            "" => "0",
            digits => digits,
        });
    assert_eq!(lengths.collect::<Vec<_>>(), got.all("content-length"));
    let nominated: Vec<String> =
        meant.all("connection").iter().flat_map(|value| value.split(',')).map(low).collect();
    let passes = |name: &String| !is_touched(name) && !nominated.contains(&low(name));
    let untouched = |message: &Message| -> Vec<(String, String)> {
        message.fields.iter().filter(|(name, _)| passes(name)).cloned().collect()
    };
    assert_eq!(untouched(meant), untouched(got));
    assert!(got.trailers.iter().all(|trailer| passes(&trailer.0) && meant.trailers.contains(trailer)));
    if meant.target().starts_with('/') {
        assert_eq!((resolved(meant.target()), meant.all("host")), (got.target().to_owned(), got.all("host")));
    }
    if method(meant) == "OPTIONS"
        && let Some(left) = meant.all("max-forwards").first()
    {
        let one_less = left.parse::<u64>().unwrap_or(u64::MAX) - 1;
        assert_eq!(got.all("max-forwards"), [one_less.to_string()]);
    }
}

/// The target as it should go on.
fn resolved(target: &str) -> String {
    let (path, query) = target.split_at(target.find('?').unwrap_or(target.len()));
    let mut normal = NormalPath::default();
    normal.read(path.as_bytes());
    match normal.resolved() {
        Some(path) => [&String::from_utf8_lossy(path), query].concat(),
        None => target.to_owned(),
    }
}

/// Whether the router takes fields of this name out, writes them itself, or changes them.
fn is_touched(name: &str) -> bool {
    let name = low(name);
    let folded = name.replace('_', "-");
    ["x-forwarded-", "x-verified-"].iter().any(|start| folded.starts_with(start))
        || ["x-attempt", "x-request-id"].contains(&folded.as_str())
        || [
            "connection",
            "content-length",
            "expect",
            "forwarded",
            "host",
            "http2-settings",
            "keep-alive",
            "max-forwards",
            "proxy",
            "proxy-connection",
            "te",
            "traceparent",
            "tracestate",
            "transfer-encoding",
            "upgrade",
            "via",
        ]
        .contains(&name.as_str())
}

fn low(name: impl AsRef<str>) -> String {
    name.as_ref().trim_matches([' ', '\t']).to_ascii_lowercase()
}
