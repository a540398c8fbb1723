//! The request-target (RFC 9112, 3.2).

use super::error::HeadError;
use super::field::Span;
use super::request::Method;
use super::write_request::Scheme;
use crate::limits::TARGET_OCTETS_MAX;

/// Where the parts of a target stand. All are slices of the head.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Target {
    pub(super) whole: Span,
    /// Of the absolute form.
    pub(super) scheme: Option<Scheme>,
    /// Of the absolute form: host and port, which stand in for Host.
    pub(super) authority: Option<Span>,
    /// Empty in an absolute form without path.
    pub(super) path: Span,
    /// Behind the `?`.
    pub(super) query: Option<Span>,
}

impl Target {
    /// Reads a target, a slice of `octets`. Octets beyond ASCII and fragments are refused; of the rest, those
    /// that RFC 3986 wants encoded pass, since clients send them and every recipient reads them alike.
    #[inline]
    pub(super) fn parse(target: &[u8], method: Method, octets: &[u8]) -> Result<Self, HeadError> {
        if target.len() > TARGET_OCTETS_MAX {
            return Err(HeadError::TargetTooLong);
        }
        let is_bad = |octet: u8| (octet >= 0x7f) | (octet <= b' ') | (octet == b'#');
        if target.iter().fold(false, |bad, &octet| bad | is_bad(octet)) {
            return Err(HeadError::Target);
        }
        let whole = Span::of(target, octets);
        match target {
            b"*" if method == Method::Options => Ok(Self { whole, path: whole, ..Self::default() }),
            [b'/', ..] => Ok(Self { whole, ..Self::path_and_query(target, octets) }),
            _ => Self::absolute(target, octets).map(|parts| Self { whole, ..parts }),
        }
    }

    /// `http://authority[/path][?query]`, https likewise (RFC 9110, 4.2); user information is refused
    /// (4.2.4).
    fn absolute(target: &[u8], octets: &[u8]) -> Result<Self, HeadError> {
        const MARK: &[u8] = b"://";
        let mark = target.windows(MARK.len()).position(|part| part == MARK).ok_or(HeadError::Target)?;
        let (scheme, rest) = (&target[..mark], &target[mark + MARK.len()..]);
        let scheme = match scheme {
            _ if scheme.eq_ignore_ascii_case(b"http") => Scheme::Http,
            _ if scheme.eq_ignore_ascii_case(b"https") => Scheme::Https,
            _ => return Err(HeadError::Target),
        };
        let end = rest.iter().position(|octet| b"/?".contains(octet)).unwrap_or(rest.len());
        let (authority, rest) = rest.split_at(end);
        let authority = Some(Span::of(authority, octets));
        Ok(Self { scheme: Some(scheme), authority, ..Self::path_and_query(rest, octets) })
    }

    #[inline]
    fn path_and_query(target: &[u8], octets: &[u8]) -> Self {
        let (path, query) = match target.iter().position(|&octet| octet == b'?') {
            Some(mark) => (&target[..mark], Some(Span::of(&target[mark + 1..], octets))),
            None => (target, None),
        };
        Self { path: Span::of(path, octets), query, ..Self::default() }
    }
}
