//! The field lines of a head: where each stands, and which of the names that a gateway acts on it bears.

use super::error::HeadError;
use super::line::LineEnds;
use crate::limits::{FIELDS_MAX, HEAD_OCTETS_MAX};

/// A stretch of a head.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    at: u16,
    len: u16,
}

impl Span {
    /// The place of `part` within `whole`, of which it is a slice.
    #[inline]
    pub(super) fn of(part: &[u8], whole: &[u8]) -> Self {
        let at = (part.as_ptr() as usize).wrapping_sub(whole.as_ptr() as usize);
        Self { at: position(at), len: position(part.len()) }
    }

    /// `from..to` of a head.
    #[inline]
    pub(super) fn between(from: usize, to: usize) -> Self {
        Self { at: position(from), len: position(to - from) }
    }

    #[inline]
    pub(super) fn start(self) -> usize {
        usize::from(self.at)
    }

    #[inline]
    pub(super) fn end(self) -> usize {
        self.start() + usize::from(self.len)
    }

    /// The octets; empty where `octets` is not what was parsed and is shorter.
    #[inline]
    pub(super) fn within(self, octets: &[u8]) -> &[u8] {
        octets.get(self.start()..self.end()).unwrap_or_default()
    }
}

#[inline]
#[allow(clippy::cast_possible_truncation, reason = "no head is longer than HEAD_OCTETS_MAX, which fits")]
fn position(at: usize) -> u16 {
    debug_assert!(at <= HEAD_OCTETS_MAX);
    at as u16
}

/// The names that a gateway acts on. All others pass through as they are.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    #[default]
    Other,
    Connection,
    ContentLength,
    Date,
    Expect,
    Forwarded,
    Host,
    Http2Settings,
    KeepAlive,
    MaxForwards,
    /// What some programs take for their environment's HTTP_PROXY (CVE-2016-5385): never a client's to set.
    Proxy,
    ProxyConnection,
    Te,
    Traceparent,
    Tracestate,
    TransferEncoding,
    Upgrade,
    Via,
    XAttempt,
    XForwardedFor,
    XForwardedHost,
    XForwardedProto,
    /// `X-Forwarded-` and anything else.
    XForwardedOther,
    /// `X_Forwarded_For` and the like: the same to CGI, and unknown to a proxy before this one, which would let a client's pass.
    XForwardedLookalike,
    XRequestId,
    /// `X-Verified-` and anything.
    XVerified,
    /// `Content_Length` and the like: framing to a recipient that takes `_` for `-`. No parsed head holds
    /// one.
    Lookalike,
}

impl Known {
    /// The class of a field name, by length and octets. Names that begin with `X-`, and those that never pass, are found with
    /// `_` for `-` as well, since an origin behind CGI cannot tell the two apart.
    #[must_use]
    #[inline]
    pub fn of(name: &[u8]) -> Self {
        let Some(&first) = name.first() else { return Self::Other };
        match (first | 0x20, name.len()) {
            (b'x', _) => Self::of_x(name),
            (b'c', 10) if exact(name, b"connection") => Self::Connection,
            (b'c', 14) => framing(name, b"content-length", Self::ContentLength),
            (b'd', 4) if exact(name, b"date") => Self::Date,
            (b'e', 6) if exact(name, b"expect") => Self::Expect,
            (b'f', 9) if exact(name, b"forwarded") => Self::Forwarded,
            (b'h', 4) if exact(name, b"host") => Self::Host,
            (b'h', 14) if folded(name, b"http2-settings") => Self::Http2Settings,
            (b'k', 10) if folded(name, b"keep-alive") => Self::KeepAlive,
            (b'm', 12) if exact(name, b"max-forwards") => Self::MaxForwards,
            (b'p', 5) if exact(name, b"proxy") => Self::Proxy,
            (b'p', 16) if folded(name, b"proxy-connection") => Self::ProxyConnection,
            (b't', 2) if exact(name, b"te") => Self::Te,
            (b't', 10) if exact(name, b"tracestate") => Self::Tracestate,
            (b't', 11) if exact(name, b"traceparent") => Self::Traceparent,
            (b't', 17) => framing(name, b"transfer-encoding", Self::TransferEncoding),
            (b'u', 7) if exact(name, b"upgrade") => Self::Upgrade,
            (b'v', 3) if exact(name, b"via") => Self::Via,
            _ => Self::Other,
        }
    }

