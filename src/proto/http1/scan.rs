//! Finds the end of a head as its octets arrive, and refuses on sight what may not stand in one. Each octet is looked at
//! once, however the head is split, so a client that sends octet by octet costs no more than one that does not; and
//! every verdict depends on the octets up to it alone, so that no split changes it.

use super::error::HeadError;
use crate::limits::{HEAD_OCTETS_MAX, METHOD_OCTETS_MAX, TARGET_OCTETS_MAX};

/// The longest first line that may still be a fair one: method, target and version, a space between.
const FIRST_LINE_OCTETS_MAX: usize = METHOD_OCTETS_MAX + 1 + TARGET_OCTETS_MAX + 1 + "HTTP/1.1".len();

/// Where the scan of one head stands.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct HeadScanner {
    /// First octet not yet judged.
    at: usize,
    /// First octet of the line that `at` is in.
    line: usize,
    /// First octet of the head: 2 behind an empty line, which RFC 9112, 2.2 lets a client send before its request.
    start: usize,
    first_line_seen: bool,
}

/// A whole head: `start..end` of the octets scanned, final empty line included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) start: usize,
    pub(super) end: usize,
}

impl HeadScanner {
    /// Judges what has come since the last call; `octets` begins with what that call was given.
    pub(super) fn advance(&mut self, octets: &[u8]) -> Result<Option<Found>, HeadError> {
        let octets = octets.get(..HEAD_OCTETS_MAX).unwrap_or(octets);
        let mut controls = Controls::from(octets, self.at);
        self.at = octets.len();
        while let Some(cr) = controls.next() {
            if !self.first_line_seen && cr - self.line > FIRST_LINE_OCTETS_MAX {
                return Err(HeadError::TargetTooLong);
            }
            match octets.get(cr..) {
                Some([b'\r', b'\n', ..]) => {}
                Some([b'\r']) => {
                    self.at = cr;
                    break;
                }
                _ => return Err(HeadError::Control),
            }
            controls.next(); // the LF
            if let Some(found) = self.end_line(cr) {
                return Ok(Some(found));
            }
        }
        self.outgrown(octets.len())
    }

    /// A line ends with the CRLF at `cr`; an empty one ends the head.
    #[inline]
    fn end_line(&mut self, cr: usize) -> Option<Found> {
        let empty = cr == self.line;
        self.line = cr + 2;
        if !empty {
            self.first_line_seen = true;
        } else if cr == 0 {
            self.start = self.line;
        } else {
            return Some(Found { start: self.start, end: self.line });
        }
        None
    }

    /// The verdict on a head that has not ended within `seen` octets.
    fn outgrown(&self, seen: usize) -> Result<Option<Found>, HeadError> {
        if !self.first_line_seen && self.at - self.line > FIRST_LINE_OCTETS_MAX {
            return Err(HeadError::TargetTooLong);
        }
        if seen == HEAD_OCTETS_MAX {
            return Err(HeadError::TooLarge);
        }
        Ok(None)
    }
}

const BLOCK: usize = 64;

/// The positions of all control octets but HTAB, in order.
struct Controls<'a> {
    octets: &'a [u8],
    /// First octet of the next block.
    next_block: usize,
    /// First octet of the block that `mask` tells of, one bit an octet.
    block: usize,
    mask: u64,
}

impl<'a> Controls<'a> {
    fn from(octets: &'a [u8], at: usize) -> Self {
        Self { octets, next_block: at, block: at, mask: 0 }
    }

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.mask == 0 {
            let rest = self.octets.get(self.next_block..).filter(|rest| !rest.is_empty())?;
            self.block = self.next_block;
            self.next_block += BLOCK;
            self.mask = match rest.first_chunk::<BLOCK>() {
                Some(block) => control_mask(block),
                None => {
                    let mut block = [b' '; BLOCK];
                    block[..rest.len()].copy_from_slice(rest);
                    control_mask(&block)
                }
            };
        }
        let position = self.block + self.mask.trailing_zeros() as usize;
        self.mask &= self.mask - 1;
        Some(position)
    }
}

/// One bit for each control octet but HTAB.
#[cfg(target_arch = "x86_64")]
#[inline]
#[allow(unsafe_code, reason = "the safe forms of the loop cost four times as much")]
fn control_mask(block: &[u8; BLOCK]) -> u64 {
    // SAFETY: the callee needs SSE2, which every x86-64 processor has.
    unsafe { control_mask_sse2(block) }
}

/// Sixteen octets a step.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "sse2")]
fn control_mask_sse2(block: &[u8; BLOCK]) -> u64 {
    use std::arch::x86_64::{
        _mm_andnot_si128, _mm_cmpeq_epi8, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128, _mm_set_epi64x,
        _mm_set1_epi8,
    };
    let (words, _) = block.as_chunks::<8>();
    let mut mask = 0;
    for (step, pair) in words.as_chunks::<2>().0.iter().enumerate() {
        let octets = _mm_set_epi64x(i64::from_le_bytes(pair[1]), i64::from_le_bytes(pair[0]));
        let low = _mm_cmpeq_epi8(_mm_min_epu8(octets, _mm_set1_epi8(0x1f)), octets);
        let tab = _mm_cmpeq_epi8(octets, _mm_set1_epi8(0x09));
        let delete = _mm_cmpeq_epi8(octets, _mm_set1_epi8(0x7f));
        let control = _mm_or_si128(_mm_andnot_si128(tab, low), delete);
        mask |= u64::from(_mm_movemask_epi8(control).cast_unsigned()) << (16 * step);
    }
    mask
}

/// One bit for each control octet but HTAB.
#[cfg(not(target_arch = "x86_64"))]
fn control_mask(block: &[u8; BLOCK]) -> u64 {
    block.iter().enumerate().fold(0, |mask, (at, &octet)| {
        let control = (octet < 0x20 && octet != b'\t') || octet == 0x7f;
        mask | u64::from(control) << at
    })
}
