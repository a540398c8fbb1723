//! Finds the end of a head as its octets arrive, and refuses on sight what may not stand in one. Each octet
//! is looked at once, however the head is split, so a client that sends octet by octet costs no more than one
//! that does not; and every verdict depends on the octets up to it alone, so that no split changes it.

use super::error::HeadError;
use super::line::LineEnds;
use super::mask::{BLOCK, Masks, with_masks};
use crate::limits::{HEAD_OCTETS_MAX, METHOD_OCTETS_MAX, TARGET_OCTETS_MAX};

/// The longest first line that may still be a fair one: method, target and version, a space between.
const FIRST_LINE_OCTETS_MAX: usize = METHOD_OCTETS_MAX + 1 + TARGET_OCTETS_MAX + 1 + "HTTP/1.1".len();

/// Where the scan of one head stands.
#[derive(Debug)]
pub(super) struct HeadScanner {
    /// First octet not yet judged.
    at: usize,
    /// First octet of the head: 2 behind an empty line, which RFC 9112, 2.2 lets a client send before its
    /// request.
    start: usize,
    first_line_seen: bool,
    lines: LineEnds,
}

/// A whole head: `start..end` of the octets scanned, final empty line included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) start: usize,
    pub(super) end: usize,
}

impl HeadScanner {
    pub(super) fn new() -> Self {
        Self { at: 0, start: 0, first_line_seen: false, lines: LineEnds::new() }
    }

    /// Begins a new head.
    pub(super) fn restart(&mut self) {
        (self.at, self.start, self.first_line_seen) = (0, 0, false);
        self.lines.clear();
    }

    /// The lines of the head that was found.
    pub(super) fn lines(&self) -> &LineEnds {
        &self.lines
    }

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
        let unseen = octets.get(self.at..).unwrap_or_default();
        let mut before = Before::of(octets, self.at);
        let mut verdict = Ok(None);
        with_masks(unseen, |masks, judged| {
            verdict = self.judge(&masks, before, judged);
            self.at += judged;
            before = Before { cr: masks.cr >> 63, lf: masks.lf >> 62 };
            matches!(verdict, Ok(None))
        });
        match verdict? {
            Some(end) => Ok(Some(Found { start: self.start, end })),
            None if octets.len() == HEAD_OCTETS_MAX => Err(HeadError::TooLarge),
            None => Ok(None),
        }
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
            self.lines.note(masks.cr, self.at);
            Ok(None)
        } else if bad.trailing_zeros() <= end.trailing_zeros() {
            Err(HeadError::Control)
        } else {
            self.lines.note(masks.cr & ((end & end.wrapping_neg()) - 1), self.at);
            Ok(Some(self.at + end.trailing_zeros() as usize + 1))
        }
    }
}

/// What stands before a block: whether the last octet is CR, and which of the last two are LF, the
/// earlier in bit 0.
#[derive(Debug, Clone, Copy)]
struct Before {
    cr: u64,
    lf: u64,
}

impl Before {
    fn of(octets: &[u8], at: usize) -> Self {
        let is = |back: usize, octet| {
            u64::from(at.checked_sub(back).and_then(|at| octets.get(at)) == Some(&octet))
        };
        Self { cr: is(1, b'\r'), lf: is(2, b'\n') | is(1, b'\n') << 1 }
    }
}
