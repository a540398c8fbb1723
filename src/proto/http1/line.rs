//! The lines of a head: where each ends, noted as the scan meets it, and what stands in it.

use super::error::HeadError;
use super::framing::Version;
use super::mask::usual_name_octets;
use crate::limits::FIELDS_MAX;

/// First line, fields, and the empty line.
const LINES_MAX: usize = FIELDS_MAX + 2;

/// Where the lines of one head end: the places of their CRs, in order.
#[derive(Debug, Clone, Copy)]
pub(super) struct LineEnds {
    at: [u16; LINES_MAX],
    /// Those that found no room are counted all the same.
    count: usize,
}

impl LineEnds {
    pub(super) fn new() -> Self {
        Self { at: [0; LINES_MAX], count: 0 }
    }

    pub(super) fn clear(&mut self) {
        self.count = 0;
    }

    /// Notes the CRs of a block: `crs` has a bit for each, and `base` is where the block begins.
    #[inline]
    pub(super) fn note(&mut self, mut crs: u64, base: usize) {
        while crs != 0 {
            if let Some(place) = self.at.get_mut(self.count) {
                *place = position(base + crs.trailing_zeros() as usize);
            }
            self.count += 1;
            crs &= crs - 1;
        }
    }

    /// How many field lines a whole head has.
    ///
    /// # Errors
    /// `TooManyFields`.
    pub(super) fn fields(&self) -> Result<usize, HeadError> {
        let fields = self.count.saturating_sub(2);
        if fields > FIELDS_MAX { Err(HeadError::TooManyFields) } else { Ok(fields) }
    }

    /// The first line of a head that begins at `start`, without its CRLF.
    pub(super) fn first<'a>(&self, octets: &'a [u8], start: usize) -> &'a [u8] {
        octets.get(start..usize::from(self.at[0])).unwrap_or_default()
    }

    /// Name and value of the field line `number`, from 0 (RFC 9112, 5).
    ///
    /// # Errors
    /// `FieldLine`.
    #[inline]
    pub(super) fn field<'a>(
        &self,
        number: usize,
        octets: &'a [u8],
    ) -> Result<(&'a [u8], &'a [u8]), HeadError> {
        const CRLF: usize = 2;
        let (Some(before), Some(end)) = (self.at.get(number), self.at.get(number + 1)) else {
            return Err(HeadError::TooManyFields);
        };
        name_and_value(octets, usize::from(*before) + CRLF, usize::from(*end)).ok_or(HeadError::FieldLine)
    }
}

#[inline]
#[allow(clippy::cast_possible_truncation, reason = "no head is longer than HEAD_OCTETS_MAX, which fits")]
fn position(at: usize) -> u16 {
    at as u16
}

/// Of the line at `start..end`: a token, a colon behind it, and the value less the white space around it. A line that is
/// folded begins with white space, which is no token.
#[inline]
fn name_and_value(octets: &[u8], start: usize, end: usize) -> Option<(&[u8], &[u8])> {
    // Looks behind the line too, since it takes many octets a step; the CR there ends every token.
    let length = token_length(octets.get(start..)?);
    match octets.get(start..end)?.split_at_checked(length)? {
        (name @ [_, ..], [b':', value @ ..]) => Some((name, without_blanks(value))),
        _ => None,
    }
}

/// A value without the white space around it (RFC 9112, 5), of which there is one SP in front, if any.
#[inline]
fn without_blanks(value: &[u8]) -> &[u8] {
    let value = value.strip_prefix(b" ").unwrap_or(value);
    match value {
        [first, .., last] if *first > b' ' && *last > b' ' => value,
        _ => value.trim_ascii(),
    }
}

/// Method, target and version (RFC 9112, 3).
///
/// # Errors
/// `RequestLine`, `Version`.
pub(super) fn request_line(line: &[u8]) -> Result<(&[u8], &[u8], Version), HeadError> {
    let mut words = line.splitn(3, |&octet| octet == b' ');
    let (Some(method), Some(target @ [_, ..]), Some(version)) = (words.next(), words.next(), words.next())
    else {
        return Err(HeadError::RequestLine);
    };
    if method.is_empty() || token_length(method) < method.len() {
        return Err(HeadError::RequestLine);
    }
    Ok((method, target, version_of(version, HeadError::RequestLine)?))
}

/// Version and status code; the reason is the origin's own affair (RFC 9112, 4).
///
/// # Errors
/// `StatusLine`.
pub(super) fn status_line(line: &[u8]) -> Result<(Version, u16), HeadError> {
    let Some((version, [b' ', code @ ..])) = line.split_first_chunk::<8>() else {
        return Err(HeadError::StatusLine);
    };
    let version = version_of(version, HeadError::StatusLine).map_err(|_| HeadError::StatusLine)?;
    let code = match code {
        [hundreds, tens, ones] | [hundreds, tens, ones, b' ', ..] => [hundreds, tens, ones],
        _ => return Err(HeadError::StatusLine),
    };
    let is_number = code.iter().all(|digit| digit.is_ascii_digit());
    match code.iter().fold(0, |code, digit| 10 * code + u16::from(**digit & 0xf)) {
        code @ 100..=599 if is_number => Ok((version, code)),
        _ => Err(HeadError::StatusLine),
    }
}

/// `HTTP/` DIGIT `.` DIGIT, with a major version of 1 and a minor one that is known (RFC 9112, 2.3).
fn version_of(version: &[u8], malformed: HeadError) -> Result<Version, HeadError> {
    match version {
        b"HTTP/1.1" => Ok(Version::Http11),
        b"HTTP/1.0" => Ok(Version::Http10),
        [b'H', b'T', b'T', b'P', b'/', b'0'..=b'9', b'.', b'0'..=b'9'] => Err(HeadError::Version),
        _ => Err(malformed),
    }
}

/// How many octets at the start are tchar (RFC 9110, 5.6.2).
#[inline]
fn token_length(octets: &[u8]) -> usize {
    let usual = usual_name_octets(octets);
    let rest = octets.get(usual..).unwrap_or_default();
    usual + rest.iter().position(|&octet| !is_token_octet(octet)).unwrap_or(rest.len())
}

/// tchar (RFC 9110, 5.6.2).
#[inline]
pub(super) fn is_token_octet(octet: u8) -> bool {
    TOKEN[usize::from(octet)]
}

static TOKEN: [bool; 256] = {
    let mut token = [false; 256];
    let mut octet = 0_u8;
    while octet < 128 {
        token[octet as usize] = octet.is_ascii_alphanumeric();
        octet += 1;
    }
    let mut marks = b"!#$%&'*+-.^_`|~".as_slice();
    while let [mark, rest @ ..] = marks {
        token[*mark as usize] = true;
        marks = rest;
    }
    token
};
