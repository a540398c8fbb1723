//! The request-target (RFC 9112, 3.2).

use super::error::HeadError;
use super::field::Span;
use super::request::Method;
use crate::limits::TARGET_OCTETS_MAX;

/// Where the parts of a target stand. All are slices of the head.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Target {
    pub(super) whole: Span,
    /// Of the absolute form: host and port, which stand in for Host.
    pub(super) authority: Option<Span>,
    /// Empty in an absolute form without path.
    pub(super) path: Span,
    /// Behind the `?`.
    pub(super) query: Option<Span>,
}

impl Target {
    /// Reads a target, a slice of `octets`. Octets beyond ASCII and fragments are refused; of the rest, those that RFC 3986
    /// wants encoded pass, since clients send them and every recipient reads them alike.
    #[inline]
    pub(super) fn parse(target: &[u8], method: Method, octets: &[u8]) -> Result<Self, HeadError> {
        if target.len() > TARGET_OCTETS_MAX {
            return Err(HeadError::TargetTooLong);
        }
        if target.iter().fold(false, |bad, &octet| bad | (octet >= 0x7f) | (octet <= b' ') | (octet == b'#'))
        {
            return Err(HeadError::Target);
        }
        let whole = Span::of(target, octets);
        match target {
            [b'/', ..] => Ok(Self { whole, authority: None, ..Self::path_and_query(target, octets) }),
            b"*" if method == Method::Options => Ok(Self { whole, path: whole, ..Self::default() }),
            _ => Self::absolute(target, octets).map(|parts| Self { whole, ..parts }),
        }
    }

    /// `http://authority[/path][?query]`, https likewise (RFC 9110, 4.2); user information is refused (4.2.4).
    fn absolute(target: &[u8], octets: &[u8]) -> Result<Self, HeadError> {
        let rest = strip_ignoring_case(target, b"http://")
            .or_else(|| strip_ignoring_case(target, b"https://"))
            .ok_or(HeadError::Target)?;
        let end = rest.iter().position(|&octet| octet == b'/' || octet == b'?').unwrap_or(rest.len());
        let (authority, rest) = rest.split_at(end);
        Ok(Self { authority: Some(Span::of(authority, octets)), ..Self::path_and_query(rest, octets) })
    }

    #[inline]
    fn path_and_query(target: &[u8], octets: &[u8]) -> Self {
        let mark = target.iter().position(|&octet| octet == b'?');
        let (path, query) = match mark {
            Some(mark) => (&target[..mark], Some(Span::of(&target[mark + 1..], octets))),
            None => (target, None),
        };
        Self { path: Span::of(path, octets), query, ..Self::default() }
    }
}

fn strip_ignoring_case<'a>(octets: &'a [u8], prefix: &[u8]) -> Option<&'a [u8]> {
    let (start, rest) = octets.split_at_checked(prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then_some(rest)
}
