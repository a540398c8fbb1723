//! The Connection field (RFC 9110, 7.6.1): what it asks of the connection, and which fields it takes along.

use super::error::HeadError;
use super::field::{Known, Span};
use super::framing::Version;
use super::line::is_token_octet;
use crate::limits::NOMINATED_MAX;

/// The options of all Connection fields of one message.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct ConnectionOptions {
    pub(super) close: bool,
    pub(super) keep_alive: bool,
    pub(super) upgrade: bool,
    /// TE speaks to this hop (RFC 9110, 10.1.4).
    pub(super) te: bool,
    nominated: [Span; NOMINATED_MAX],
    count: usize,
}

impl ConnectionOptions {
    pub(super) fn clear(&mut self) {
        (self.close, self.keep_alive, self.upgrade, self.te) = (false, false, false, false);
        self.count = 0;
    }

    /// One Connection value, a slice of `octets`: a list of tokens, empty elements allowed (RFC 9110,
    /// 5.6.1.2).
    pub(super) fn absorb(&mut self, value: &[u8], octets: &[u8]) -> Result<(), HeadError> {
        for option in value.split(|&octet| octet == b',').map(<[u8]>::trim_ascii) {
            if option.eq_ignore_ascii_case(b"keep-alive") {
                self.keep_alive = true;
            } else if option.eq_ignore_ascii_case(b"close") {
                self.close = true;
            } else if option.eq_ignore_ascii_case(b"upgrade") {
                self.upgrade = true;
            } else if !option.is_empty() {
                self.nominate(option, octets)?;
            }
        }
        Ok(())
    }

    fn nominate(&mut self, option: &[u8], octets: &[u8]) -> Result<(), HeadError> {
        match Known::of(option) {
            // Removed in any case.
            Known::Http2Settings | Known::ProxyConnection | Known::TransferEncoding => return Ok(()),
            Known::Te => {
                self.te = true;
                return Ok(());
            }
            // Without these the next recipient would read another message.
            Known::ContentLength | Known::Host | Known::Lookalike => return Err(HeadError::Connection),
            _ if !option.iter().all(|&octet| is_token_octet(octet)) => return Err(HeadError::Connection),
            _ => {}
        }
        let slot = self.nominated.get_mut(self.count).ok_or(HeadError::Connection)?;
        *slot = Span::of(option, octets);
        self.count += 1;
        Ok(())
    }

    /// The field names that stop here, beyond those that always do.
    #[inline]
    pub(super) fn nominated(&self) -> &[Span] {
        self.nominated.get(..self.count).unwrap_or_default()
    }

    /// Whether the sender means the connection to outlast this message (RFC 9112, 9.3).
    pub(super) fn persists(&self, version: Version) -> bool {
        !self.close && (version == Version::Http11 || self.keep_alive)
    }
}
