//! What can be wrong with a snapshot, by whose fault.

use std::{io, path::PathBuf};

/// Why a file is not served from. Only [`OpenError::Io`] is the machine's fault; in all other cases the file
/// is to be replaced, never repaired.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("cannot {action} {path}")]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    #[error("{path} is no ringway snapshot; make one with `ringway state build`")]
    Foreign { path: PathBuf },
    #[error(
        "{path} has format {found}, this binary reads format {known}; use the one that wrote it, or rebuild it"
    )]
    Format { path: PathBuf, found: u32, known: u32 },
    #[error(
        "{path} has layout {found:016x}, this binary reads {known:016x}; use the one that wrote it, or rebuild it"
    )]
    Layout { path: PathBuf, found: u64, known: u64 },
    #[error("{path} is a level of a table, only what changed since its base; name the base")]
    Level { path: PathBuf },
    #[error("{path} is a base, not a level of a table")]
    Base { path: PathBuf },
    #[error("{path}: the header is damaged; fetch or build the file again")]
    Header { path: PathBuf },
    #[error("{path} has {found} octets where its header says {expected}; fetch or build the file again")]
    Length { path: PathBuf, found: u64, expected: u64 },
    #[error("{path}: the table of block checksums is damaged; fetch or build the file again")]
    ChecksumTable { path: PathBuf },
    #[error("{path}: block {block}, octets {from} to {to}, is damaged; fetch or build the file again")]
    Block { path: PathBuf, block: usize, from: u64, to: u64 },
    #[error("{path}: its checksums hold but {what}: its writer is at fault; build it again and report this")]
    Structure { path: PathBuf, what: String },
}

/// Why no snapshot was built. A file that stood at the path still stands.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    #[error("cannot {action} {path}")]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    #[error("the state needs more than 4 GiB; split it over several snapshots")]
    TooLarge,
    #[error("{found} partitions; a snapshot's offset vector has at most {max}")]
    Partitions { found: usize, max: usize },
    #[error("{found} regions are named; a snapshot holds at most {max}")]
    Regions { found: usize, max: usize },
    #[error("{path}: {what}: its writer is at fault; build it again and report this")]
    Source { path: PathBuf, what: String },
    #[error("what {path} would hold is not the state of the files it is made of; report this")]
    State { path: PathBuf },
    #[error("names crowd into one bucket under {tried} seeds; the hash needs replacing, report this")]
    Crowded { tried: u32 },
}
