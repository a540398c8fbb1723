//! Trailers (RFC 9110, 6.5): field lines behind the last chunk. Those that a recipient would have had to know before the
//! content, or that the gateway alone may write, stop here; the rest go on.

use super::field::Known;

/// Names that no trailer may bear, in lower case: routing, request modifiers, authentication, response control data, and how
/// content is to be read (RFC 9110, 6.5.1); and those by which origins let a client's word stand for the method, the target
/// or the address. Those that a gateway acts on anyway are of [`Known`].
const FORBIDDEN: [&str; 27] = [
    "age",
    "authorization",
    "cache-control",
    "cookie",
    "expires",
    "from",
    "idempotency-key",
    "location",
    "origin",
    "pragma",
    "prefer",
    "priority",
    "range",
    "referer",
    "retry-after",
    "set-cookie",
    "strict-transport-security",
    "trailer",
    "true-client-ip",
    "user-agent",
    "vary",
    "via",
    "www-authenticate",
    "x-client-ip",
    "x-host",
    "x-method-override",
    "x-real-ip",
];

/// Families of such names: conditions, negotiation, what describes content, rules for web pages, and the like.
const FORBIDDEN_STARTS: [&str; 9] = [
    "accept",
    "access-control-",
    "content-",
    "if-",
    "proxy-",
    "sec-",
    "x-http-",
    "x-original-",
    "x-rewrite-",
];

/// What can be known of content only when it has been sent (RFC 9530, 2).
const CONTENT_DIGEST: &str = "content-digest";

/// Whether a trailer of this name, a token, may go on. With `_` for `-` it is the same name to CGI.
pub(super) fn may_pass(name: &[u8]) -> bool {
    let is = |wanted: &&str| begins(name, wanted) && name.len() == wanted.len();
    let is_forbidden = || FORBIDDEN.iter().any(is);
    let is_of_family = || FORBIDDEN_STARTS.iter().any(|start| begins(name, start)) && !is(&CONTENT_DIGEST);
    Known::of(name) == Known::Other && !is_forbidden() && !is_of_family()
}

/// Whether a name begins so, but for case and with `_` for `-`.
fn begins(name: &[u8], start: &str) -> bool {
    let fold = |octet: &u8| if *octet == b'_' { b'-' } else { octet.to_ascii_lowercase() };
    name.len() >= start.len()
        && name.iter().map(fold).zip(start.bytes()).all(|(octet, wanted)| octet == wanted)
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
