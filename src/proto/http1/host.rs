//! Host names as the table wants them: lower-case, without port and trailing dot.

use super::error::HeadError;
use crate::limits::HOST_OCTETS_MAX;

/// The host of one request; empty where an HTTP/1.0 request named none.
#[derive(Debug, Clone, Copy)]
pub(super) struct HostName {
    octets: [u8; HOST_OCTETS_MAX],
    len: usize,
}

impl HostName {
    pub(super) fn empty() -> Self {
        Self { octets: [0; HOST_OCTETS_MAX], len: 0 }
    }

    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    #[inline]
    pub(super) fn as_octets(&self) -> &[u8] {
        self.octets.get(..self.len).unwrap_or_default()
    }

    /// Takes `uri-host [ ":" port ]` (RFC 9110, 7.2). Of the names that RFC 3986 allows, only those of DNS
    /// can be routed, so a name is letters, digits, `-`, `_` and `.`; an IPv6 address stands in brackets.
    pub(super) fn set(&mut self, authority: &[u8]) -> Result<(), HeadError> {
        self.len = 0;
        let name = match authority {
            [b'[', ..] => self.literal(authority)?,
            _ => self.name(authority)?,
        };
        check_port(&authority[name..])
    }

    /// Copies a name and tells how many octets of `authority` it took.
    fn name(&mut self, authority: &[u8]) -> Result<usize, HeadError> {
        let mut taken = 0;
        for (slot, &octet) in self.octets.iter_mut().zip(authority) {
            let lower = NAME_OCTETS[usize::from(octet)];
            if lower == 0 {
                break;
            }
            *slot = lower;
            taken += 1;
        }
        self.len = taken;
        // A name of full length may still bear its trailing dot.
        if authority.get(taken) == Some(&b'.') {
            taken += 1;
        } else if self.as_octets().ends_with(b".") {
            self.len -= 1;
        }
        if self.len == 0 || self.as_octets().ends_with(b".") {
            return Err(HeadError::HostMalformed);
        }
        Ok(taken)
    }

    /// Copies an IPv6 literal, brackets included, and tells how many octets of `authority` it took.
    fn literal(&mut self, authority: &[u8]) -> Result<usize, HeadError> {
        let end = authority.iter().position(|&octet| octet == b']').ok_or(HeadError::HostMalformed)?;
        let address = authority.get(1..end).and_then(|address| std::str::from_utf8(address).ok());
        if address.and_then(|address| address.parse::<std::net::Ipv6Addr>().ok()).is_none() {
            return Err(HeadError::HostMalformed);
        }
        for (slot, octet) in self.octets.iter_mut().zip(&authority[..=end]) {
            *slot = octet.to_ascii_lowercase();
        }
        self.len = end + 1;
        Ok(self.len)
    }
}

/// Nothing, or a colon and a port, which may be empty (RFC 3986, 3.2.3).
fn check_port(rest: &[u8]) -> Result<(), HeadError> {
    let Some((colon, digits)) = rest.split_first() else { return Ok(()) };
    let port = digits.iter().try_fold(0u32, |port, octet| {
        let digit = u32::from(octet.wrapping_sub(b'0'));
        (digit <= 9 && port <= u32::from(u16::MAX)).then_some(port * 10 + digit)
    });
    match port {
        Some(port) if *colon == b':' && port <= u32::from(u16::MAX) => Ok(()),
        _ => Err(HeadError::HostMalformed),
    }
}

/// An octet of a name in lower case, or 0.
static NAME_OCTETS: [u8; 256] = {
    let mut table = [0; 256];
    let mut octet = 0u8;
    while octet < 128 {
        if octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'_' | b'.') {
            table[octet as usize] = octet.to_ascii_lowercase();
        }
        octet += 1;
    }
    table
};
