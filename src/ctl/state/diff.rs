//! `ringway state diff`.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use ringway_state::record::{Change, Kind};
use ringway_state::snapshot::{self, Difference, Snapshot};

use super::progress::Progress;
use super::{all, open, print, warn};

/// How a comparison ends. The numbers are those of diff(1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Differing {
    No = 0,
    Yes = 1,
    /// A file cannot be used.
    Unknown = 2,
}

impl From<Differing> for ExitCode {
    fn from(differing: Differing) -> Self {
        Self::from(differing as u8)
    }
}

/// What is told of two snapshots.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    /// Numbers only.
    pub(super) summary: bool,
    /// Only what readers of the table see: neither versions nor removed keys.
    pub(super) values: bool,
}

#[derive(Default, Clone, Copy)]
struct Count {
    added: u64,
    removed: u64,
    changed: u64,
}

#[derive(Default)]
struct Summary {
    all: Count,
    /// A value that changed its kind counts as of the newer.
    kinds: BTreeMap<Kind, Count>,
    /// What only readers do not see, if that is left out.
    unseen: u64,
}

/// Writes what tells two snapshots apart to `out`, and a summary; what is wrong goes to `err`. Holds one key of them at a
/// time.
///
/// # Errors
/// Only those of `out`, as when nobody reads on.
pub(super) fn diff(
    (before, after): (&Path, &Path),
    told: Told,
    out: &mut impl Write,
    err: &mut impl Write,
) -> io::Result<Differing> {
    let (old, new) = match (open(before), open(after)) {
        (Ok(old), Ok(new)) => (old, new),
        (old, new) => {
            for why in [old.err(), new.err()].into_iter().flatten() {
                warn(err, format_args!("{why}"));
            }
            return Ok(Differing::Unknown);
        }
    };
    let mut summary = Summary::default();
    match compare(&old, &new, told, &mut summary, &mut BufWriter::new(out)) {
        Ok(()) => {}
        Err(DiffError::Io(error)) => return Err(error),
        Err(DiffError::Structure(what)) => {
            warn(
                err,
                format_args!("{what}: the snapshot's writer is at fault; build it again and report this"),
            );
            return Ok(Differing::Unknown);
        }
    }
    Ok(if summary.all.sum() > 0 { Differing::Yes } else { Differing::No })
}

enum DiffError {
    Io(io::Error),
    /// What is wrong with a file, and where.
    Structure(String),
}

impl From<io::Error> for DiffError {
    fn from(error: io::Error) -> DiffError {
        DiffError::Io(error)
    }
}

fn compare(
    old: &Snapshot,
    new: &Snapshot,
    told: Told,
    summary: &mut Summary,
    out: &mut impl Write,
) -> Result<(), DiffError> {
    let mut progress = match io::stdout().is_terminal() && !told.summary {
        true => Progress::hidden(),
        false => Progress::of("comparing", all(old.header()) + all(new.header())),
    };
    for difference in snapshot::diff(old, new, &mut || progress.step()) {
        let difference = difference.map_err(DiffError::Structure)?;
        if told.values && !difference.is_seen() {
            summary.unseen += 1;
            continue;
        }
        if summary.all.sum() == 0 && !told.summary {
            writeln!(out, "--- {}\n+++ {}", old.path().display(), new.path().display())?;
        }
        summary.count(&difference, told.values);
        if !told.summary {
            lines(out, &difference, told.values)?;
        }
    }
    drop(progress);
    write!(out, "{summary}")?;
    Ok(out.flush()?)
}

/// What there is of a side; a removed key is nothing if only values count.
fn shown(side: &Option<Change>, values: bool) -> Option<&Change> {
    side.as_ref().filter(|change| !values || !change.record.is_grave())
}

fn lines(out: &mut impl Write, difference: &Difference, values: bool) -> io::Result<()> {
    let sides = [("- ", &difference.before), ("+ ", &difference.after)];
    let mut sides = sides.into_iter().filter_map(|(mark, side)| Some((mark, shown(side, values)?)));
    sides.try_for_each(|(mark, change)| print(out, mark, change))
}

impl Summary {
    fn count(&mut self, difference: &Difference, values: bool) {
        let (before, after) = (shown(&difference.before, values), shown(&difference.after, values));
        let Some(newest) = after.or(before) else { return };
        for count in [&mut self.all, self.kinds.entry(newest.record.kind()).or_default()] {
            *match (before, after) {
                (None, _) => &mut count.added,
                (Some(_), None) => &mut count.removed,
                (Some(_), Some(_)) => &mut count.changed,
            } += 1;
        }
    }
}

impl Count {
    fn sum(self) -> u64 {
        self.added + self.removed + self.changed
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Count { added, removed, changed } = self;
        write!(f, "{added} added, {removed} removed, {changed} changed")
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (kind, count) in &self.kinds {
            writeln!(f, "{:14} {count}", kind.name())?;
        }
        writeln!(f, "{:14} {}", "all", self.all)?;
        if self.unseen > 0 {
            writeln!(
                f,
                "{} more differ in versions or removed keys alone, which --values leaves out",
                self.unseen
            )?;
        }
        Ok(())
    }
}
