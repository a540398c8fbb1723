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
    pub(super) fn parse(target: &str, method: Method, octets: &[u8]) -> Result<Self, HeadError> {
        if target.len() > TARGET_OCTETS_MAX {
            return Err(HeadError::TargetTooLong);
        }
        if target.bytes().fold(false, |bad, octet| bad | (octet >= 0x7f) | (octet <= b' ') | (octet == b'#'))
        {
            return Err(HeadError::Target);
        }
        let whole = Span::of(target.as_bytes(), octets);
        match target {
            "*" if method == Method::Options => Ok(Self { whole, path: whole, ..Self::default() }),
            _ if target.starts_with('/') => Ok(Self { whole, ..Self::path_and_query(target, octets) }),
            _ => Self::absolute(target, octets).map(|parts| Self { whole, ..parts }),
        }
    }

    /// `http://authority[/path][?query]`, https likewise (RFC 9110, 4.2); user information is refused
    /// (4.2.4).
    fn absolute(target: &str, octets: &[u8]) -> Result<Self, HeadError> {
        let (scheme, rest) = target.split_once("://").ok_or(HeadError::Target)?;
        let scheme = match scheme {
            _ if scheme.eq_ignore_ascii_case("http") => Scheme::Http,
            _ if scheme.eq_ignore_ascii_case("https") => Scheme::Https,
            _ => return Err(HeadError::Target),
        };
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, rest) = rest.split_at(end);
        let authority = Some(Span::of(authority.as_bytes(), octets));
        Ok(Self { scheme: Some(scheme), authority, ..Self::path_and_query(rest, octets) })
    }

    #[inline]
    fn path_and_query(target: &str, octets: &[u8]) -> Self {
        let (path, query) = match target.split_once('?') {
            Some((path, query)) => (path, Some(Span::of(query.as_bytes(), octets))),
            None => (target, None),
        };
        Self { path: Span::of(path.as_bytes(), octets), query, ..Self::default() }
    }
}
