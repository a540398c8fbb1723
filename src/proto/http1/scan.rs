//! Finds the end of a head as its octets arrive, and refuses on sight what may not stand in one. Each octet
//! is looked at once, however the head is split, so a client that sends octet by octet costs no more than one
//! that does not; and every verdict depends on the octets up to it alone, so that no split changes it.

#![allow(unsafe_code, reason = "SSE2, without which this scan would cost as much as the parser behind it")]

use super::error::HeadError;
use crate::limits::{HEAD_OCTETS_MAX, METHOD_OCTETS_MAX, TARGET_OCTETS_MAX};

/// The longest first line that may still be a fair one: method, target and version, a space between.
const FIRST_LINE_OCTETS_MAX: usize = METHOD_OCTETS_MAX + 1 + TARGET_OCTETS_MAX + 1 + "HTTP/1.1".len();

/// Where the scan of one head stands.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct HeadScanner {
    /// First octet not yet judged.
    at: usize,
    /// First octet of the head: 2 behind an empty line, which RFC 9112, 2.2 lets a client send before its
    /// request.
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
        if self.at == 0 {
            match octets {
                [b'\r'] => return Ok(None),
                [b'\r', b'\n', ..] => (self.start, self.at) = (2, 2),
                _ => {}
            }
        }
        let mut before = Before::octet(octets, self.at);
        let (blocks, rest) = octets.get(self.at..).unwrap_or_default().as_chunks::<BLOCK>();
        for block in blocks {
            let masks = Masks::of(block);
            if let Some(end) = self.judge(&masks, before, BLOCK)? {
                return Ok(Some(Found { start: self.start, end }));
            }
            self.at += BLOCK;
            before = Before { cr: masks.cr >> 63, lf: masks.lf >> 62 };
        }
        if !rest.is_empty() {
            let mut block = [b' '; BLOCK];
            block[..rest.len()].copy_from_slice(rest);
            if let Some(end) = self.judge(&Masks::of(&block), before, rest.len())? {
                return Ok(Some(Found { start: self.start, end }));
            }
            self.at += rest.len();
        }
        if octets.len() == HEAD_OCTETS_MAX { Err(HeadError::TooLarge) } else { Ok(None) }
    }

    /// The verdict on the block at `at`: an error, or where the head ends, whichever comes first in it.
    #[inline]
    fn judge(&mut self, masks: &Masks, before: Before, judged: usize) -> Result<Option<usize>, HeadError> {
        let valid = u64::MAX >> (BLOCK - judged);
        // LF and CR come in pairs only, and are the only control octets; two pairs in a row end the head.
        let unpaired = masks.lf ^ (masks.cr << 1 | before.cr);
        let bad = (masks.control & !(masks.cr | masks.lf) | unpaired) & valid;
        let end = masks.lf & (masks.lf << 2 | before.lf);
        if !self.first_line_seen {
            let line_end = self.at + judged.min(masks.control.trailing_zeros() as usize);
            if line_end - self.start > FIRST_LINE_OCTETS_MAX {
                return Err(HeadError::TargetTooLong);
            }
            self.first_line_seen = masks.control != 0;
        }
        if bad | end == 0 {
            Ok(None)
        } else if bad.trailing_zeros() <= end.trailing_zeros() {
            Err(HeadError::Control)
        } else {
            Ok(Some(self.at + end.trailing_zeros() as usize + 1))
        }
    }
}

/// What stood before a block: whether its last octet was CR, and which of its last two were LF, the earlier
/// in bit 0.
#[derive(Debug, Clone, Copy)]
struct Before {
    cr: u64,
    lf: u64,
}

impl Before {
    fn octet(octets: &[u8], at: usize) -> Self {
        let is = |back: usize, octet| {
            u64::from(at.checked_sub(back).and_then(|at| octets.get(at)) == Some(&octet))
        };
        Self { cr: is(1, b'\r'), lf: is(2, b'\n') | is(1, b'\n') << 1 }
    }
}

const BLOCK: usize = 64;

/// One bit for each octet of a block that is CR, that is LF, and that is any control octet below SP. DEL is
/// left to the parser.
#[derive(Debug, Default)]
struct Masks {
    cr: u64,
    lf: u64,
    control: u64,
}

impl Masks {
    #[inline]
    fn of(block: &[u8; BLOCK]) -> Self {
        let mut masks = Self::of_block(block);
        masks.pardon_tabs(block);
        masks
    }

    /// Takes HTAB, which is lawful and rare, out of the control octets.
    #[inline]
    fn pardon_tabs(&mut self, block: &[u8; BLOCK]) {
        let mut others = self.control & !(self.cr | self.lf);
        while others != 0 {
            if block.get(others.trailing_zeros() as usize) == Some(&b'\t') {
                self.control &= !(others & others.wrapping_neg());
            }
            others &= others - 1;
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[inline]
    fn of_block(block: &[u8; BLOCK]) -> Self {
        // SAFETY: the callee needs SSE2, which every x86-64 processor has.
        unsafe { Self::of_block_sse2(block) }
    }

    /// Sixteen octets a step.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "sse2")]
    fn of_block_sse2(block: &[u8; BLOCK]) -> Self {
        use std::arch::x86_64::{
            _mm_cmpeq_epi8, _mm_loadu_si128, _mm_min_epu8, _mm_movemask_epi8, _mm_set1_epi8,
        };
        let mut masks = Self::default();
        for (step, part) in block.as_chunks::<16>().0.iter().enumerate() {
            // SAFETY: `part` is 16 octets, as many as the unaligned load reads.
            let octets = unsafe { _mm_loadu_si128(part.as_ptr().cast()) };
            let is = |octet| _mm_cmpeq_epi8(octets, _mm_set1_epi8(octet));
            let bits = |found| u64::from(_mm_movemask_epi8(found).cast_unsigned()) << (16 * step);
            masks.control |= bits(_mm_cmpeq_epi8(_mm_min_epu8(octets, _mm_set1_epi8(0x1f)), octets));
            masks.cr |= bits(is(0x0d));
            masks.lf |= bits(is(0x0a));
        }
        masks
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn of_block(block: &[u8; BLOCK]) -> Self {
        let mut masks = Self::default();
        for (at, &octet) in block.iter().enumerate() {
            masks.control |= u64::from(octet < 0x20) << at;
            masks.cr |= u64::from(octet == b'\r') << at;
            masks.lf |= u64::from(octet == b'\n') << at;
        }
        masks
    }
}
