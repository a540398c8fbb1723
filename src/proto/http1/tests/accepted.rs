//! What a request head that is accepted says.

use super::{get_with, request};
use crate::proto::http1::{Framing, Known, Method, Parsed, RequestHead, Version};

#[test]
fn a_plain_request() {
    let octets = b"GET /a/b?c=d&e=/? HTTP/1.1\r\n\
        Host: Shop.Example.COM:8443\r\nX-One:  two \t\r\nEmpty:\r\n\r\nsurplus";
    let mut head = RequestHead::new();
    assert_eq!(head.parse(octets), Ok(Parsed::Complete { len: octets.len() - "surplus".len() }));
    assert_eq!((head.method(), head.method_text(octets)), (Method::Get, b"GET".as_slice()));
    assert_eq!(head.target(octets), b"/a/b?c=d&e=/?");
    assert_eq!(head.path(octets), b"/a/b");
    assert_eq!(head.query(octets), Some(b"c=d&e=/?".as_slice()));
    assert_eq!(head.version(), Version::Http11);
    assert_eq!(head.host(), b"shop.example.com");
    assert_eq!(head.authority(octets), b"Shop.Example.COM:8443");
    assert_eq!(head.framing(), Framing::None);
    assert!(head.keep_alive());
    assert!(!head.expects_continue() && !head.asks_upgrade());
    let fields: Vec<_> = head
        .fields()
        .as_slice()
        .iter()
        .map(|field| (field.known(), field.name(octets), field.value(octets)))
        .collect();
    assert_eq!(
        fields,
        [
            (Known::Host, b"Host".as_slice(), b"Shop.Example.COM:8443".as_slice()),
            (Known::Other, b"X-One", b"two"),
            (Known::Other, b"Empty", b""),
        ]
    );
    assert_eq!(head.fields().values(b"x-one", octets).collect::<Vec<_>>(), [b"two"]);
}

#[test]
fn one_empty_line_before_the_request() {
    let octets = b"\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n";
    let mut head = RequestHead::new();
    assert_eq!(head.parse(octets), Ok(Parsed::Complete { len: octets.len() }));
    assert_eq!((head.path(octets), head.host()), (b"/".as_slice(), b"a".as_slice()));
}

#[test]
fn a_head_is_reusable_after_success_and_error() {
    let mut head = RequestHead::new();
    let chunked = get_with(
        "Transfer-Encoding: chunked\r\nConnection: x-a, close\r\nX-A: 1\r\nExpect: 100-continue\r\n",
    );
    assert!(head.parse(&chunked).is_ok());
    assert!(head.parse(b"GET / HTTP/1.1\r\n\r\n").is_err());
    assert!(matches!(head.parse(&get_with("")), Ok(Parsed::Complete { .. })));
    assert_eq!((head.framing(), head.keep_alive(), head.expects_continue()), (Framing::None, true, false));
    assert_eq!(head.fields().as_slice().len(), 1);
}

#[test]
fn a_begun_head_can_be_forgotten() {
    let mut head = RequestHead::new();
    assert_eq!(head.parse(b"GET /long/enough HTTP/1.1\r\nHost: b"), Ok(Parsed::Partial));
    head.restart();
    let octets = get_with("");
    assert_eq!(head.parse(&octets), Ok(Parsed::Complete { len: octets.len() }));
    assert_eq!((head.path(&octets), head.host()), (b"/".as_slice(), b"a.example".as_slice()));
}

#[test]
fn hosts() {
    let longest = format!("{}.", "a".repeat(253));
    for (host, name) in [
        ("A.Example", "a.example"),
        ("a.example.", "a.example"),
        ("a.example.:80", "a.example"),
        ("a.example:", "a.example"),
        ("a_b-c.1", "a_b-c.1"),
        ("127.0.0.1:65535", "127.0.0.1"),
        ("[2001:DB8::1]", "[2001:db8::1]"),
        ("[::1]:8080", "[::1]"),
        (&longest, &longest[..253]),
    ] {
        let head = request(format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes()).unwrap();
        assert_eq!(head.host().escape_ascii().to_string(), name);
    }
    assert_eq!(request(b"GET / HTTP/1.0\r\n\r\n").unwrap().host(), b"");
}

