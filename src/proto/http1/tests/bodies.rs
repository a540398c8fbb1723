//! Bodies against the octets they were made of, and one row for each reason to refuse one.

use proptest::collection::vec;
use proptest::prelude::{any, prop_assert_eq, proptest};

use super::{get_with, request};
use crate::limits::{CHUNK_EXTENSION_OCTETS_MAX, TRAILERS_OCTETS_MAX};
use crate::proto::http1::{
    BodyError, BodyReader, BodyStep, ChunkHeader, Framing, LAST_CHUNK, Nominated, write_chunk,
    write_last_chunk,
};

/// Content, octets behind the end, and trailers.
fn read(framing: Framing, octets: &[u8]) -> Result<(Vec<u8>, usize, Vec<u8>), BodyError> {
    let (mut body, mut content, mut rest) = (BodyReader::new(framing), Vec::new(), octets);
    loop {
        match body.next(rest)? {
            BodyStep::Data(range) => {
                content.extend_from_slice(&rest[range.clone()]);
                rest = &rest[range.end..];
            }
            BodyStep::NeedMore => {
                body.close()?;
                return Ok((content, 0, Vec::new()));
            }
            BodyStep::End { used } => return Ok((content, rest.len() - used, body.trailers().to_vec())),
        }
    }
}

#[test]
fn each_framing_ends_where_it_should() {
    for (framing, octets, content, surplus) in [
        (Framing::None, "next", "", 4),
        (Framing::Length(0), "next", "", 4),
        (Framing::Length(5), "hellonext", "hello", 4),
        (Framing::UntilClose, "hello", "hello", 0),
        (Framing::Chunked, "5\r\nhello\r\n0\r\n\r\nnext", "hello", 4),
        (
            Framing::Chunked,
            "5;a=\"b c\";d\r\nhello\r\n6 \t;f\r\n world\r\n00;last\r\n\r\nX",
            "hello world",
            1,
        ),
        (Framing::Chunked, "000000000000000A\r\n0123456789\r\n0\r\n\r\n", "0123456789", 0),
    ] {
        let read = read(framing, octets.as_bytes()).map(|(content, surplus, _)| (content, surplus));
        assert_eq!(read, Ok((content.as_bytes().to_vec(), surplus)), "{octets:?}");
    }
}

#[test]
fn rfc9112_8_truncated() {
    for (framing, octets) in [
        (Framing::Length(5), "hell"),
        (Framing::Chunked, ""),
        (Framing::Chunked, "5\r\nhell"),
        (Framing::Chunked, "5\r\nhello\r\n"),
        (Framing::Chunked, "5\r\nhello\r\n0\r\n"),
        (Framing::Chunked, "0\r\nA: b\r\n"),
    ] {
        assert_eq!(read(framing, octets.as_bytes()), Err(BodyError::Truncated), "{octets:?}");
    }
}

#[test]
fn rfc9112_7_1_refused() {
    let long_extension = format!("5;{}\r\nhello\r\n", "e".repeat(CHUNK_EXTENSION_OCTETS_MAX));
    let long_trailer = format!("0\r\nA: {}\r\n\r\n", "t".repeat(TRAILERS_OCTETS_MAX));
    for (octets, error) in [
        ("\r\n", BodyError::ChunkSize),
        (";e\r\n", BodyError::ChunkSize),
        (" 5\r\n", BodyError::ChunkSize),
        ("+5\r\n", BodyError::ChunkSize),
        ("-5\r\n", BodyError::ChunkSize),
        ("0x5\r\n", BodyError::ChunkSize),
        ("g\r\n", BodyError::ChunkSize),
        ("5 \r\nhello", BodyError::ChunkSize),
        ("5\thello", BodyError::ChunkSize),
        ("5 5\r\nhello", BodyError::ChunkSize),
        ("5,5\r\nhello", BodyError::ChunkSize),
        ("5\nhello", BodyError::ChunkSize),
        ("5\rhello", BodyError::ChunkSize),
        ("5;a\nhello", BodyError::ChunkSize),
        ("5;a\rb\r\nhello", BodyError::ChunkSize),
        ("5;a\0\r\nhello", BodyError::ChunkSize),
        ("5;\"a\r\nb\"\r\nhello", BodyError::ChunkEnd),
        ("5;\x7f\r\nhello", BodyError::ChunkSize),
        ("10000000000000000\r\n", BodyError::ChunkSize),
        ("00000000000000005\r\n", BodyError::ChunkSize),
        (long_extension.as_str(), BodyError::ChunkExtension),
        ("5\r\nhello!\r\n", BodyError::ChunkEnd),
        ("5\r\nhello\n", BodyError::ChunkEnd),
        ("5\r\nhello\r0\r\n", BodyError::ChunkEnd),
        ("5\r\nhello0\r\n\r\n", BodyError::ChunkEnd),
        ("0\r\n\n", BodyError::Trailer),
        ("0\r\nno colon\r\n\r\n", BodyError::Trailer),
        ("0\r\nA : b\r\n\r\n", BodyError::Trailer),
        ("0\r\n: b\r\n\r\n", BodyError::Trailer),
        ("0\r\nA: b\r\n c\r\n\r\n", BodyError::Trailer),
        ("0\r\nA: b\n\r\n", BodyError::Trailer),
        ("0\r\nA: b\rc\r\n\r\n", BodyError::Trailer),
        ("0\r\nA: b\0\r\n\r\n", BodyError::Trailer),
        ("0\r\n\rA: b\r\n\r\n", BodyError::Trailer),
        (long_trailer.as_str(), BodyError::TrailersTooLarge),
    ] {
        assert_eq!(read(Framing::Chunked, octets.as_bytes()), Err(error), "{octets:?}");
    }
}

