//! Changes that guards hold back, as a file of the folder: in no file of the table yet, and perhaps no more in the feed's.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use ringway_state::change::{self, Meaning};
use ringway_state::record::Change;

/// # Errors
/// The folder takes nothing now.
pub(super) fn write(path: &Path, held: &[Arc<Change>]) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    let mut line = Vec::new();
    for change in held {
        line.clear();
        change::render(change, None, &mut line);
        file.write_all(&line)?;
    }
    file.into_inner()?.sync_all()
}

/// # Errors
/// It cannot be read, or says what was not written by [`write`].
pub(super) fn read(path: &Path) -> io::Result<Vec<Change>> {
    let text = fs::read(path)?;
    let lines = text.split(|octet| *octet == b'\n').filter(|line| !line.is_empty());
    let change = |line| match change::parse(line).map_err(io::Error::other)?.meaning {
        Meaning::Change(change) => Ok(change),
        Meaning::Nothing | Meaning::UnknownKind(_) => Err(io::Error::other("a line is no change")),
    };
    lines.map(change).collect()
}
