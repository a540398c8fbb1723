//! Rewritten heads against a plain model: a list of fields, filtered, with ours behind.

use proptest::collection::vec;
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_assert_eq, prop_oneof, proptest};
use proptest::sample::select;

use super::request;
use crate::proto::date::HttpDate;
use crate::proto::http1::{
    Delivery, Framing, Method, RequestEdits, ResponseEdits, ResponseHead, Scheme, Version,
    write_request_head, write_response_head,
};
use crate::proto::trace::{IdSource, RequestId, TraceContext};

const TRACEPARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

fn ids() -> (RequestId, IdSource) {
    let mut ids = IdSource::new(7, 8, 9);
    (ids.request_id(), ids)
}

/// The lines of a head without their CRLF and the empty one. Deliberately another parser than the one under
/// test.
fn lines(head: &[u8]) -> Vec<String> {
    let text = std::str::from_utf8(head).unwrap().strip_suffix("\r\n\r\n").unwrap();
    text.split("\r\n").map(str::to_owned).collect()
}

fn rewrite_request(octets: &[u8], peer_is_trusted: bool, upgrade: bool) -> (Vec<u8>, String, String) {
    let head = request(octets).unwrap();
    let (id, mut ids) = ids();
    let inbound = head.traceparent(octets);
    let trace = TraceContext::begin(inbound, false, &mut ids);
    let edits = RequestEdits {
        request_id: &id,
        trace: &trace,
        attempt: 1,
        client_address: b"192.0.2.1",
        scheme: Scheme::Https,
        peer_is_trusted,
        path: None,
        upgrade,
    };
    let mut out = Vec::new();
    write_request_head(&mut out, &head, octets, &edits);
    let current = String::from_utf8(trace.current().as_octets().to_vec()).unwrap();
    (out, id.as_str().to_owned(), current)
}

fn rewrite_response(octets: &[u8], method: Method, client_version: Version) -> (Vec<u8>, Delivery) {
    let mut head = ResponseHead::new();
    head.parse(octets, method).unwrap();
    let (id, _) = ids();
    let date = HttpDate::from_unix_seconds(784_111_777);
    let edits =
        ResponseEdits { request_id: &id, date: &date, client_version, keep_alive: true, upgrade: true };
    let mut out = Vec::new();
    let delivery = write_response_head(&mut out, &head, octets, &edits);
    (out, delivery)
}

type FieldLine = (String, String);

fn any_case(name: &'static str) -> impl Strategy<Value = String> {
    vec(any::<bool>(), name.len()).prop_map(move |upper| {
        let turn = |(c, upper): (char, bool)| if upper { c.to_ascii_uppercase() } else { c };
        name.chars().zip(upper).map(turn).collect()
    })
}

/// Fields of a request beside Host; names in any case, values that cannot make the head illegal.
fn request_field() -> impl Strategy<Value = FieldLine> {
    let stripped = select(vec![
        "keep-alive",
        "proxy-connection",
        "te",
        "upgrade",
        "http2-settings",
        "x-verified-subject",
        "x-verified-scopes",
        "x_verified_subject",
        "x-attempt",
        "x-request-id",
        "x_forwarded_for",
        "x-forwarded_host",
        "x_forwarded-port",
        "keep_alive",
        "traceparent",
    ]);
    let forwarding = select(vec![
        "x-forwarded-for",
        "x-forwarded-host",
        "x-forwarded-proto",
        "x-forwarded-port",
        "forwarded",
    ]);
    let kept = select(vec![
        "accept",
        "cookie",
        "x-one",
        "x-two",
        "date",
        "via",
        "trailer",
        "max-forwards",
        "x-verify",
        "tracestate",
    ]);
    let name = prop_oneof![stripped, forwarding, kept].prop_flat_map(any_case);
    (name, "[!-~]([ -~\t]{0,12}[!-~])?")
}

fn connection_field() -> impl Strategy<Value = FieldLine> {
    let options =
        select(vec!["keep-alive", "close", "x-one", "X-Two", "te", "x-forwarded-for", "cookie", ""]);
    (any_case("connection"), vec(options, 0..3).prop_map(|options| options.join(" , ")))
}