#[test]
fn the_largest_extension_and_trailer_section_pass() {
    let extension = format!("1;{}\r\nx\r\n0\r\n\r\n", "e".repeat(CHUNK_EXTENSION_OCTETS_MAX - 1));
    assert!(read(Framing::Chunked, extension.as_bytes()).is_ok());
    // The section is the line, its CRLF and the final CRLF.
    let line = format!("A:{}\r\n", "t".repeat(TRAILERS_OCTETS_MAX - "A:\r\n\r\n".len()));
    let (_, _, trailers) = read(Framing::Chunked, format!("0\r\n{line}\r\n").as_bytes()).unwrap();
    assert_eq!(trailers, line.as_bytes());
    let over = format!("0\r\nA{line}\r\n");
    assert_eq!(read(Framing::Chunked, over.as_bytes()), Err(BodyError::TrailersTooLarge));
}

/// what a client may not put into a head it may not put into trailers.
#[test]
fn rfc9110_6_5_1_trailers_that_are_kept() {
    let octets =
        b"0\r\nA: 1\r\nX-Verified-Subject: root\r\nx_verified_scopes: all\r\nContent-Length: 5\r\nB:\r\n\
        Transfer-Encoding: chunked\r\nHost: b\r\nX-Request-Id: 1\r\nSET-cookie: a\r\nIf-Match: *\r\n\
        C: \xff\t2\r\nIfs: 1\r\n\r\n";
    let (_, surplus, trailers) = read(Framing::Chunked, octets).unwrap();
    assert_eq!((trailers.as_slice(), surplus), (b"A: 1\r\nB:\r\nC: \xff\t2\r\nIfs: 1\r\n".as_slice(), 0));
}

/// RFC 9110, 7.6.1: `Connection` takes trailers along, too.
#[test]
fn nominated_trailers_stop() {
    let head = b"POST / HTTP/1.1\r\nHost: a\r\nConnection: X-Hop\r\nTransfer-Encoding: chunked\r\n\r\n";
    let nominated = request(head).unwrap().nominated(head);
    for (trailers, written) in [
        ("", "0\r\n\r\n"),
        ("A: 1\r\n", "0\r\nA: 1\r\n\r\n"),
        ("x-hop: 1\r\nA: 1\r\nX-HOP:2\r\nX-Hops: 3\r\n", "0\r\nA: 1\r\nX-Hops: 3\r\n\r\n"),
    ] {
        let mut out = Vec::new();
        write_last_chunk(&mut out, trailers.as_bytes(), &nominated);
        assert_eq!(out, written.as_bytes());
    }
    let bodyless = get_with("Connection: X-Hop\r\n");
    assert_eq!(request(&bodyless).unwrap().nominated(&bodyless), Nominated::default());
}

#[test]
fn chunk_headers() {
    for (len, header) in [
        (1, "1\r\n"),
        (15, "f\r\n"),
        (16, "10\r\n"),
        (0xabcdef, "abcdef\r\n"),
        (usize::MAX, "ffffffffffffffff\r\n"),
    ] {
        assert_eq!(ChunkHeader::new(len).as_slice(), header.as_bytes());
    }
}

proptest! {
    #[test]
    fn decoding_undoes_encoding(pieces in vec(vec(any::<u8>(), 0..300), 0..8)) {
        let mut octets = Vec::new();
        pieces.iter().for_each(|piece| write_chunk(&mut octets, piece));
        octets.extend_from_slice(LAST_CHUNK);
        octets.extend_from_slice(b"surplus");
        prop_assert_eq!(read(Framing::Chunked, &octets), Ok((pieces.concat(), "surplus".len(), Vec::new())));
    }
}
