//! The table in `state.dir`: a base and a few levels, and on record which they are and how far of the feed they hold. A
//! restart begins with them, and reads the feed on from there.
//!
//! ```text
//! feed's thread: chores ──job──▶ housekeeper: build a file, or write the manifest and remove what it names no more
//!       ▲  install, publish         │
//!       └──────────done─────────────┘
//! ```
//! Files are added first, then named by the manifest, and removed once neither it nor a core has them: a crash anywhere
//! leaves a folder that a start can use.

mod chores;
mod held;
mod housekeeper;
mod manifest;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ringway_state::id::Region;
use ringway_state::record::Change;
use ringway_state::snapshot::{OpenError, Snapshot};
use ringway_state::{Refusal, Table};

pub(super) use chores::{Chores, Now, Read};
use manifest::Manifest;

use super::file::Position;

/// The table that a folder had at the start.
pub struct Stored {
    pub table: Table,
    /// What guards held back, and is not in it.
    pub(super) held: Vec<Change>,
    /// Whether it comes from the folder, or the folder had none.
    pub is_stored: bool,
    pub(super) manifest: Manifest,
}

/// Why a folder's table cannot be used. Nothing in it has changed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("{path} cannot be used: {error}; {mend}", path = path.display(), mend = MEND)]
    Manifest { path: PathBuf, error: io::Error },
    #[error("a file of the table cannot be used; {mend}", mend = MEND)]
    File(#[source] OpenError),
    #[error("the files that {path} names make no table: {why}; {mend}", path = path.display(), mend = MEND)]
    Levels { path: PathBuf, why: Refusal },
}

const MEND: &str = "move the folder away, and the feed is read from its start";

/// Opens and verifies what a folder has, and removes what it has no more use for; `base` is what it begins with if it has
/// nothing.
///
/// # Errors
/// As [`StoreError`].
pub(super) fn open<E: From<StoreError>>(
    dir: &Path,
    region: &Region,
    base: impl FnOnce() -> Result<Option<Arc<Snapshot>>, E>,
) -> Result<Stored, E> {
    let stored = look(dir, region, base)?;
    // A refusal leaves leftovers for whoever looks into it.
    manifest::clean(dir, &stored.manifest, None)
        .map_err(|error| StoreError::Manifest { path: dir.join("manifest.json"), error })?;
    Ok(stored)
}

/// The same, and changes nothing: the folder may be another process's.
///
/// # Errors
/// As [`StoreError`].
pub(super) fn look<E: From<StoreError>>(
    dir: &Path,
    region: &Region,
    base: impl FnOnce() -> Result<Option<Arc<Snapshot>>, E>,
) -> Result<Stored, E> {
    let path = || dir.join("manifest.json");
    let manifest = Manifest::read(dir).map_err(|error| StoreError::Manifest { path: path(), error })?;
    let is_stored = manifest.is_some();
    let manifest = manifest.unwrap_or_else(Manifest::new);
    let open = |name: &String| Snapshot::open(&dir.join(name)).map(Arc::new);
    let base = match is_stored {
        true => manifest.base.as_ref().map(open).transpose().map_err(StoreError::File)?,
        false => base()?,
    };
    let open_level = |name: &String| Snapshot::open_level(&dir.join(name)).map(Arc::new);
    let levels: Result<Vec<_>, _> = manifest.levels.iter().map(open_level).collect();
    let levels = levels.map_err(StoreError::File)?;
    let table = match (base, levels.is_empty()) {
        (None, true) => Ok(Table::new(region)),
        (Some(base), true) => Ok(Table::with_base(base, region)),
        (base, false) => Table::with_layers(base, levels, region),
    };
    let table = table.map_err(|why| StoreError::Levels { path: path(), why })?;
    let held = manifest.held.as_ref().map(|name| held::read(&dir.join(name))).transpose();
    let held = held.map_err(|error| StoreError::Manifest { path: path(), error })?.unwrap_or_default();
    Ok(Stored { table, held, is_stored, manifest })
}

impl Stored {
    pub(super) fn position(&self) -> Option<Position> {
        self.manifest.feed.clone()
    }
}
