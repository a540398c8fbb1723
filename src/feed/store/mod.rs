//! The table in `state.dir`: a base and a few levels, and on record which they are and how far of the feed they hold. A
//! restart begins with them, and reads the feed on from there.
//!
//! ```text
//! feed's thread: chores ──job──▶ housekeeper: build a file, or write the manifest and remove what it names no more
//!       ▲  install, publish         │
//!       └──────────done─────────────┘
//! ```
//! [`Recorder`] writes beside it what guards let go of (`judged`).
//!
//! Files are added first, then named by the manifest, and removed once neither it nor a core has them: a crash anywhere
//! leaves a folder that a start can use.

mod chores;
mod held;
mod housekeeper;
mod judged;
mod manifest;
mod recorder;
mod trouble;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ringway_state::id::Region;
use ringway_state::record::Change;
use ringway_state::snapshot::{OpenError, Snapshot};
use ringway_state::{Refusal, Table};

pub(super) use chores::{Chores, Now, Read};
pub(super) use judged::{Fact, Judged, LetGo};
use manifest::Manifest;
pub(super) use recorder::Recorder;

use super::file::Position;

/// The table that a folder had at the start.
pub struct Stored {
    pub table: Table,
    /// What guards held back, and is not in it.
    pub(super) held: Vec<Change>,
    /// What they let go of.
    pub(super) judged: Judged,
    /// Whether it comes from the folder, or the folder had none.
    pub is_stored: bool,
    pub(super) manifest: Manifest,
    /// The folder has a manifest.
    pub(super) is_on_record: bool,
}

/// Why a folder's table cannot be used. Nothing in it has changed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("{path} cannot be used: {error}; {mend}", path = path.display(), mend = MEND)]
    Manifest { path: PathBuf, error: io::Error },
    #[error(
        "{dir} has files of a table, {file} for one, and no manifest.json that says which of them it is; put that back, or {mend}",
        dir = dir.display(), mend = MEND
    )]
    NoManifest { dir: PathBuf, file: String },
    #[error("a file of the guards' record in {dir} cannot be read: {error}; {mend}", dir = dir.display(), mend = MEND)]
    Judged { dir: PathBuf, error: io::Error },
    #[error("a file of the table cannot be used; {mend}", mend = MEND)]
    File(#[source] OpenError),
    #[error("the files that {path} names make no table: {why}; {mend}", path = path.display(), mend = MEND)]
    Levels { path: PathBuf, why: Refusal },
    /// Its host names would be served on, though nothing says any more to whom they belong.
    #[error(
        "{dir} has the table of another feed, {source_was}, and {feed} does not go on where that ended; give this router a \
         folder of its own, or {mend}",
        dir = dir.display(), feed = feed.display(), mend = MEND
    )]
    OtherFeed { dir: PathBuf, source_was: String, feed: PathBuf },
}

const MEND: &str = "move the folder away, and the feed is read from its start";

/// Opens and verifies what a folder has of a feed, and removes what it has no more use for; `base` is what it begins with if
/// it has nothing.
///
/// # Errors
/// As [`StoreError`].
pub(super) fn open<E: From<StoreError>>(
    dir: &Path,
    feed: &Path,
    region: &Region,
    base: impl FnOnce() -> Result<Option<Arc<Snapshot>>, E>,
) -> Result<Stored, E> {
    let mut stored = look(dir, feed, region, base)?;
    if !stored.is_on_record {
        // A folder that takes nothing keeps nobody from serving; it is tried again before anything else is written.
        stored.is_on_record = stored.manifest.write(dir).is_ok();
    }
    // A refusal leaves leftovers for whoever looks into it.
    manifest::settle(dir, &mut stored.manifest)
        .map_err(|error| StoreError::Manifest { path: dir.join("manifest.json"), error })?;
    Ok(stored)
}

/// The same, and changes nothing: the folder may be another process's.
///
/// # Errors
/// As [`StoreError`].
pub(super) fn look<E: From<StoreError>>(
    dir: &Path,
    feed: &Path,
    region: &Region,
    base: impl FnOnce() -> Result<Option<Arc<Snapshot>>, E>,
) -> Result<Stored, E> {
    let path = || dir.join("manifest.json");
    let manifest = Manifest::read(dir).map_err(|error| StoreError::Manifest { path: path(), error })?;
    let is_on_record = manifest.is_some();
    if !is_on_record {
        let any = manifest::any_file(dir).map_err(|error| StoreError::Manifest { path: path(), error })?;
        any.map_or(Ok(()), |file| Err(StoreError::NoManifest { dir: dir.to_owned(), file }))?;
    }
    let manifest = of_feed(manifest.unwrap_or_else(Manifest::new), dir, feed)?;
    let is_stored = !manifest.is_bare();
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
    let judged = judged::read(dir, manifest.judged)
        .map_err(|error| StoreError::Judged { dir: dir.to_owned(), error })?;
    Ok(Stored { table, held, judged, is_stored, manifest, is_on_record })
}

/// What is on record, if it is a feed's own. A file of another name that goes on where the one before was read to is the same
/// one, moved; one of the same name is more of it, whatever it has (`super::file`).
fn of_feed(mut manifest: Manifest, dir: &Path, feed: &Path) -> Result<Manifest, StoreError> {
    let name = std::path::absolute(feed).unwrap_or_else(|_| feed.to_owned()).display().to_string();
    let goes_on = || manifest.feed.as_ref().is_some_and(|position| position.is_continued_by(feed));
    if let Some(other) = manifest.source.as_ref().filter(|source| **source != name)
        && !goes_on()
    {
        let (dir, feed) = (dir.to_owned(), feed.to_owned());
        return Err(StoreError::OtherFeed { dir, source_was: other.clone(), feed });
    }
    manifest.source = Some(name);
    Ok(manifest)
}

