//! A file of changes read once from its start, beside whoever follows it.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use ringway_state::change::{self, Meaning};
use ringway_state::limits::CHANGE_OCTETS_MAX;
use ringway_state::record::Change;

use super::lines::{Lines, Place, Text};
use crate::limits;

/// Hands on every change of a file, in its order. What a router would refuse, and a last line without LF, is passed by.
///
/// # Errors
/// The file cannot be read.
pub fn replay(path: &Path, mut with: impl FnMut(Change)) -> io::Result<()> {
    let mut file = File::open(path)?;
    let mut lines = Lines::new(Place::START, CHANGE_OCTETS_MAX);
    let mut buffer = vec![0; limits::FEED_READ_OCTETS];
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok(());
        }
        lines.fill(&buffer[..read]);
        while let Some((_, text)) = lines.next() {
            let Text::Whole(line) = text else { continue };
            if let Ok(change::Line { meaning: Meaning::Change(change), .. }) = change::parse(line) {
                with(change);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn right_lines_that_have_ended_are_handed_on() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("changes");
        let line = |n: u64| {
            format!(r#"{{"kind":"tombstone","hostname":"a.test","version":{n},"reason":"transfer"}}"#)
        };
        std::fs::write(&path, format!("{}\n\nnonsense\nnull\n{}\n{}", line(1), line(2), line(3))).unwrap();
        let mut versions = Vec::new();
        replay(&path, |change| versions.push(change.version.counter)).unwrap();
        assert_eq!(versions, [1, 2]);
        assert!(replay(&dir.path().join("none"), |_| ()).is_err());
    }
}
