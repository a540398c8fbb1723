//! `ringway state build`.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, Write};
use std::path::Path;

use ringway_state::change::{self, Meaning};
use ringway_state::record::Change;
use ringway_state::snapshot::{self, BuildOptions, Step};

use super::progress::Progress;
use super::{refuse, target, unwritten};
use crate::causes::with_causes;
use crate::cli::Exit;
use crate::limits;

/// Changes of a JSON Lines file, until the end or the first line that is refused.
struct Lines<'a> {
    file: &'a Path,
    from: BufReader<File>,
    line: Vec<u8>,
    number: u64,
    skipped: u64,
    /// The first of these, by its place and its kind.
    first_skipped: Option<String>,
    refused: Option<String>,
    /// Of the octets that are read.
    progress: Progress,
}

impl Lines<'_> {
    fn read(&mut self) -> Result<Option<Change>, String> {
        loop {
            self.line.clear();
            self.number += 1;
            let most = limits::CHANGE_LINE_OCTETS as u64 + 1;
            let read = self.from.by_ref().take(most).read_until(b'\n', &mut self.line);
            let read = read.map_err(|e| format!("cannot be read: {e}"))?;
            if read == 0 {
                return Ok(None);
            }
            self.progress.advance(read as u64);
            if self.line.last() == Some(&b'\n') {
                self.line.pop();
            }
            if self.line.trim_ascii().is_empty() {
                continue;
            }
            match change::parse(&self.line).map_err(|e| e.to_string())?.meaning {
                Meaning::Change(change) => return Ok(Some(change)),
                Meaning::Nothing => self.skip("null"),
                Meaning::UnknownKind(kind) => self.skip(&format!("kind {kind:?}")),
            }
        }
    }

    fn skip(&mut self, what: &str) {
        self.skipped += 1;
        let (file, number) = (self.file.display(), self.number);
        self.first_skipped.get_or_insert_with(|| format!("{file}:{number}: {what}"));
    }

    /// What is to be said of skipped lines, if there are any.
    fn told_of_skipped(&self) -> Option<String> {
        let first = self.first_skipped.as_ref()?;
        let skipped = self.skipped;
        Some(format!(
            "lines skipped, null or of a kind that this version does not know: {skipped}, first {first}"
        ))
    }
}

impl Iterator for Lines<'_> {
    type Item = Change;

    fn next(&mut self) -> Option<Change> {
        if self.refused.is_some() {
            return None;
        }
        self.read().unwrap_or_else(|reason| {
            self.refused = Some(format!("{}:{}: {reason}", self.file.display(), self.number));
            None
        })
    }
}

/// Builds a snapshot from a file of changes. A file with a bad line makes none, and leaves an existing one as it was.
///
/// # Errors
/// Only those of `out`.
pub(in crate::ctl) fn build(from: &Path, file: &Path, out: &mut impl Write) -> io::Result<Exit> {
    let (opened, octets) = match File::open(from).and_then(|file| Ok((file.metadata()?.len(), file))) {
        Ok((octets, opened)) => (opened, octets),
        Err(e) => return refuse(out, format_args!("{}: cannot be read: {e}", from.display())),
    };
    if let Some(refused) = target::refused(file, from) {
        return refuse(out, format_args!("{refused}"));
    }
    let mut lines = Lines {
        file: from,
        from: BufReader::with_capacity(1 << 20, opened),
        line: Vec::new(),
        number: 0,
        skipped: 0,
        first_skipped: None,
        refused: None,
        progress: Progress::of("checking", octets),
    };
    // A first pass finds every refusal before anything is written.
    let changes = lines.by_ref().count();
    if changes == 0 && lines.refused.is_none() {
        let skipped = lines.told_of_skipped().map(|told| format!(" ({told})")).unwrap_or_default();
        let from = from.display();
        return refuse(
            out,
            format_args!("{from}: holds no change{skipped}; write one JSON object on each line"),
        );
    }
    if let Some(refused) = lines.refused {
        return refuse(out, format_args!("{refused}"));
    }
    if let Err(error) = lines.from.rewind() {
        return refuse(out, format_args!("{}: cannot be read: {error}", from.display()));
    }
    (lines.number, lines.skipped, lines.progress) = (0, 0, Progress::hidden());
    let mut progress = Progress::of("reading", changes as u64);
    let built = snapshot::build(&mut lines, file, &BuildOptions::default(), &mut |at| match at.step {
        Step::Read => progress.at("reading", at.done),
        Step::Services | Step::Hosts | Step::Documents => progress.at("arranging", at.done),
        // Told beside the others, in octets.
        Step::Write => {}
    });
    drop(progress);
    match built {
        Ok(_) if lines.refused.is_some() => {
            refuse(out, format_args!("{}: changed while it was read", from.display()))
        }
        Ok(stats) => {
            writeln!(out, "{}: {} octets from {} changes", file.display(), stats.file_octets, stats.changes)?;
            if let Some(told) = lines.told_of_skipped() {
                writeln!(out, "{told}")?;
            }
            Ok(Exit::Fine)
        }
        Err(e) => {
            let (exit, mend) = unwritten(&e);
            refuse(out, format_args!("{}{mend}", with_causes(&e)))?;
            Ok(exit)
        }
    }
}