/// Whether the router writes, replaces or removes a file of this name in its `state.dir`.
pub(super) fn is_own(name: &str) -> bool {
    manifest::is_own(name)
}

impl Stored {
    /// Whether everything that is not in it is to be judged by guards.
    pub(super) fn is_guarded(&self) -> bool {
        self.is_stored && self.manifest.guarded
    }

    /// Numbers of files in the folder that look like the table's, and are not.
    pub(super) fn others(&self) -> impl Iterator<Item = u64> {
        self.manifest.others.iter().copied()
    }

    pub(super) fn position(&self) -> Option<Position> {
        self.manifest.feed.clone()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::file::{Follower, Look};
    use super::*;

    fn opened(dir: &Path, feed: &Path) -> Result<Stored, StoreError> {
        open(dir, feed, &Region::parse("local").unwrap(), || Ok(None))
    }

    /// Where a file has been read to its end.
    fn read(feed: &Path) -> Option<Position> {
        let (mut follower, _) = Follower::new(feed, None).unwrap();
        while !matches!(follower.read(), Look::End) {
            while follower.line().is_some() {}
        }
        follower.position(false)
    }

    #[test]
    fn a_folder_is_of_one_feed() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("a"), "1\n2\n").unwrap();
        let mut stored = opened(dir.path(), &at("a")).unwrap();
        assert!(!stored.is_stored);
        stored.manifest.feed = read(&at("a"));
        stored.manifest.write(dir.path()).unwrap();
        // Of the same name it is another, and more of the same.
        fs::write(at("a"), "3\n").unwrap();
        assert!(opened(dir.path(), &at("a")).unwrap().is_stored);
        fs::write(at("other"), "1\n3\n4\n").unwrap();
        for feed in ["other", "none"] {
            let refused = opened(dir.path(), &at(feed)).err().unwrap().to_string();
            let other =
                format!("the table of another feed, {}, and {}", at("a").display(), at(feed).display());
            assert!(refused.contains(&other) && refused.contains("move the folder away"), "{refused}");
        }
        // What goes on where it ended is the same one, moved or copied.
        fs::write(at("moved"), "1\n2\n3\n").unwrap();
        let stored = opened(dir.path(), &at("moved")).unwrap();
        stored.manifest.write(dir.path()).unwrap();
        assert!(opened(dir.path(), &at("moved")).unwrap().is_stored);
        assert!(opened(dir.path(), &at("a")).is_err());
    }

    #[test]
    fn what_was_written_before_feeds_were_noted_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let text = r#"{"format":1,"base":null,"levels":[],"next":9,"base_made":0,"held":null,"feed":null}"#;
        fs::write(dir.path().join("manifest.json"), text).unwrap();
        let stored = opened(dir.path(), Path::new("/none")).unwrap();
        assert!(stored.is_stored && stored.manifest.source.as_deref() == Some("/none"));
    }

    /// Whatever became of the manifest: the files may be all that there is of the table.
    #[test]
    fn a_folder_without_its_manifest_is_refused_and_nothing_in_it_removed() {
        for file in ["7.snap", "3.held", "0.judged"] {
            let dir = tempfile::tempdir().unwrap();
            fs::write(dir.path().join(file), "octets").unwrap();
            let refused = opened(dir.path(), Path::new("a")).err().unwrap().to_string();
            assert!(
                refused.contains(&dir.path().display().to_string()) && refused.contains(file),
                "{refused}"
            );
            assert!(refused.contains("put that back, or move the folder away"), "{refused}");
            let left: Vec<_> =
                fs::read_dir(dir.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
            assert_eq!(left, [file]);
        }
    }

    #[test]
    fn a_manifest_stands_before_any_other_file() {
        let dir = tempfile::tempdir().unwrap();
        let stored = opened(dir.path(), Path::new("a")).unwrap();
        assert!(!stored.is_stored && stored.is_on_record);
        let names: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
        assert_eq!(names, ["manifest.json"]);
        // Nothing was read yet, and a base that the configuration names is taken as if there were none.
        fs::write(dir.path().join("0.snap"), "left by a crash").unwrap();
        assert!(!opened(dir.path(), Path::new("a")).unwrap().is_stored);
        assert!(!dir.path().join("0.snap").exists());
        // So it is in a folder that another has been put in the place of.
        fs::remove_file(dir.path().join("manifest.json")).unwrap();
        manifest::begin(dir.path(), &stored.manifest).unwrap();
        assert!(dir.path().join("manifest.json").exists());
        // But what stands beside files whose manifest is gone says nothing of them.
        fs::rename(dir.path().join("manifest.json"), dir.path().join("1.snap")).unwrap();
        manifest::begin(dir.path(), &stored.manifest).unwrap();
        assert!(!dir.path().join("manifest.json").exists());
    }

    #[test]
    fn a_file_that_is_missing_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let mut manifest = Manifest::new();
        manifest.base = Some(manifest.take_name());
        manifest.write(dir.path()).unwrap();
        let refused = opened(dir.path(), Path::new("a")).err().unwrap();
        let refused = crate::causes::with_causes(&refused);
        assert!(refused.contains("0.snap") && refused.contains("move the folder away"), "{refused}");
    }
}
