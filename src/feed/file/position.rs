//! A place in a file that is found again after a restart, or known to be gone.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::fate::{Identity, Tail};
use super::lines::Place;

/// Which file, where in it a line begins, and what stands before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Position {
    file: Identity,
    line: u64,
    offset: u64,
    /// The last octets before it, hexadecimal.
    before: String,
}

impl Position {
    /// # Errors
    /// The file cannot be read there.
    pub(super) fn of(file: &File, identity: Identity, place: Place) -> io::Result<Position> {
        let before = hexadecimal(&before(file, place.offset)?);
        Ok(Position { file: identity, line: place.line, offset: place.offset, before })
    }

    /// Its place in a file and the octets before it, if it is one of this file.
    pub(super) fn find(&self, file: &File, identity: Identity) -> Option<(Place, Vec<u8>)> {
        let before = before(file, self.offset).ok()?;
        let is_same = self.file == identity && self.before == hexadecimal(&before);
        is_same.then_some((Place { line: self.line, offset: self.offset }, before))
    }

    /// Whether a file, which may be another, has the octets before it too: it is the same log then, in another place.
    pub(in crate::feed) fn is_continued_by(&self, path: &Path) -> bool {
        let octets = super::open_file(path).and_then(|file| before(&file, self.offset));
        self.offset > 0 && octets.is_ok_and(|octets| self.before == hexadecimal(&octets))
    }
}

fn before(file: &File, offset: u64) -> io::Result<Vec<u8>> {
    let length = usize::try_from(offset).unwrap_or(usize::MAX).min(Tail::MOST);
    let mut octets = vec![0; length];
    file.read_exact_at(&mut octets, offset - length as u64)?;
    Ok(octets)
}

fn hexadecimal(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}