#[test]
fn targets() {
    for (line, path, query, host) in [
        ("GET http://B.example:81/x?y", "/x", Some("y"), "b.example"),
        ("GET HTTPS://b.example", "/", None, "b.example"),
        ("GET http://b.example?q=1", "/", Some("q=1"), "b.example"),
        ("GET http://[::1]:80/", "/", None, "[::1]"),
        ("OPTIONS http://b.example", "*", None, "b.example"),
        ("OPTIONS http://b.example?", "/", Some(""), "b.example"),
        ("OPTIONS *", "*", None, "a.example"),
        ("GET //x", "//x", None, "a.example"),
        ("GET /?", "/", Some(""), "a.example"),
        ("GET /a|b\"{}^`\\[]%zz", "/a|b\"{}^`\\[]%zz", None, "a.example"),
    ] {
        let octets = format!("{line} HTTP/1.1\r\nHost: a.example\r\n\r\n").into_bytes();
        let head = request(&octets).unwrap();
        assert_eq!(head.path(&octets), path.as_bytes(), "{line}");
        assert_eq!(head.query(&octets), query.map(str::as_bytes), "{line}");
        assert_eq!(head.host(), host.as_bytes(), "{line}");
    }
}

#[test]
fn methods() {
    use Method::{Delete, Get, Head, Options, Other, Patch, Post, Put};
    for (text, method, idempotent) in [
        ("GET", Get, true),
        ("HEAD", Head, true),
        ("POST", Post, false),
        ("PUT", Put, true),
        ("DELETE", Delete, true),
        ("OPTIONS", Options, true),
        ("PATCH", Patch, false),
        ("get", Other, false),
        ("PROPFIND", Other, false),
        ("!#$%&'*+-.^_`|~", Other, false),
    ] {
        let octets = format!("{text} / HTTP/1.1\r\nHost: a\r\n\r\n").into_bytes();
        let head = request(&octets).unwrap();
        assert_eq!((head.method(), head.method().is_idempotent()), (method, idempotent));
        assert_eq!(head.method_text(&octets), text.as_bytes());
    }
}

#[test]
fn rfc9112_6_3_framing() {
    for (line, framing) in [
        ("Content-Length: 0", Framing::Length(0)),
        ("content-LENGTH: 0005", Framing::Length(5)),
        ("Content-Length: 9223372036854775807", Framing::Length(u64::MAX >> 1)),
        ("Transfer-Encoding: chunked", Framing::Chunked),
        ("transfer-encoding:\tCHUNKED ", Framing::Chunked),
        ("X-Content-Length: 5", Framing::None),
    ] {
        assert_eq!(request(&get_with(&format!("{line}\r\n"))).unwrap().framing(), framing, "{line}");
    }
}

#[test]
fn rfc9112_9_3_persistence() {
    for (version, lines, keep_alive) in [
        ("1.1", "", true),
        ("1.1", "Connection: close\r\n", false),
        ("1.1", "Connection: keep-alive\r\n", true),
        ("1.1", "Connection: keep-alive, CLOSE\r\n", false),
        ("1.1", "Connection: x-a\r\nConnection: ,Close ,\r\n", false),
        ("1.1", "Connection: closed\r\n", true),
        ("1.0", "", false),
        ("1.0", "Connection: Keep-Alive\r\n", true),
        ("1.0", "Connection: keep-alive, close\r\n", false),
    ] {
        let octets = format!("GET / HTTP/{version}\r\nHost: a\r\n{lines}\r\n");
        assert_eq!(request(octets.as_bytes()).unwrap().keep_alive(), keep_alive, "{octets}");
    }
}

#[test]
fn rfc9110_10_1_1_expect_and_7_8_upgrade() {
    for (version, lines, expects, upgrades) in [
        ("1.1", "Expect: 100-Continue\r\n", true, false),
        ("1.0", "Expect: 100-continue\r\n", false, false),
        ("1.0", "Expect: something\r\n", false, false),
        ("1.1", "Expect: , 100-continue ,\r\n", true, false),
        ("1.1", "Expect:\r\n", false, false),
        ("1.1", "Connection: Upgrade\r\nUpgrade: websocket\r\n", false, true),
        ("1.1", "Upgrade: websocket\r\n", false, false),
        ("1.1", "Connection: upgrade\r\n", false, false),
        ("1.0", "Connection: upgrade\r\nUpgrade: websocket\r\n", false, false),
    ] {
        let head = request(format!("GET / HTTP/{version}\r\nHost: a\r\n{lines}\r\n").as_bytes()).unwrap();
        assert_eq!((head.expects_continue(), head.asks_upgrade()), (expects, upgrades), "{lines}");
    }
}
