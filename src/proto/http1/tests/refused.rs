//! One row for each reason to refuse a request head; the section that asks for it stands beside it.

use super::{get_with, request};
use crate::limits::{FIELDS_MAX, HEAD_OCTETS_MAX, METHOD_OCTETS_MAX, PASSES_MAX, TARGET_OCTETS_MAX};
use crate::proto::http1::{HeadError, Parsed, RequestHead};

#[track_caller]
fn refuses(octets: &[u8], error: HeadError, status: u16) {
    match request(octets) {
        Err(found) => assert_eq!((found, found.status()), (error, status), "{}", octets.escape_ascii()),
        Ok(_) => panic!("accepted: {}", octets.escape_ascii()),
    }
}

#[track_caller]
fn refuses_field(line: &str, error: HeadError, status: u16) {
    refuses(&get_with(&format!("{line}\r\n")), error, status);
}

#[test]
fn rfc9112_2_2_control_octets() {
    for head in [
        "GET / HTTP/1.1\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX: b\rc\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX: b\0c\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX: b\x0bc\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX: b\x1fc\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\r\n\r\n",
        "GET / HTTP/1.1\r\rHost: a\r\n\r\n",
        "GET /\r\x0bHTTP/1.1\r\nHost: a\r\n\r\n",
        "\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "\x16\x03\x01",
        "GET / HTTP/1.1\r\nHost: a\r\nX: b\x7fc\r\n\r\n",
        "GET /\x7f HTTP/1.1\r\nHost: a\r\n\r\n",
    ] {
        refuses(head.as_bytes(), HeadError::Control, 400);
    }
}

#[test]
fn rfc9112_3_request_line() {
    for line in [
        "GET /",
        "GET",
        "",
        " GET / HTTP/1.1",
        "GET  / HTTP/1.1",
        "GET /  HTTP/1.1",
        "GET / HTTP/1.1 ",
        "GET\t/ HTTP/1.1",
        "GET /a b HTTP/1.1",
        "G(T / HTTP/1.1",
        "GET / HTTP/1.1 x",
        "GET / HTTP/11",
        "GET / HTTP/1",
        "GET / http/1.1",
        "GET / HTTPS/1.1",
        "GET / HTTP/1.10",
        "GET / HTTP/11.1",
        "GET / HTTP /1.1",
    ] {
        refuses(format!("{line}\r\nHost: a\r\n\r\n").as_bytes(), HeadError::RequestLine, 400);
    }
    // One empty line before a request is let pass (2.2), a second is not.
    refuses(b"\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", HeadError::RequestLine, 400);
}

#[test]
fn rfc9112_2_3_version() {
    for version in ["HTTP/2.0", "HTTP/1.2", "HTTP/0.9", "HTTP/9.9"] {
        refuses(format!("GET / {version}\r\nHost: a\r\n\r\n").as_bytes(), HeadError::Version, 505);
    }
    refuses(b"PRI * HTTP/2.0\r\n\r\n", HeadError::Version, 505);
}

