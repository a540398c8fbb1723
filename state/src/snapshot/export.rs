//! A snapshot as JSON lines, from which it can be built again.

use std::io::{self, Write};

use super::Snapshot;
use crate::{
    change,
    record::{Change, Kind},
};

#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error("cannot write")]
    Io(#[from] io::Error),
    #[error("{0}: the snapshot's writer is at fault; build it again and report this")]
    Structure(String),
}

/// Writes each stored value on a line, or those of one kind, graves included, in the file's order. Gives their number.
/// `out` is best buffered.
pub fn export(snapshot: &Snapshot, kind: Option<Kind>, out: &mut impl Write) -> Result<u64, ExportError> {
    let (mut line, mut lines) = (Vec::new(), 0);
    let is_wanted = |change: &Change| kind.is_none_or(|kind| change.record.kind() == kind);
    for change in snapshot.changes() {
        let change = change.map_err(ExportError::Structure)?;
        if is_wanted(&change) {
            line.clear();
            change::render(&change, None, &mut line);
            out.write_all(&line)?;
            lines += 1;
        }
    }
    out.flush()?;
    Ok(lines)
}
