//! How long a body is: RFC 9112, 6. The one place where Content-Length and Transfer-Encoding are read.

use super::error::HeadError;
use super::field::Field;

/// HTTP/1.0 or HTTP/1.1; no other minor version is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    Http10,
    Http11,
}

/// What ends a body (RFC 9112, 6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// No body: the message ends with its head.
    None,
    /// As many octets.
    Length(u64),
    /// The chunked coding.
    Chunked,
    /// The end of the connection; responses only.
    UntilClose,
}

/// How far a head has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parsed {
    /// Well so far; call again with more octets behind the same ones.
    Partial,
    /// The head takes the first `len` octets; what follows is body or surplus.
    Complete { len: usize },
}

/// What the framing fields of one message said, gathered field by field.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct FramingFields {
    length: Option<u64>,
    coding: bool,
}

impl FramingFields {
    /// One Content-Length value: 1*DIGIT, once (RFC 9110, 8.6).
    pub(super) fn content_length(&mut self, value: &[u8]) -> Result<(), HeadError> {
        if self.length.is_some() {
            return Err(HeadError::LengthRepeated);
        }
        // Recipients that count in 63 bits would read a longer one as negative.
        let length = decimal(value).filter(|length| i64::try_from(*length).is_ok());
        self.length = Some(length.ok_or(HeadError::LengthMalformed)?);
        Ok(())
    }

    /// One Transfer-Encoding value: `chunked`, once (RFC 9112, 6.1 and 7).
    pub(super) fn transfer_encoding(&mut self, value: &[u8]) -> Result<(), HeadError> {
        if self.coding || !value.eq_ignore_ascii_case(b"chunked") {
            return Err(HeadError::CodingUnknown);
        }
        self.coding = true;
        Ok(())
    }

    /// The framing that the fields ask for, `absent` where there are none.
    pub(super) fn settle(self, version: Version, absent: Framing) -> Result<Framing, HeadError> {
        match (self.length, self.coding) {
            (None, false) => Ok(absent),
            (Some(octets), false) => Ok(Framing::Length(octets)),
            (Some(_), true) => Err(HeadError::LengthWithCoding),
            (None, true) if version == Version::Http10 => Err(HeadError::CodingInHttp10),
            (None, true) => Ok(Framing::Chunked),
        }
    }
}

/// A Content-Length line that every recipient reads alike: one space before its value, none behind it, and no leading zeros,
/// which some take for the mark of an octal number.
#[inline]
pub(super) fn is_plain_length(field: &Field, octets: &[u8]) -> bool {
    field.is_plainly_spaced(octets) && !matches!(field.value(octets), [b'0', _, ..])
}

/// Appends a Content-Length line that says the same plainly.
#[cold]
pub(super) fn write_length(out: &mut Vec<u8>, digits: &[u8]) {
    let zeros = digits.iter().take_while(|&&digit| digit == b'0').count();
    let first = zeros.min(digits.len().saturating_sub(1));
    out.extend_from_slice(b"Content-Length: ");
    out.extend_from_slice(digits.get(first..).unwrap_or_default());
    out.extend_from_slice(b"\r\n");
}

/// 1*DIGIT within 64 bits.
pub(super) fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |value, &octet| {
        let digit = octet.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value.checked_mul(10)?.checked_add(u64::from(digit))
    })
}