    fn of_x(name: &[u8]) -> Self {
        match name.len() {
            12.. if folded_start(name, b"x-forwarded-") && name.contains(&b'_') => Self::XForwardedLookalike,
            9 if folded(name, b"x-attempt") => Self::XAttempt,
            12 if folded(name, b"x-request-id") => Self::XRequestId,
            15 if exact(name, b"x-forwarded-for") => Self::XForwardedFor,
            16 if exact(name, b"x-forwarded-host") => Self::XForwardedHost,
            17 if exact(name, b"x-forwarded-proto") => Self::XForwardedProto,
            12.. if folded_start(name, b"x-forwarded-") => Self::XForwardedOther,
            11.. if folded_start(name, b"x-verified-") => Self::XVerified,
            _ => Self::Other,
        }
    }
}

fn framing<const N: usize>(name: &[u8], wanted: &[u8; N], known: Known) -> Known {
    if exact(name, wanted) {
        known
    } else if folded(name, wanted) {
        Known::Lookalike
    } else {
        Known::Other
    }
}

/// Equal but for case. A token holds no octet that `| 0x20` would turn into a lower-case letter, digit or
/// hyphen, save the upper-case letters.
#[inline]
fn exact<const N: usize>(name: &[u8], wanted: &[u8; N]) -> bool {
    name.len() == N && name.iter().zip(wanted).fold(0, |differs, (a, b)| differs | ((a | 0x20) ^ b)) == 0
}

#[inline]
fn folded<const N: usize>(name: &[u8], wanted: &[u8; N]) -> bool {
    name.len() == N && folded_start(name, wanted)
}

/// Begins with `wanted`, but for case and with `_` for `-`.
#[inline]
fn folded_start<const N: usize>(name: &[u8], wanted: &[u8; N]) -> bool {
    let fold = |octet: u8| if octet == b'_' { b'-' } else { octet | 0x20 };
    name.first_chunk::<N>().is_some_and(|name| name.iter().zip(wanted).all(|(&a, &b)| fold(a) == b))
}

/// One field line.
#[derive(Debug, Default, Clone, Copy)]
pub struct Field {
    known: Known,
    name: Span,
    value: Span,
}

impl Field {
    #[must_use]
    #[inline]
    pub fn known(&self) -> Known {
        self.known
    }

    /// The name as sent.
    #[must_use]
    #[inline]
    pub fn name<'a>(&self, octets: &'a [u8]) -> &'a [u8] {
        self.name.within(octets)
    }

    /// The value without the white space around it; HTAB, SP, visible and obs-text octets (RFC 9110, 5.5).
    #[must_use]
    #[inline]
    pub fn value<'a>(&self, octets: &'a [u8]) -> &'a [u8] {
        self.value.within(octets)
    }

    /// `Name: value` without white space that means nothing.
    #[inline]
    pub(super) fn is_plainly_spaced(&self, octets: &[u8]) -> bool {
        let between = octets.get(self.name.end()..self.value.start());
        between == Some(b": ") && octets.get(self.value.end()) == Some(&b'\r')
    }

    /// First octet of the field's line.
    pub(super) fn line_start(&self) -> usize {
        self.name.start()
    }
}

/// The field lines of one head, in their order.
#[derive(Debug)]
pub struct Fields {
    list: [Field; FIELDS_MAX],
    count: usize,
}

impl Fields {
    pub(super) fn new() -> Self {
        Self { list: [Field::default(); FIELDS_MAX], count: 0 }
    }

    /// Reads all field lines of a head, before any is acted on: in one that is malformed, nothing means anything.
    ///
    /// # Errors
    /// `TooManyFields`, `FieldLine`.
    #[inline]
    pub(super) fn read(&mut self, lines: &LineEnds, octets: &[u8]) -> Result<(), HeadError> {
        self.count = 0;
        let count = lines.fields()?;
        let slots = self.list.get_mut(..count).unwrap_or_default();
        for (number, slot) in slots.iter_mut().enumerate() {
            let (name, value) = lines.field(number, octets)?;
            let known = Known::of(name);
            *slot = Field { known, name: Span::of(name, octets), value: Span::of(value, octets) };
        }
        self.count = count;
        Ok(())
    }

    #[must_use]
    #[inline]
    pub fn as_slice(&self) -> &[Field] {
        self.list.get(..self.count).unwrap_or_default()
    }

    /// The first field of a class.
    #[must_use]
    pub fn find(&self, known: Known) -> Option<&Field> {
        self.as_slice().iter().find(|field| field.known == known)
    }

    /// The values of all fields named `name` (any case), in their order.
    pub fn values<'a>(&'a self, name: &'a [u8], octets: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
        let named = move |field: &&Field| field.name(octets).eq_ignore_ascii_case(name);
        self.as_slice().iter().filter(named).map(move |field| field.value(octets))
    }
}