fn is_kept(name: &str, nominated: &[String], trusted: bool, has_trace: bool) -> bool {
    let name = name.to_ascii_lowercase();
    let folded = name.replace('_', "-");
    let hop_by_hop = [
        "connection",
        "keep-alive",
        "proxy-connection",
        "te",
        "transfer-encoding",
        "upgrade",
        "http2-settings",
    ];
    let ours = ["x-attempt", "x-request-id", "x-forwarded-for"];
    let forged = folded.starts_with("x-forwarded-") && name.contains('_');
    !hop_by_hop.contains(&folded.as_str())
        && !nominated.contains(&name)
        && !ours.contains(&folded.as_str())
        && name != "traceparent"
        && !folded.starts_with("x-verified-")
        && !forged
        && (trusted || !(name.starts_with("x-forwarded-") || name == "forwarded"))
        && (has_trace || name != "tracestate")
}

fn nominated(fields: &[FieldLine]) -> Vec<String> {
    let connection = fields.iter().filter(|(name, _)| name.eq_ignore_ascii_case("connection"));
    connection
        .flat_map(|(_, value)| value.split(',').map(|option| option.trim().to_ascii_lowercase()))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn requests_keep_and_lose_what_the_model_says(
        before in vec(prop_oneof![8 => request_field(), 1 => connection_field()], 0..6),
        after in vec(prop_oneof![8 => request_field(), 1 => connection_field()], 0..6),
        chunked in any::<bool>(),
        trusted in any::<bool>(),
        trace in prop_oneof![Just(None), Just(Some(TRACEPARENT)), Just(Some("00-malformed"))],
        absolute in any::<bool>(),
    ) {
        let mut fields = before;
        fields.push(("hOST".into(), "A.example:80".into()));
        fields.extend(after);
        if chunked {
            fields.push(("Transfer-Encoding".into(), "Chunked".into()));
        }
        fields.retain(|(name, _)| !name.eq_ignore_ascii_case("traceparent"));
        fields.extend(trace.map(|value| ("TraceParent".into(), value.into())));
        let start = if absolute { "GET http://b.example/p?q HTTP/1.1" } else { "GET /p?q HTTP/1.1" };
        let text: String = fields.iter().map(|(name, value)| format!("{name}:\t{value} \r\n")).collect();
        let (out, id, current) = rewrite_request(format!("{start}\r\n{text}\r\n").as_bytes(), trusted, false);

        let authority = if absolute { "b.example" } else { "A.example:80" };
        let nominated = nominated(&fields);
        let from_peer = |wanted: &str| -> Vec<&str> {
            let named = |(name, _): &&FieldLine| name.eq_ignore_ascii_case(wanted);
            let passed = |(name, _): &&FieldLine| trusted && !nominated.contains(&name.to_ascii_lowercase());
            fields.iter().filter(named).filter(passed).map(|(_, value)| value.as_str()).collect()
        };
        let mut expected = vec!["GET /p?q HTTP/1.1".to_owned()];
        if absolute {
            expected.push(format!("Host: {authority}"));
        }
        for (name, value) in &fields {
            let host = name.eq_ignore_ascii_case("host");
            if if host { !absolute } else { is_kept(name, &nominated, trusted, trace == Some(TRACEPARENT)) } {
                expected.push(format!("{name}:\t{value} "));
            }
        }
        if chunked {
            expected.push("Transfer-Encoding: chunked".into());
        }
        let chain = [from_peer("x-forwarded-for"), vec!["192.0.2.1"]].concat().join(", ");
        expected.push(format!("X-Forwarded-For: {chain}"));
        if from_peer("x-forwarded-host").is_empty() {
            expected.push(format!("X-Forwarded-Host: {authority}"));
        }
        if from_peer("x-forwarded-proto").is_empty() {
            expected.push("X-Forwarded-Proto: https".into());
        }
        expected.push(format!("X-Request-Id: {id}"));
        expected.push(format!("traceparent: {current}"));
        expected.push("X-Attempt: 1".into());
        expected.push("Via: 1.1 ringway".into());
        prop_assert_eq!(lines(&out), expected);
        if trace == Some(TRACEPARENT) {
            prop_assert_eq!(&current[..36], &TRACEPARENT[..36]);
        }
        // The origin reads the same message.
        let reread = request(&out).unwrap();
        prop_assert_eq!(reread.framing(), if chunked { Framing::Chunked } else { Framing::None });
        prop_assert_eq!(reread.host(), if absolute { b"b.example" } else { b"a.example" });
    }
}

