//! Trailers (RFC 9110, 6.5): field lines behind the last chunk. Those that a recipient would have had to know before the
//! content, or that the gateway alone may write, stop here; the rest go on.

use super::field::Known;

/// Names that no trailer may bear, in lower case: message framing, routing, request modifiers, authentication, response
/// control data, and how content is to be read (RFC 9110, 6.5.1). Those that a gateway acts on anyway are of
/// [`Known`], the conditions all begin with `if-`.
const FORBIDDEN: [&str; 20] = [
    "age",
    "authorization",
    "cache-control",
    "content-encoding",
    "content-location",
    "content-range",
    "content-type",
    "cookie",
    "expires",
    "location",
    "pragma",
    "proxy-authenticate",
    "proxy-authorization",
    "range",
    "retry-after",
    "set-cookie",
    "trailer",
    "vary",
    "via",
    "www-authenticate",
];

/// Whether a trailer of this name, a token, may go on.
pub(super) fn may_pass(name: &[u8]) -> bool {
    let is_condition = name.get(..3).is_some_and(|start| start.eq_ignore_ascii_case(b"if-"));
    let is_forbidden = || FORBIDDEN.iter().any(|forbidden| name.eq_ignore_ascii_case(forbidden.as_bytes()));
    Known::of(name) == Known::Other && !is_condition && !is_forbidden()
}

/// Field names that stop with their connection (RFC 9110, 7.6.1), for when the head is no longer at hand.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Nominated(Vec<Box<[u8]>>);

impl Nominated {
    pub(super) fn of<'a>(names: impl Iterator<Item = &'a [u8]>) -> Self {
        Self(names.map(Box::from).collect())
    }
}

/// Appends what ends a chunked body: the last chunk, `trailers` (whole lines, each ended by CRLF) but for those that
/// `Connection` nominated, and the empty line.
pub fn write_last_chunk(out: &mut Vec<u8>, trailers: &[u8], nominated: &Nominated) {
    out.extend_from_slice(b"0\r\n");
    for line in trailers.split_inclusive(|&octet| octet == b'\n') {
        let name = line.split(|&octet| octet == b':').next().unwrap_or_default();
        if !nominated.0.iter().any(|nominated| nominated.eq_ignore_ascii_case(name)) {
            out.extend_from_slice(line);
        }
    }
    out.extend_from_slice(b"\r\n");
}
