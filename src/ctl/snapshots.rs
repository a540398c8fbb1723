//! `ringway state build | inspect | verify`.

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, Read, Seek, Write};
use std::path::Path;

use ringway_state::change::{self, Meaning};
use ringway_state::record::{Change, HostValue, Key, Record};
use ringway_state::snapshot::{self, BuildOptions, Header, Progress, Snapshot, Step};

use crate::causes::with_causes;
use crate::cli::Exit;
use crate::config::HostName;
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
}

impl Lines<'_> {
    fn read(&mut self) -> Result<Option<Change>, String> {
        loop {
            self.line.clear();
            self.number += 1;
            let most = limits::CHANGE_LINE_OCTETS as u64 + 1;
            let read = self.from.by_ref().take(most).read_until(b'\n', &mut self.line);
            if read.map_err(|e| format!("cannot be read: {e}"))? == 0 {
                return Ok(None);
            }
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
pub fn build(from: &Path, file: &Path, out: &mut impl Write) -> io::Result<Exit> {
    let opened = match File::open(from) {
        Ok(opened) => opened,
        Err(e) => return refuse(out, format_args!("{}: cannot be read: {e}", from.display())),
    };
    let mut lines = Lines {
        file: from,
        from: BufReader::with_capacity(1 << 20, opened),
        line: Vec::new(),
        number: 0,
        skipped: 0,
        first_skipped: None,
        refused: None,
    };
    // A first pass finds every refusal before anything is written.
    if lines.by_ref().count() == 0 && lines.refused.is_none() {
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
    lines.from.rewind()?;
    (lines.number, lines.skipped) = (0, 0);
    let built = snapshot::build(&mut lines, file, &BuildOptions::default(), &mut show_progress);
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
        Err(e) => refuse(out, format_args!("{}", with_causes(&e))),
    }
}

/// One line on a terminal, written over and over.
fn show_progress(progress: Progress) {
    let mut err = io::stderr();
    if err.is_terminal() && progress.step != Step::Write {
        // A terminal that is gone needs no progress.
        let _ = write!(err, "\r{:?}: {} ", progress.step, progress.done);
    }
}

/// Prints what a snapshot holds, or what it holds of one host name.
///
/// # Errors
/// Only those of `out`.
pub fn inspect(file: &Path, host: Option<&HostName>, out: &mut impl Write) -> io::Result<Exit> {
    let Some(host) = host else {
        return match snapshot::inspect(file) {
            Ok(header) => describe(file, &header, out),
            Err(e) => refuse(out, format_args!("{}", with_causes(&e))),
        };
    };
    let opened = match Snapshot::open(file) {
        Ok(opened) => opened,
        Err(e) => return refuse(out, format_args!("{}", with_causes(&e))),
    };
    let name = match ringway_state::id::HostName::parse(host.as_str()) {
        Ok(name) => name,
        Err(e) => return refuse(out, format_args!("{host}: {e}")),
    };
    let Some(change) = opened.change(&Key::Host(name)) else {
        return refuse(out, format_args!("{host}: not in {}", file.display()));
    };
    print(out, &change)?;
    if let Record::Host(_, Some(HostValue::Mapped { service, .. })) = &change.record {
        let of_service = |change: &Change| match &change.record {
            Record::Service(id, _) | Record::Endpoints(id, _, _) => id == service,
            Record::Host(..) | Record::Document(..) => false,
        };
        for related in opened.changes().filter_map(Result::ok).filter(of_service) {
            print(out, &related)?;
        }
    }
    Ok(Exit::Fine)
}

/// Reads a whole snapshot and compares it with what its header says.
///
/// # Errors
/// Only those of `out`.
pub fn verify(file: &Path, out: &mut impl Write) -> io::Result<Exit> {
    match snapshot::verify(file) {
        Ok(header) => {
            writeln!(out, "{}: whole", file.display())?;
            describe(file, &header, out)
        }
        Err(e) => refuse(out, format_args!("{}", with_causes(&e))),
    }
}

fn describe(file: &Path, header: &Header, out: &mut impl Write) -> io::Result<Exit> {
    writeln!(out, "file      {} ({} octets)", file.display(), header.file_octets())?;
    writeln!(out, "holds     {}", header.counts)?;
    writeln!(out, "digest    {}", header.digest)?;
    let offsets: Vec<String> = header.offsets.iter().map(u64::to_string).collect();
    let offsets = if offsets.is_empty() { "none: not from a log".to_owned() } else { offsets.join(" ") };
    writeln!(out, "offsets   {offsets}")?;
    Ok(Exit::Fine)
}

fn print(out: &mut impl Write, change: &Change) -> io::Result<()> {
    let mut line = Vec::new();
    change::render(change, None, &mut line);
    out.write_all(line.trim_ascii_end())?;
    writeln!(out)
}

fn refuse(out: &mut impl Write, why: std::fmt::Arguments<'_>) -> io::Result<Exit> {
    writeln!(out, "{why}")?;
    Ok(Exit::WrongInput)
}
