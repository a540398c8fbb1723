//! `ringway state inspect` and `verify`.

use std::io::{self, Write};
use std::path::Path;

use ringway_state::record::{Change, DocumentKey, HostValue, Key, Record, Subject};
use ringway_state::snapshot::{self, Header, Role, Snapshot};

use super::progress::Progress;
use super::survey::Survey;
use super::{all, open, print, refuse};
use crate::causes::with_causes;
use crate::cli::Exit;
use crate::config::HostName;

/// Prints how much of what a snapshot holds: what its header says, and unless that is to be all, what it has of each kind.
///
/// # Errors
/// Only those of `out`.
pub(super) fn survey(file: &Path, is_header_all: bool, out: &mut impl Write) -> io::Result<Exit> {
    let header = match snapshot::inspect(file) {
        Ok(header) => header,
        Err(error) => return refuse(out, format_args!("{}", with_causes(&error))),
    };
    describe(file, &header, out)?;
    if is_header_all {
        return Ok(Exit::Fine);
    }
    let snapshot = match open(file) {
        Ok(snapshot) => snapshot,
        Err(why) => return refuse(out, format_args!("{why}")),
    };
    let mut progress = Progress::of("counting", all(&header));
    let mut survey = Survey::default();
    for change in snapshot.changes() {
        match change {
            Ok(change) => survey.count(&change),
            Err(what) => return refuse(out, format_args!("{}: {what}", file.display())),
        }
        progress.step();
    }
    drop(progress);
    write!(out, "{survey}")?;
    Ok(Exit::Fine)
}

/// Prints the value of a key, if a snapshot has it.
///
/// # Errors
/// Only those of `out`.
pub(super) fn find(file: &Path, key: &Key, out: &mut impl Write) -> io::Result<Exit> {
    found(file, key, |snapshot| snapshot.change(key).into_iter().collect(), out)
}

/// Prints what a snapshot has of a host name: what answers for it, and all that belongs to it.
///
/// # Errors
/// Only those of `out`.
pub(super) fn find_host(file: &Path, host: &HostName, out: &mut impl Write) -> io::Result<Exit> {
    found(file, host, |snapshot| of_host(snapshot, host), out)
}

fn found(
    file: &Path,
    what: impl std::fmt::Display,
    find: impl FnOnce(&Snapshot) -> Vec<Change>,
    out: &mut impl Write,
) -> io::Result<Exit> {
    let snapshot = match open(file) {
        Ok(snapshot) => snapshot,
        Err(why) => return refuse(out, format_args!("{why}")),
    };
    let changes = find(&snapshot);
    if changes.is_empty() {
        return refuse(out, format_args!("{what}: not in {}", file.display()));
    }
    changes.iter().try_for_each(|change| print(out, "", change))?;
    Ok(Exit::Fine)
}

/// What answers for a host name, and all that belongs to it: its service, with its endpoints in every region, and its
/// certificate.
fn of_host(snapshot: &Snapshot, host: &HostName) -> Vec<Change> {
    let Some(answers) = answering(snapshot, host) else { return Vec::new() };
    let name = match &answers.record {
        Record::Host(name, _) => name.clone(),
        _ => host.clone(),
    };
    let mut found = vec![answers];
    let cert = DocumentKey::parse(Subject::Cert, name.as_str()).ok().map(Key::Document);
    found.extend(cert.and_then(|cert| snapshot.change(&cert)));
    if let Record::Host(_, Some(HostValue::Mapped { service, .. })) = &found[0].record {
        let mut progress = Progress::of("looking", all(snapshot.header()));
        let is_of_service = |change: &Change| match &change.record {
            Record::Service(id, _) | Record::Endpoints(id, _, _) => id == service,
            Record::Host(..) | Record::Document(..) => false,
        };
        let changes = snapshot.changes().inspect(|_| progress.step());
        let related: Vec<Change> = changes.filter_map(Result::ok).filter(is_of_service).collect();
        found.extend(related);
    }
    found
}

/// The value of the host name itself, or of the wildcard that it falls to; a removed one if there is nothing else.
fn answering(snapshot: &Snapshot, host: &HostName) -> Option<Change> {
    let exact = snapshot.change(&Key::Host(host.clone()));
    if exact.as_ref().is_some_and(|change| !change.record.is_grave()) {
        return exact;
    }
    let parent = host.as_str().split_once('.').map(|(_, parent)| format!("*.{parent}"));
    let wildcard = parent.and_then(|parent| HostName::parse_pattern(&parent).ok());
    let wildcard = wildcard.and_then(|wildcard| snapshot.change(&Key::Host(wildcard)));
    wildcard.filter(|change| !change.record.is_grave()).or(exact)
}

/// Reads a whole snapshot and compares it with what its header says.
///
/// # Errors
/// Only those of `out`.
pub(super) fn verify(file: &Path, out: &mut impl Write) -> io::Result<Exit> {
    match snapshot::verify(file) {
        Ok(header) => {
            writeln!(out, "{}: whole", file.display())?;
            describe(file, &header, out)?;
            Ok(Exit::Fine)
        }
        Err(error) => refuse(out, format_args!("{}", with_causes(&error))),
    }
}

fn describe(file: &Path, header: &Header, out: &mut impl Write) -> io::Result<()> {
    let role = match header.role {
        Role::Base => "all of a state".to_owned(),
        Role::Level { beneath, .. } => format!("a level: what changed since the state {beneath}"),
    };
    writeln!(out, "file      {} ({} octets)", file.display(), header.file_octets())?;
    writeln!(out, "format    {}, {role}", header.format())?;
    writeln!(out, "holds     {}; {} wildcards", header.counts, header.counts.wildcards)?;
    writeln!(out, "digest    {}", header.state())?;
    let offsets: Vec<String> = header.offsets.iter().map(u64::to_string).collect();
    let offsets = if offsets.is_empty() { "none: not from a log".to_owned() } else { offsets.join(" ") };
    writeln!(out, "offsets   {offsets}")
}
