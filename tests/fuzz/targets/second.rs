//! What httparse makes of the same head: a second opinion. It takes more (bare LF, other versions' lines), so what it
//! refuses must be refused, and what both take must read alike.

use httparse::{EMPTY_HEADER, Header, Request, Response, Status};

use crate::limits::FIELDS_MAX;
use crate::proto::http1::{Fields, HeadError, Parsed, RequestHead, ResponseHead, Version};

pub fn request(octets: &[u8], verdict: &Result<Parsed, HeadError>, head: &RequestHead) {
    let mut lines = [EMPTY_HEADER; FIELDS_MAX];
    let mut theirs = Request::new(&mut lines);
    // They pass by any number of empty lines, we by one (RFC 9112, 2.2).
    if octets.starts_with(b"\r\n\r\n") {
        return;
    }
    let outcome = theirs.parse(octets);
    if !agree(outcome, verdict) {
        return;
    }
    assert_eq!(theirs.method.map(str::as_bytes), Some(head.method_text(octets)));
    assert_eq!(theirs.path.map(str::as_bytes), Some(head.target(octets)));
    assert_eq!(theirs.version, Some(minor(head.version())));
    same_fields(theirs.headers, head.fields(), octets);
}

pub fn response(octets: &[u8], verdict: &Result<Parsed, HeadError>, head: &ResponseHead) {
    let mut lines = [EMPTY_HEADER; FIELDS_MAX];
    let mut theirs = Response::new(&mut lines);
    // They pass by empty lines, we by none.
    if octets.starts_with(b"\r\n") {
        return;
    }
    let outcome = theirs.parse(octets);
    if !agree(outcome, verdict) {
        return;
    }
    assert_eq!((theirs.code, theirs.version), (Some(head.status()), Some(minor(head.version()))));
    same_fields(theirs.headers, head.fields(), octets);
}

/// Compares the verdicts; true if both took the head.
fn agree(theirs: httparse::Result<usize>, ours: &Result<Parsed, HeadError>) -> bool {
    match ours {
        Ok(Parsed::Complete { len }) => {
            assert_eq!(theirs, Ok(Status::Complete(*len)));
            true
        }
        // Nothing is wrong with it yet, and it has no end: an LF alone would end a line of theirs.
        Ok(Parsed::Partial) => {
            assert!(matches!(theirs, Ok(Status::Partial) | Err(_)), "{theirs:?}");
            false
        }
        Err(HeadError::RequestLine | HeadError::StatusLine | HeadError::FieldLine) => {
            let is_status = matches!(ours, Err(HeadError::StatusLine));
            // They take any three digits for a status code.
            assert!(is_status || !matches!(theirs, Ok(Status::Complete(_))), "{ours:?}");
            false
        }
        Err(_) => false,
    }
}

fn same_fields(theirs: &[Header<'_>], ours: &Fields, octets: &[u8]) {
    let theirs: Vec<(&[u8], &[u8])> = theirs.iter().map(|line| (line.name.as_bytes(), line.value)).collect();
    let ours: Vec<(&[u8], &[u8])> =
        ours.as_slice().iter().map(|field| (field.name(octets), field.value(octets))).collect();
    assert_eq!(theirs, ours);
}

fn minor(version: Version) -> u8 {
    u8::from(version == Version::Http11)
}