/// RFC 9110, 10.1.4: what the client takes, this hop takes as well.
#[test]
fn the_clients_word_on_trailers() {
    for (fields, passed) in [
        ("Connection: TE\r\nTE: trailers\r\n", true),
        ("TE: deflate;q=0.5 , TRAILERS\r\nConnection: close, te\r\n", true),
        ("Connection: TE\r\nTE: gzip\r\nTE: trailers\r\n", true),
        ("TE: trailers\r\n", false),
        ("Connection: TE\r\nTE: trailers;q=1\r\n", false),
        ("Connection: TE\r\nTE: gzip\r\n", false),
        ("Connection: TE\r\n", false),
    ] {
        for (version, passed) in [("1.1", passed), ("1.0", false)] {
            let text = format!("GET / HTTP/{version}\r\nHost: a\r\n{fields}\r\n");
            let (out, _, _) = rewrite_request(text.as_bytes(), false, false);
            let lines = lines(&out);
            for line in ["TE: trailers", "Connection: TE"] {
                assert_eq!(
                    lines.iter().filter(|other| *other == line).count(),
                    usize::from(passed),
                    "{text}"
                );
            }
            let te = lines.iter().filter(|line| line.to_ascii_lowercase().starts_with("te:"));
            assert_eq!(te.count(), usize::from(passed), "{text}");
        }
    }
}

/// RFC 9110, 7.6.2: counted down in OPTIONS, and of no meaning elsewhere.
#[test]
fn max_forwards_is_counted_down() {
    for (method, sent, passed) in [
        ("OPTIONS", "1", "0"),
        ("OPTIONS", "0070", "69"),
        ("OPTIONS", "99999999999999999999", "18446744073709551614"),
        ("GET", "1", "1"),
        ("GET", "none", "none"),
    ] {
        let text = format!("{method} / HTTP/1.1\r\nHost: a\r\nmax-forwards: {sent}\r\n\r\n");
        let (out, _, _) = rewrite_request(text.as_bytes(), false, false);
        let named = |line: &&String| line.to_ascii_lowercase().starts_with("max-forwards:");
        let lines = lines(&out);
        let values: Vec<&str> = lines.iter().filter(named).map(|line| line[13..].trim()).collect();
        assert_eq!(values, [passed], "{text}");
    }
}

#[test]
fn http10_requests_go_on_as_http11() {
    let (out, _, _) =
        rewrite_request(b"GET / HTTP/1.0\r\nExpect: 100-continue\r\nX: y\r\n\r\n", false, false);
    let lines = lines(&out);
    assert_eq!(lines[..3], ["GET / HTTP/1.1", "Host: ", "X: y"]);
    assert_eq!(lines.last().unwrap(), "Via: 1.0 ringway");
    assert!(!lines.iter().any(|line| line.starts_with("Expect")));
}

#[test]
fn requests_without_other_fields() {
    let (out, _, _) = rewrite_request(b"\r\nOPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", false, false);
    assert_eq!(lines(&out)[..3], ["OPTIONS * HTTP/1.1", "Host: a", "X-Forwarded-For: 192.0.2.1"]);
}

#[test]
fn upgrades_pass_where_asked_and_allowed() {
    let octets =
        b"GET /ws HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\r\n";
    for (allowed, expected) in [(false, vec![]), (true, vec!["Upgrade: websocket", "Connection: upgrade"])] {
        let (out, _, _) = rewrite_request(octets, false, allowed);
        let found: Vec<_> = lines(&out).into_iter().filter(|line| line.contains("pgrade")).collect();
        assert_eq!(found, expected);
    }
}

