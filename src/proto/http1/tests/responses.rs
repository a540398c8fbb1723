//! Response heads: RFC 9112, 4 and 6.3.

use crate::proto::http1::{Framing, HeadError, Method, Parsed, ResponseHead, Version};

fn response(octets: &[u8], method: Method) -> Result<ResponseHead, HeadError> {
    let mut head = ResponseHead::new();
    match head.parse(octets, method)? {
        Parsed::Complete { .. } => Ok(head),
        Parsed::Partial => panic!("partial: {}", octets.escape_ascii()),
    }
}

#[test]
fn rfc9112_6_3_framing_and_9_3_persistence() {
    use Framing::{Chunked, Length, None, UntilClose};
    for (first_line, lines, method, framing, keep_alive) in [
        ("HTTP/1.1 200 OK", "Content-Length: 5\r\n", Method::Get, Length(5), true),
        ("HTTP/1.1 200 OK", "Content-Length: 5\r\n", Method::Head, None, true),
        ("HTTP/1.1 200 OK", "Transfer-Encoding: chunked\r\n", Method::Get, Chunked, true),
        ("HTTP/1.1 200 OK", "Transfer-Encoding: chunked\r\n", Method::Head, None, true),
        ("HTTP/1.1 200 OK", "", Method::Get, UntilClose, false),
        ("HTTP/1.1 200 OK", "", Method::Head, None, true),
        ("HTTP/1.1 200 OK", "Connection: close\r\nContent-Length: 0\r\n", Method::Get, Length(0), false),
        ("HTTP/1.1 204 No Content", "", Method::Delete, None, true),
        ("HTTP/1.1 204 No Content", "Content-Length: 5\r\n", Method::Get, None, true),
        ("HTTP/1.1 304 Not Modified", "Content-Length: 5\r\n", Method::Get, None, true),
        ("HTTP/1.1 100 Continue", "", Method::Post, None, true),
        (
            "HTTP/1.1 101 Switching Protocols",
            "Connection: upgrade\r\nUpgrade: x\r\n",
            Method::Get,
            None,
            true,
        ),
        ("HTTP/1.1 205 Reset Content", "Content-Length: 0\r\n", Method::Get, Length(0), true),
        ("HTTP/1.0 200 OK", "Content-Length: 5\r\n", Method::Get, Length(5), false),
        ("HTTP/1.0 200 OK", "Content-Length: 5\r\nConnection: keep-alive\r\n", Method::Get, Length(5), true),
        ("HTTP/1.0 200 OK", "Connection: keep-alive\r\n", Method::Get, UntilClose, false),
        ("HTTP/1.1 200", "Content-Length: 5\r\n", Method::Get, Length(5), true),
        ("HTTP/1.1 200 ", "Content-Length: 5\r\n", Method::Get, Length(5), true),
        ("HTTP/1.1 599 \u{fc}ber\tall", "Content-Length: 5\r\n", Method::Get, Length(5), true),
    ] {
        let octets = format!("{first_line}\r\n{lines}\r\n");
        let head = response(octets.as_bytes(), method).unwrap();
        assert_eq!((head.framing(), head.keep_alive()), (framing, keep_alive), "{octets}");
    }
}

#[test]
fn status_version_and_interim() {
    for (octets, status, version, interim) in [
        ("HTTP/1.1 100 Continue\r\n\r\n", 100, Version::Http11, true),
        ("HTTP/1.1 101 Switching Protocols\r\n\r\n", 101, Version::Http11, false),
        ("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n", 103, Version::Http11, true),
        ("HTTP/1.0 200 OK\r\n\r\n", 200, Version::Http10, false),
    ] {
        let head = response(octets.as_bytes(), Method::Get).unwrap();
        assert_eq!((head.status(), head.version(), head.is_interim()), (status, version, interim));
    }
}

#[test]
fn rfc9112_4_and_6_illegal_answers() {
    use HeadError::{
        CodingInHttp10, CodingUnknown, Connection, Control, FieldLine, LengthMalformed, LengthRepeated,
        LengthWithCoding, NameLookalike, StatusLine,
    };
    for (octets, error) in [
        ("\r\nHTTP/1.1 200 OK\r\n\r\n", StatusLine),
        ("HTTP/1.1 099 Low\r\n\r\n", StatusLine),
        ("HTTP/1.1 600 High\r\n\r\n", StatusLine),
        ("HTTP/1.1 20 Short\r\n\r\n", StatusLine),
        ("HTTP/1.1 2000 Long\r\n\r\n", StatusLine),
        ("HTTP/1.1  200 OK\r\n\r\n", StatusLine),
        ("HTTP/1.1 +20 OK\r\n\r\n", StatusLine),
        ("HTTP/2.0 200 OK\r\n\r\n", StatusLine),
        ("ICY 200 OK\r\n\r\n", StatusLine),
        ("GET / HTTP/1.1\r\n\r\n", StatusLine),
        ("\r\n\r\n", StatusLine),
        (&format!("HTTP/1.1 200 {}", "O".repeat(9000)), StatusLine),
        ("HTTP/1.1 200 O\x7fK\r\n\r\n", Control),
        ("HTTP/1.1 200 OK\n\n", Control),
        ("HTTP/1.1 200 OK\r\nX: a\rb\r\n\r\n", Control),
        ("HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n", FieldLine),
        ("HTTP/1.1 200 OK\r\nX : a\r\n\r\n", FieldLine),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", LengthWithCoding),
        ("HTTP/1.1 204 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", LengthWithCoding),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n", LengthRepeated),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\n", LengthMalformed),
        ("HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n", LengthMalformed),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", CodingUnknown),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\n", CodingUnknown),
        ("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", CodingInHttp10),
        ("HTTP/1.1 200 OK\r\nContent_Length: 5\r\n\r\n", NameLookalike),
        ("HTTP/1.1 200 OK\r\nConnection: content-length\r\nContent-Length: 5\r\n\r\n", Connection),
    ] {
        let found = response(octets.as_bytes(), Method::Get).err();
        assert_eq!(found, Some(error), "{octets:?}");
    }
}