#[test]
fn rfc9110_9_methods_not_offered() {
    refuses(b"CONNECT a.example:443 HTTP/1.1\r\nHost: a\r\n\r\n", HeadError::MethodUnknown, 501);
    refuses(b"TRACE / HTTP/1.1\r\nHost: a\r\n\r\n", HeadError::MethodNotAllowed, 405);
    let long = "M".repeat(METHOD_OCTETS_MAX + 1);
    refuses(format!("{long} / HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes(), HeadError::MethodUnknown, 501);
}

#[test]
fn rfc9112_3_2_target() {
    for target in [
        "/#fragment",
        "http://a.example/#f",
        "*",
        "a.example:80",
        "a",
        "ftp://a.example/",
        "/\u{e9}",
        "http:/a.example/",
        "?q",
    ] {
        refuses(format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes(), HeadError::Target, 400);
    }
    refuses(b"GET /\xff HTTP/1.1\r\nHost: a\r\n\r\n", HeadError::Target, 400);
    // A user in the authority (RFC 9110, 4.2.4), an empty host (4.2.1).
    for target in
        ["http://user@a.example/", "http://user:pw@a.example/", "http:///", "http://:80/", "http://?q"]
    {
        refuses(
            format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes(),
            HeadError::HostMalformed,
            400,
        );
    }
}

#[test]
fn rfc9112_3_target_too_long() {
    let target = "/".repeat(TARGET_OCTETS_MAX + 1);
    refuses(format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes(), HeadError::TargetTooLong, 414);
    // Seen before the line has ended.
    let mut head = RequestHead::new();
    let endless = vec![b'/'; TARGET_OCTETS_MAX + METHOD_OCTETS_MAX + 100];
    assert_eq!(head.parse(&endless), Err(HeadError::TargetTooLong));
}

#[test]
fn rfc6585_5_head_too_large() {
    let line = format!("X: {}\r\n", "v".repeat(1000));
    refuses(&get_with(&line.repeat(HEAD_OCTETS_MAX / line.len() + 1)), HeadError::TooLarge, 431);
    // One octet over, and exactly as large as may be.
    let fill = |total: usize| {
        let empty = get_with("X: \r\n").len();
        get_with(&format!("X: {}\r\n", "v".repeat(total - empty)))
    };
    refuses(&fill(HEAD_OCTETS_MAX + 1), HeadError::TooLarge, 431);
    assert!(request(&fill(HEAD_OCTETS_MAX)).is_ok());
    // Seen before the head has ended.
    let mut head = RequestHead::new();
    let mut endless = get_with("");
    endless.truncate(endless.len() - 2);
    endless.resize(HEAD_OCTETS_MAX - 1, b'x');
    assert_eq!(head.parse(&endless), Ok(Parsed::Partial));
    endless.push(b'x');
    assert_eq!(head.parse(&endless), Err(HeadError::TooLarge));
}

#[test]
fn rfc6585_5_too_many_fields() {
    assert!(request(&get_with(&"A: b\r\n".repeat(FIELDS_MAX - 1))).is_ok());
    refuses(&get_with(&"A: b\r\n".repeat(FIELDS_MAX)), HeadError::TooManyFields, 431);
}

#[test]
fn rfc9112_5_field_lines() {
    for line in [
        "X : b",
        "X\t: b",
        "Content-Length : 5",
        "Transfer-Encoding : chunked",
        ": b",
        "no colon",
        "X[]: b",
        "X\"y: b",
        "\u{fc}: b",
        " folded",
        "X: b\r\n folded",
        "X: b\r\n\tfolded",
        "X:\r\n folded",
    ] {
        refuses_field(line, HeadError::FieldLine, 400);
    }
    refuses(b"GET / HTTP/1.1\r\n Host: a\r\n\r\n", HeadError::FieldLine, 400);
    refuses(b"GET / HTTP/1.1\r\n\tX: b\r\nHost: a\r\n\r\n", HeadError::FieldLine, 400);
}

#[test]
fn rfc9112_3_2_host() {
    refuses(b"GET / HTTP/1.1\r\n\r\n", HeadError::HostMissing, 400);
    refuses(b"GET http://a.example/ HTTP/1.1\r\n\r\n", HeadError::HostMissing, 400);
    refuses_field("Host: a.example", HeadError::HostRepeated, 400);
    refuses_field("hOsT: b.example", HeadError::HostRepeated, 400);
    refuses(b"GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n", HeadError::HostRepeated, 400);
    let too_long = "a".repeat(254);
    for host in [
        "",
        ":80",
        ".",
        ".:80",
        "a..",
        "a b",
        "a,b",
        "a/b",
        "a@b",
        "a:b",
        "a:80:80",
        "a:80x",
        "a:-1",
        "a:65536",
        "a:99999999999999999999",
        "[",
        "[]",
        "[::1",
        "[::1]x",
        "[::g]",
        "[1.2.3.4]",
        "::1",
        "a%2eb",
        "\u{e9}",
        "a\\b",
        "a?b",
        "http://a",
        "[fe80::1%25eth0]",
        &too_long,
    ] {
        refuses(format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes(), HeadError::HostMalformed, 400);
    }
}

#[test]
fn rfc9110_8_6_content_length() {
    for length in [
        "",
        "+5",
        "-5",
        "5 5",
        "5,5",
        "5, 5",
        "5;",
        "0x5",
        "5.0",
        "five",
        "9223372036854775808",
        "18446744073709551616",
        "99999999999999999999999",
        "\u{665}",
        "5_0",
    ] {
        refuses_field(&format!("Content-Length: {length}"), HeadError::LengthMalformed, 400);
    }
    // Equal lengths may be folded or refused (RFC 9112, 6.3); refusing leaves nothing to disagree about.
    refuses_field("Content-Length: 5\r\nContent-Length: 5", HeadError::LengthRepeated, 400);
    refuses_field("Content-Length: 5\r\ncontent-length: 6", HeadError::LengthRepeated, 400);
}

#[test]
fn rfc9112_6_1_transfer_encoding() {
    for coding in [
        "",
        "gzip",
        "identity",
        "gzip, chunked",
        "chunked, gzip",
        "chunked, chunked",
        "chunked,",
        ",chunked",
        "xchunked",
        "chunkedx",
        "\"chunked\"",
        "chunked;q=1",
        "chun ked",
        "\u{4b}chunked",
    ] {
        refuses_field(&format!("Transfer-Encoding: {coding}"), HeadError::CodingUnknown, 501);
    }
    refuses_field("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", HeadError::CodingUnknown, 501);
    refuses_field("Transfer-Encoding: chunked\r\ntransfer-encoding: identity", HeadError::CodingUnknown, 501);
    refuses(
        b"POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
        HeadError::CodingInHttp10,
        400,
    );
}

#[test]
fn rfc9112_6_3_length_with_coding() {
    for lines in [
        "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 5",
        "Transfer-Encoding: Chunked\r\ncontent-length: 0",
    ] {
        refuses_field(lines, HeadError::LengthWithCoding, 400);
    }
}

#[test]
fn framing_names_with_underscores() {
    for line in
        ["Content_Length: 5", "content_length: 5", "Transfer_Encoding: chunked", "TRANSFER_ENCODING: x"]
    {
        refuses_field(line, HeadError::NameLookalike, 400);
    }
}

#[test]
fn rfc9110_7_6_1_connection() {
    for value in [
        "a b",
        "close x",
        "(x)",
        "Host",
        "keep-alive, host",
        "Content-Length",
        "close, content_length",
        "\"close\"",
    ] {
        refuses_field(&format!("Connection: {value}"), HeadError::Connection, 400);
    }
    let many = (0..=16).map(|n| format!("x-{n}")).collect::<Vec<_>>().join(",");
    refuses_field(&format!("Connection: {many}"), HeadError::Connection, 400);
}

#[test]
fn rfc9110_10_1_1_expectations() {
    for line in [
        "Expect: 100",
        "Expect: 100-continue, x=y",
        "Expect: 100-continue;q=1",
        "Expect: 100-continue\r\nExpect: x",
    ] {
        refuses_field(line, HeadError::Expectation, 417);
    }
    // HTTP/1.0 has none.
    let head = request(b"GET / HTTP/1.0\r\nExpect: x\r\n\r\n").unwrap();
    assert!(!head.expects_continue());
}

#[test]
fn rfc9110_7_6_loops() {
    let passes = |count: usize| vec!["1.1 ringway"; count].join(", ");
    let one_more = |rest: &str| format!("Via: {}\r\nVia: {rest}", passes(PASSES_MAX));
    for last in ["1.1 ringway", "1.0  RINGWAY (again)", "HTTP/1.1\tringway", "1.1 other, ,1.1 ringway"] {
        refuses_field(&one_more(last), HeadError::Loop, 508);
    }
    for last in ["1.1 ringways", "1.1 other (ringway)", "ringway", "1.1 a.ringway", ""] {
        assert!(request(&get_with(&format!("{}\r\n", one_more(last)))).is_ok(), "{last}");
    }
}

#[test]
fn rfc9110_7_6_2_max_forwards() {
    for value in ["", "-1", "+1", "1,1", "0x1", "1\r\nMax-Forwards: 1"] {
        let head = format!("OPTIONS / HTTP/1.1\r\nHost: a\r\nMax-Forwards: {value}\r\n\r\n");
        refuses(head.as_bytes(), HeadError::MaxForwards, 400);
        assert!(request(head.replace("OPTIONS", "GET").as_bytes()).is_ok());
    }
}