/// A response, the request's method and version, the lines that the client gets, its framing, and whether the client's
/// connection may go on.
const RESPONSES: &[(&str, Method, Version, &str, Framing, bool)] = &[
    (
        "HTTP/1.1 200 OK\r\nDate: d\r\nContent-Length: 5\r\n\
         Connection: x-down\r\nX-Down: 1\r\nX-End: 2\r\n\r\n",
        Method::Get,
        Version::Http11,
        "HTTP/1.1 200 OK|Date: d|Content-Length: 5|X-End: 2|ID",
        Framing::Length(5),
        true,
    ),
    (
        "HTTP/1.0 200 OK\r\nContent-Length: 5\r\nX-Request-Id: theirs\r\nKeep-Alive: timeout=5\r\n\r\n",
        Method::Get,
        Version::Http11,
        "HTTP/1.1 200 OK|Content-Length: 5|DATE|ID",
        Framing::Length(5),
        true,
    ),
    (
        "HTTP/1.1 200\r\nContent-Length: 5\r\n\r\n",
        Method::Get,
        Version::Http10,
        "HTTP/1.1 200 |Content-Length: 5|Connection: keep-alive|DATE|ID",
        Framing::Length(5),
        true,
    ),
    (
        "HTTP/1.1 200 OK\r\n\r\n",
        Method::Get,
        Version::Http11,
        "HTTP/1.1 200 OK|Transfer-Encoding: chunked|DATE|ID",
        Framing::Chunked,
        true,
    ),
    (
        "HTTP/1.1 200 OK\r\n\r\n",
        Method::Get,
        Version::Http10,
        "HTTP/1.1 200 OK|Connection: close|DATE|ID",
        Framing::UntilClose,
        false,
    ),
    (
        "HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\nTrailer: a\r\n\r\n",
        Method::Get,
        Version::Http11,
        "HTTP/1.1 200 OK|Trailer: a|Transfer-Encoding: chunked|DATE|ID",
        Framing::Chunked,
        true,
    ),
    (
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        Method::Get,
        Version::Http10,
        "HTTP/1.1 200 OK|Connection: close|DATE|ID",
        Framing::UntilClose,
        false,
    ),
    (
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
        Method::Head,
        Version::Http11,
        "HTTP/1.1 200 OK|Content-Length: 5|DATE|ID",
        Framing::None,
        true,
    ),
    (
        "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\nETag: x\r\n\r\n",
        Method::Get,
        Version::Http11,
        "HTTP/1.1 304 Not Modified|Content-Length: 5|ETag: x|DATE|ID",
        Framing::None,
        true,
    ),
    (
        "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n",
        Method::Get,
        Version::Http11,
        "HTTP/1.1 204 No Content|DATE|ID",
        Framing::None,
        true,
    ),
    (
        "HTTP/1.1 103 Early Hints\r\nLink: x\r\nConnection: close\r\n\r\n",
        Method::Get,
        Version::Http11,
        "HTTP/1.1 103 Early Hints|Link: x",
        Framing::None,
        true,
    ),
    (
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n",
        Method::Get,
        Version::Http11,
        "HTTP/1.1 101 Switching Protocols|Upgrade: x|Connection: upgrade",
        Framing::None,
        true,
    ),
];

#[test]
fn responses() {
    for (octets, method, version, expected, framing, keep_alive) in RESPONSES {
        let (out, found) = rewrite_response(octets.as_bytes(), *method, *version);
        let delivery = Delivery { framing: *framing, keep_alive: *keep_alive };
        let id = format!("X-Request-Id: {}", ids().0.as_str());
        let expected: Vec<_> = expected
            .split('|')
            .map(|line| match line {
                "ID" => id.as_str(),
                "DATE" => "Date: Sun, 06 Nov 1994 08:49:37 GMT",
                line => line,
            })
            .collect();
        assert_eq!(
            (lines(&out), found),
            (expected.iter().map(|&line| line.to_owned()).collect(), delivery),
            "{octets:?}"
        );
    }
}

#[test]
fn a_length_goes_on_in_one_spelling() {
    for spelled in [
        "Content-Length: 5",
        "content-length:5",
        "Content-Length:\t5",
        "Content-Length:  5",
        "Content-Length: 5\t",
        "Content-Length: 005",
    ] {
        let request = format!("POST / HTTP/1.1\r\nHost: a\r\n{spelled}\r\nX-Next: 1\r\n\r\n");
        let (written, ..) = rewrite_request(request.as_bytes(), false, false);
        let lengths = |head: &[u8]| {
            let lines = lines(head).into_iter().map(|line| line.to_ascii_lowercase());
            lines
                .filter(|line| line.starts_with("content-length") || line.starts_with("x-next"))
                .collect::<Vec<_>>()
        };
        let mut wanted = ["content-length: 5", "x-next: 1"];
        assert_eq!(lengths(&written), wanted, "{spelled:?}");
        let response = format!("HTTP/1.1 200 OK\r\nX-Next: 1\r\n{spelled}\r\n\r\n");
        let (written, _) = rewrite_response(response.as_bytes(), Method::Get, Version::Http11);
        wanted.reverse();
        assert_eq!(lengths(&written), wanted, "{spelled:?}");
    }
}
