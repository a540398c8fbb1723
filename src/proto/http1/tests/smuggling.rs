//! A corpus of known request smuggling: every variant is refused, so that no second request can be found
//! inside a body.

use super::request;

/// Ways to write Transfer-Encoding that some recipient takes for chunked and another does not.
const CODINGS: &[&str] = &[
    "Transfer-Encoding: xchunked",
    "Transfer-Encoding : chunked",
    "Transfer-Encoding: chunked\r\nTransfer-Encoding: x",
    "Transfer-Encoding: x\r\nTransfer-Encoding: chunked",
    "Transfer-Encoding:\x0bchunked",
    "Transfer-Encoding:\x0cchunked",
    "Transfer-Encoding: chunked\x0b",
    "Transfer-Encoding: \0chunked",
    "Transfer-Encoding: chunked\r",
    " Transfer-Encoding: chunked",
    "X: X\nTransfer-Encoding: chunked",
    "X: X\rTransfer-Encoding: chunked",
    "Transfer-Encoding\r\n: chunked",
    "Transfer-Encoding\t: chunked",
    "Transfer-Encoding:\r\n chunked",
    "Transfer-Encoding: chunked, identity",
    "Transfer-Encoding: identity, chunked",
    "Transfer-Encoding: \"chunked\"",
    "Transfer-Encoding: 'chunked'",
    "Transfer-Encoding: chunked;foo=bar",
    "Transfer-Encoding: cow",
    "Transfer_Encoding: chunked",
    "TRANSFER-ENCODING: CHUNKED, chunked",
    "Transfer-Encoding: chunk",
    "Transfer-Encoding: \u{212a}chunked",
    "Transfer-Encoding",
    "Transfer-Encoding chunked",
    "Transfer\u{ad}-Encoding: chunked",
    "Transfer-\r\nEncoding: chunked",
    "Foo: bar\r\n\rTransfer-Encoding: chunked",
];

/// Ways to write a length likewise.
const LENGTHS: &[&str] = &[
    "Content-Length: 6\r\nContent-Length: 0",
    "Content-Length: 0\r\nContent-Length: 6",
    "Content-Length: 6\r\nContent-Length: 6",
    "Content-Length: 6, 0",
    "Content-Length: +6",
    "Content-Length: 0x6",
    "Content-Length: 6 0",
    "Content-Length : 6",
    "Content-Length\t: 6",
    "Content-Length: 6\x0b",
    "Content-Length:\r\n 6",
    "Content-Length: -0",
    "Content-Length: 6;",
    "Content-Length: 18446744073709551622",
    "Content_Length: 6",
    "Content-Length: ",
    "Content-Length: 6\n0",
    "\0Content-Length: 6",
    "Connection: Content-Length\r\nContent-Length: 6",
    "Host: b.example",
];

#[track_caller]
fn refused(lines: &str) {
    let octets = format!(
        "POST / HTTP/1.1\r\nHost: a.example\r\n{lines}\r\n\r\n\
         0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"
    );
    let Err(error) = request(octets.as_bytes()) else { panic!("accepted: {lines:?}") };
    assert!(matches!(error.status(), 400 | 501), "{lines:?}: {error}");
}

#[test]
fn te_te() {
    CODINGS.iter().for_each(|coding| refused(coding));
}

#[test]
fn cl_cl() {
    LENGTHS.iter().for_each(|length| refused(length));
}

#[test]
fn cl_te_and_te_cl() {
    refused("Content-Length: 6\r\nTransfer-Encoding: chunked");
    refused("Transfer-Encoding: chunked\r\nContent-Length: 6");
    for coding in CODINGS {
        refused(&format!("Content-Length: 6\r\n{coding}"));
        refused(&format!("{coding}\r\nContent-Length: 6"));
    }
    for length in LENGTHS {
        refused(&format!("Transfer-Encoding: chunked\r\n{length}"));
        refused(&format!("{length}\r\nTransfer-Encoding: chunked"));
    }
}
