//! A place in a file that is found again after a restart, or known to be gone.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::fate::{Identity, Tail};
use super::lines::Place;
use super::recheck::sum_before;

/// Which file, where in it a line begins, and what stands before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Position {
    file: Identity,
    line: u64,
    offset: u64,
    /// The last octets before it, hexadecimal.
    before: String,
    /// The CRC32C of all octets before it; none in what was written before this was noted.
    #[serde(default)]
    sum: Option<u32>,
}

impl Position {
    /// # Errors
    /// The file cannot be read there.
    pub(super) fn of(file: &File, identity: Identity, place: Place) -> io::Result<Position> {
        let before = hexadecimal(&before(file, place.offset)?);
        Ok(Position { file: identity, line: place.line, offset: place.offset, before, sum: Some(place.sum) })
    }

    /// Its place in a file, if it is one of this file. Reads all of it up to there.
    pub(super) fn find(&self, file: &File, identity: Identity) -> Option<Place> {
        let sum = if self.file == identity { self.sum_in(file)? } else { return None };
        Some(Place { line: self.line, offset: self.offset, sum })
    }

    /// Whether a file, which may be another, has the octets before it too: it is the same log then, in another place. Reads all
    /// of it up to there.
    pub(in crate::feed) fn is_continued_by(&self, path: &Path) -> bool {
        self.offset > 0 && super::open_file(path).is_ok_and(|file| self.sum_in(&file).is_some())
    }

    /// The CRC32C of a file's octets before it, if they are those that were there.
    fn sum_in(&self, file: &File) -> Option<u32> {
        if self.before != hexadecimal(&before(file, self.offset).ok()?) {
            return None;
        }
        let sum = sum_before(file, self.offset).ok()??;
        self.sum.is_none_or(|before| before == sum).then_some(sum)
    }
}

/// The last octets before an offset.
pub(super) fn before(file: &File, offset: u64) -> io::Result<Vec<u8>> {
    let length = usize::try_from(offset).unwrap_or(usize::MAX).min(Tail::MOST);
    let mut octets = vec![0; length];
    file.read_exact_at(&mut octets, offset - length as u64)?;
    Ok(octets)
}

fn hexadecimal(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}
