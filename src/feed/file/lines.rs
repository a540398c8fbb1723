//! Octets to lines, however the octets were split. Pure.

/// Where a line begins in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// From 1.
    pub(crate) line: u64,
    /// In octets.
    pub(crate) offset: u64,
    /// The CRC32C of everything before it.
    pub(crate) sum: u32,
}

impl Place {
    pub(crate) const START: Place = Place { line: 1, offset: 0, sum: 0 };
}

/// What stands on a line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Text<'a> {
    /// Without its LF.
    Whole(&'a [u8]),
    /// Longer than a line may be: its octets. What it said is gone.
    Overlong(usize),
}

/// Cuts octets into lines. Holds at most one line that has not ended, and what it was last given.
pub(crate) struct Lines {
    held: Vec<u8>,
    /// Where the next line begins in `held`, and up to where no LF is.
    begin: usize,
    searched: usize,
    /// Of the next line.
    place: Place,
    /// Octets of the next line that were let go because it is too long, and the CRC32C of everything up to their end.
    dropped: usize,
    sum: u32,
    most: usize,
}

impl Lines {
    /// Lines of at most so many octets, from a place on at which one begins.
    pub(crate) fn new(place: Place, most: usize) -> Lines {
        Lines { held: Vec::new(), begin: 0, searched: 0, place, dropped: 0, sum: place.sum, most }
    }

    /// Where the next line begins that was not yet returned.
    pub(crate) fn place(&self) -> Place {
        self.place
    }

    /// Octets of a line that has not ended.
    pub(crate) fn torn(&self) -> usize {
        self.dropped + self.held.len() - self.begin
    }

    /// Takes what follows.
    pub(crate) fn fill(&mut self, octets: &[u8]) {
        self.held.drain(..self.begin);
        self.searched -= self.begin;
        self.begin = 0;
        self.held.extend_from_slice(octets);
    }

    /// The next line that has ended, and its place.
    pub(crate) fn next(&mut self) -> Option<(Place, Text<'_>)> {
        let Some(at) = self.held[self.searched..].iter().position(|octet| *octet == b'\n') else {
            self.searched = self.held.len();
            if self.held.len() - self.begin > self.most {
                self.dropped += self.held.len() - self.begin;
                self.sum = crc32c::crc32c_append(self.sum, &self.held[self.begin..]);
                self.begin = self.held.len();
            }
            return None;
        };
        let line = self.begin..self.searched + at;
        let (place, octets) = (self.place, self.dropped + line.len());
        self.sum = crc32c::crc32c_append(self.sum, &self.held[line.start..=line.end]);
        (self.begin, self.searched, self.dropped) = (line.end + 1, line.end + 1, 0);
        self.place = Place { line: place.line + 1, offset: place.offset + octets as u64 + 1, sum: self.sum };
        let text = match octets > self.most {
            true => Text::Overlong(octets),
            false => Text::Whole(&self.held[line]),
        };
        Some((place, text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MOST: usize = 8;

    fn owned(text: &Text<'_>) -> Result<Vec<u8>, usize> {
        match text {
            Text::Whole(line) => Ok(line.to_vec()),
            Text::Overlong(octets) => Err(*octets),
        }
    }

    proptest! {
        #[test]
        fn lines_do_not_depend_on_splits(octets in "[ab\n]{0,60}", cuts in prop::collection::vec(0_usize..20, 0..20)) {
            let before = crc32c::crc32c(b"what stands before it\n");
            let mut lines = Lines::new(Place { line: 3, offset: 100, sum: before }, MOST);
            let (mut rest, mut got) = (octets.as_bytes(), Vec::new());
            for cut in cuts.into_iter().chain([octets.len()]) {
                let (now, later) = rest.split_at(cut.min(rest.len()));
                lines.fill(now);
                rest = later;
                while let Some((place, text)) = lines.next() {
                    got.push((place, owned(&text)));
                }
                prop_assert!(lines.held.len() - lines.begin <= MOST, "no more is held than one line");
            }
            let (mut expected, mut place) = (Vec::new(), Place { line: 3, offset: 100, sum: before });
            let mut all: Vec<&str> = octets.split('\n').collect();
            let torn = all.pop().unwrap_or_default();
            for line in all {
                let whole = line.len() <= MOST;
                expected.push((place, if whole { Ok(line.as_bytes().to_vec()) } else { Err(line.len()) }));
                let sum = crc32c::crc32c_append(place.sum, format!("{line}\n").as_bytes());
                place = Place { line: place.line + 1, offset: place.offset + line.len() as u64 + 1, sum };
            }
            prop_assert_eq!(got, expected);
            prop_assert_eq!((lines.place(), lines.torn()), (place, torn.len()));
        }
    }
}
