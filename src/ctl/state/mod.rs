//! `ringway state`: snapshots of the route table, built from changes, looked into, exported, compared.

mod build;
mod diff;
mod export;
mod inspect;
mod key;
mod progress;
mod survey;
mod target;

use std::error::Error;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use ringway_state::change;
use ringway_state::record::{Change, Kind};
use ringway_state::snapshot::{Counts, Header, Snapshot};

use crate::causes::with_causes;
use crate::cli::Exit;
use crate::config::HostName;
use crate::runtime::machine;

pub(super) use build::build;
use diff::{Told, diff};
use export::export;
use inspect::{find, find_host, survey, verify};
use key::{key, pattern};

#[derive(Debug, PartialEq, clap::Subcommand)]
pub enum StateCommand {
    /// Build a snapshot from changes
    #[command(after_help = "Example: ringway state build --from changes.jsonl --out base.snap")]
    Build {
        /// Changes, one JSON object a line
        #[arg(long, value_name = "DELTAS.jsonl")]
        from: PathBuf,
        /// Where the snapshot goes; one that is there is replaced as a whole
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
    },
    /// Print what a snapshot holds: how much of each kind, or the values of a host name or a key
    #[command(after_help = "\
Examples:
  ringway state inspect base.snap
  ringway state inspect base.snap --host shop.example.com
  ringway state inspect base.snap --key policy:strict")]
    Inspect {
        /// A snapshot, or a level's file out of a router's state.dir
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Only what the file's header says, at once
        #[arg(long, conflicts_with_all = ["host", "key"])]
        header: bool,
        /// Only this host name, or the wildcard that answers for it: its service and endpoints, its certificate
        #[arg(long, value_parser = pattern, conflicts_with = "key")]
        host: Option<HostName>,
        /// Only this key, as host:NAME, svc:ID, eps:SERVICE/REGION, cert:NAME or policy:ID
        #[arg(long, value_parser = key)]
        key: Option<ringway_state::record::Key>,
    },
    /// Verify a snapshot's checksums and structure
    #[command(after_help = "Example: ringway state verify base.snap")]
    Verify {
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Print every stored value of a snapshot as a change, one JSON object a line, removed keys too
    #[command(after_help = "\
What is exported whole can be built again: to an equal state, with an equal digest. A removed host name is of kind domain_map.

Examples:
  ringway state export base.snap --out changes.jsonl
  ringway state export base.snap --kind tombstone
  ringway state export base.snap | head")]
    Export {
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Only values of this kind
        #[arg(long, value_parser = kinds())]
        kind: Option<Kind>,
        /// Where the lines go, instead of standard output
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Print what tells two snapshots apart, key by key
    #[command(after_help = "\
Lines are changes as in the files: those with - are gone or replaced, those with + are new.

Exit codes, as those of diff(1): 0 no differences, 1 differences, 2 a file cannot be used.

Examples:
  ringway state diff yesterday.snap today.snap
  ringway state diff yesterday.snap today.snap --summary --values")]
    Diff {
        #[arg(value_name = "BEFORE")]
        before: PathBuf,
        #[arg(value_name = "AFTER")]
        after: PathBuf,
        /// Only how many keys differ, kind by kind
        #[arg(long, short)]
        summary: bool,
        /// Only what readers of the table see: versions are no difference, and a removed key is none
        #[arg(long)]
        values: bool,
    },
}

/// Does what is told. Results go to `out`, what is wrong to `err`, or to `out` where nothing else does.
///
/// # Errors
/// Only those of `out`.
pub fn state(command: StateCommand, out: &mut impl Write, err: &mut impl Write) -> io::Result<ExitCode> {
    let exit = match command {
        StateCommand::Build { from, out: file } => build(&from, &file, out),
        StateCommand::Inspect { file, host: Some(host), .. } => find_host(&file, &host, out),
        StateCommand::Inspect { file, key: Some(key), .. } => find(&file, &key, out),
        StateCommand::Inspect { file, header, .. } => survey(&file, header, out),
        StateCommand::Verify { file } => verify(&file, out),
        StateCommand::Export { file, kind, out: to } => export(&file, kind, to.as_deref(), out, err),
        StateCommand::Diff { before, after, summary, values } => {
            let told = Told { summary, values };
            return diff((&before, &after), told, out, err).map(ExitCode::from);
        }
    };
    exit.map(ExitCode::from)
}

/// The kinds by their names.
fn kinds() -> impl TypedValueParser<Value = Kind> {
    let kind = |name: String| Kind::parse(&name).ok_or("unknown kind");
    PossibleValuesParser::new(Kind::ALL.map(Kind::name)).try_map(kind)
}

/// How many values a snapshot holds.
fn all(header: &Header) -> u64 {
    let Counts { hosts, services, endpoint_sets, documents, graves, .. } = header.counts;
    hosts + services + endpoint_sets + documents + graves
}

/// A snapshot or a level, or what is wrong with it.
fn open(file: &Path) -> Result<Snapshot, String> {
    Snapshot::open_any(file).map_err(|error| with_causes(&error))
}

fn print(out: &mut impl Write, mark: &str, change: &Change) -> io::Result<()> {
    let mut line = Vec::new();
    change::render(change, None, &mut line);
    out.write_all(mark.as_bytes())?;
    out.write_all(&line)
}

/// Tells what is wrong beside the output. Nobody is left to tell if this cannot be written.
fn warn(err: &mut impl Write, what: std::fmt::Arguments<'_>) {
    let _ = writeln!(err, "{what}");
}

fn refuse(out: &mut impl Write, why: std::fmt::Arguments<'_>) -> io::Result<Exit> {
    writeln!(out, "{why}")?;
    Ok(Exit::WrongInput)
}

/// The exit after a file that could not be written, and what mends it if that is for want of room.
fn unwritten(error: &(dyn Error + 'static)) -> (Exit, &'static str) {
    match machine::lacks_room(error) {
        true => (Exit::MachineLacks, "; make room there, or give --out another place"),
        false => (Exit::WrongInput, ""),
    }
}

#[cfg(test)]
mod tests;
