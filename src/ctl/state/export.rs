//! `ringway state export`.

use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;

use ringway_state::record::Kind;
use ringway_state::snapshot::{self, ExportError, Snapshot};

use super::progress::Progress;
use super::{all, open, target, unwritten, warn};
use crate::causes::with_causes;
use crate::cli::Exit;

/// Writes every stored value as a change, or those of one kind: to the file `to`, or else to `out`. What is wrong goes to `err`,
/// since `out` has the lines.
///
/// # Errors
/// Only those of `out`, as when nobody reads on.
pub(super) fn export(
    file: &Path,
    kind: Option<Kind>,
    to: Option<&Path>,
    out: &mut impl Write,
    err: &mut impl Write,
) -> io::Result<Exit> {
    let snapshot = match open(file) {
        Ok(snapshot) => snapshot,
        Err(why) => {
            warn(err, format_args!("{why}"));
            return Ok(Exit::WrongInput);
        }
    };
    if let Some(refused) = to.and_then(|to| target::refused(to, file)) {
        warn(err, format_args!("{refused}"));
        return Ok(Exit::WrongInput);
    }
    let exported = match to {
        None => lines(&snapshot, kind, out),
        Some(to) => whole(to, |out| lines(&snapshot, kind, out)),
    };
    let (place, error) = match (exported, to) {
        (Ok(_), None) => return Ok(Exit::Fine),
        (Ok(lines), Some(to)) => {
            warn(err, format_args!("{}: {lines} changes", to.display()));
            return Ok(Exit::Fine);
        }
        (Err(ExportError::Io(error)), None) => return Err(error),
        (Err(error @ ExportError::Io(_)), Some(to)) => (to, error),
        (Err(error @ ExportError::Structure(_)), _) => (file, error),
    };
    let (exit, mend) = unwritten(&error);
    warn(err, format_args!("{}: {}{mend}", place.display(), with_causes(&error)));
    Ok(exit)
}

fn lines(snapshot: &Snapshot, kind: Option<Kind>, out: &mut impl Write) -> Result<u64, ExportError> {
    // A bar would run through lines on the same terminal.
    let progress = match io::stdout().is_terminal() {
        true => Progress::hidden(),
        false => Progress::of("exporting", all(snapshot.header())),
    };
    let mut out = BufWriter::with_capacity(1 << 16, out);
    let lines = snapshot::export(snapshot, kind, &mut Stepping { out: &mut out, progress })?;
    out.flush()?;
    Ok(lines)
}

/// Each line that is written is a step.
struct Stepping<W> {
    out: W,
    progress: Progress,
}

impl<W: Write> Write for Stepping<W> {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.progress.step();
        self.out.write(octets)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Writes a file beside `to`, and gives it that name once it is whole.
fn whole(to: &Path, write: impl FnOnce(&mut File) -> Result<u64, ExportError>) -> Result<u64, ExportError> {
    let mut beside = to.as_os_str().to_owned();
    beside.push(format!(".partial.{}", std::process::id()));
    let beside = Path::new(&beside);
    let mut file = File::create_new(beside)?;
    let written = write(&mut file).and_then(|lines| {
        file.sync_all()?;
        fs::rename(beside, to)?;
        Ok(lines)
    });
    if written.is_err() {
        // What is left of it is no export.
        let _ = fs::remove_file(beside);
    }
    written
}
