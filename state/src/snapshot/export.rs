//! A snapshot as JSON lines, from which it can be built again.

use std::io::{self, Write};

use super::Snapshot;
use crate::change;

#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error("cannot write")]
    Io(#[from] io::Error),
    #[error("{0}: the snapshot's writer is at fault; build it again and report this")]
    Structure(String),
}

/// Writes each stored value on a line, graves included, in the file's order. Gives their number. `out` is best
/// buffered.
pub fn export(snapshot: &Snapshot, out: &mut impl Write) -> Result<u64, ExportError> {
    let (mut line, mut lines) = (Vec::new(), 0);
    for change in snapshot.changes() {
        line.clear();
        change::render(&change.map_err(ExportError::Structure)?, None, &mut line);
        out.write_all(&line)?;
        lines += 1;
    }
    out.flush()?;
    Ok(lines)
}
