//! A part of a file that is read once more, beside what is read on.

use std::io;

use super::lines::{Place, Text};
use super::{Open, Read};

/// Lines of a file, from one on up to another. It keeps the file, whatever becomes of its name.
pub(in crate::feed) struct Span {
    open: Open,
    /// Where the last of its lines begins.
    last: u64,
}

/// What reading a span came to.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::feed) enum Rest {
    /// There may be lines now.
    More,
    /// Every line was returned.
    Nothing,
    /// Other octets stand there by now: what they said is gone.
    Lost,
}

impl Span {
    /// Of one line so far, at a place of a file that was read before.
    ///
    /// # Errors
    /// The machine lacks descriptors, or the file is shorter by now.
    pub(super) fn new(of: &Open, place: Place) -> io::Result<Span> {
        let mut open = Open::new(of.number, of.file.try_clone()?, of.identity);
        open.go_to(place)?;
        Ok(Span { open, last: place.offset })
    }

    pub(super) fn is_of(&self, number: u64) -> bool {
        self.open.number == number
    }

    /// Its last line is this one, which comes after all others.
    pub(super) fn reach(&mut self, place: Place) {
        debug_assert!(place.offset >= self.last, "a span grows with what is read");
        self.last = place.offset;
    }

    /// Octets that are left, but for its last line.
    pub(in crate::feed) fn octets(&self) -> u64 {
        self.last.saturating_sub(self.open.lines.place().offset)
    }

    /// Where the next line begins, in this file.
    pub(super) fn place(&self) -> Place {
        self.open.lines.place()
    }

    /// The next line of what was read.
    pub(in crate::feed) fn line(&mut self) -> Option<Text<'_>> {
        if self.is_over() {
            return None;
        }
        self.open.lines.next().map(|(_, text)| text)
    }

    fn is_over(&self) -> bool {
        self.place().offset > self.last
    }

    /// Reads on. Lines that were read before are to be taken first.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(in crate::feed) fn read(&mut self, buffer: &mut [u8]) -> io::Result<Rest> {
        if self.is_over() {
            return Ok(Rest::Nothing);
        }
        Ok(match self.open.read(buffer)? {
            Read::Octets => Rest::More,
            Read::Nothing | Read::Others => Rest::Lost,
        })
    }
}
