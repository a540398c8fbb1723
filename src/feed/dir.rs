//! `state.dir`: what outlives the process, and belongs to one process at a time.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ringway_state::Table;
use ringway_state::snapshot::Snapshot;

use super::inline::{self, InlineError};
use super::quarantine;
use super::store::{self, StoreError, Stored};
use crate::config::Config;
use crate::runtime::machine;

/// The folder, held for as long as this lives.
pub struct StateDir {
    path: PathBuf,
    _lock: File,
}

/// Why the folder cannot be used. `place` is where the configuration names it.
#[derive(Debug, thiserror::Error)]
pub enum DirError {
    #[error("{place}: {dir} cannot be used: {error}; let this user write to it, or name another folder")]
    Io { place: String, dir: String, error: io::Error },
    #[error(
        "{place}: {dir} is used by another process ({by}); stop it, or give this one a folder of its own"
    )]
    Taken { place: String, dir: String, by: String },
}

const LOCK: &str = "lock";

/// How often a lock is tried that is another's.
const TRY_EVERY: Duration = Duration::from_millis(20);

impl StateDir {
    /// Makes the folder if need be, and takes it. One that another process is about to leave has `patience` for it.
    ///
    /// # Errors
    /// As [`DirError`]: the input is wrong.
    pub fn open(config: &Config, patience: Duration) -> Result<StateDir, DirError> {
        let path = &config.state.dir;
        let (place, dir) = (config.places.of("state.dir"), path.display().to_string());
        match lock(path, patience) {
            Ok(Ok(lock)) => Ok(StateDir { path: path.clone(), _lock: lock }),
            Ok(Err(by)) => Err(DirError::Taken { place, dir, by }),
            Err(error) => Err(DirError::Io { place, dir, error }),
        }
    }

    /// The table that is in the folder, which may be another process's, of the feed, or else over `base`. Changes nothing.
    ///
    /// # Errors
    /// What is there cannot be used.
    pub fn look_at_table<E: From<StoreError>>(
        config: &Config,
        feed: &Path,
        base: impl FnOnce() -> Result<Option<Arc<Snapshot>>, E>,
    ) -> Result<Table, E> {
        store::look(&config.state.dir, feed, &config.node.region, base).map(|stored| stored.table)
    }

    /// Whether the router makes a file of this name in it, and may write over or remove one that is there.
    pub fn is_own(name: &str) -> bool {
        name == LOCK || quarantine::is_own(name) || store::is_own(name)
    }

    /// Whether it could be opened now. Neither makes nor changes anything, and holds it for a moment at most.
    ///
    /// # Errors
    /// As [`DirError`].
    pub fn look(config: &Config) -> Result<(), DirError> {
        let path = &config.state.dir;
        let (place, dir) = (config.places.of("state.dir"), path.display().to_string());
        match File::options().read(true).write(true).open(path.join(LOCK)) {
            Ok(mut lock) => match lock.try_lock() {
                Ok(()) => Ok(()),
                Err(TryLockError::WouldBlock) => {
                    let mut by = String::new();
                    let read = lock.read_to_string(&mut by);
                    let by = read.map_or("unknown".to_owned(), |_| by.trim().to_owned());
                    Err(DirError::Taken { place, dir, by })
                }
                Err(TryLockError::Error(error)) => Err(DirError::Io { place, dir, error }),
            },
            Err(error) if error.kind() == ErrorKind::NotFound => {
                can_be_made(path).map_err(|error| DirError::Io { place, dir, error })
            }
            Err(error) => Err(DirError::Io { place, dir, error }),
        }
    }

    /// The table that is in it, or else over the snapshot that the configuration names.
    ///
    /// # Errors
    /// What is there cannot be used.
    pub fn table<E>(&self, config: &Config, feed: &Path) -> Result<Stored, E>
    where
        E: From<StoreError> + From<InlineError>,
    {
        store::open(&self.path, feed, &config.node.region, || Ok(inline::base(config)?))
    }

    #[cfg(test)]
    pub(super) fn at(path: &Path) -> StateDir {
        let lock = lock(path, Duration::ZERO).unwrap().unwrap();
        StateDir { path: path.to_owned(), _lock: lock }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// Whether the folder, and files in it, could be made.
fn can_be_made(dir: &Path) -> io::Result<()> {
    let there =
        dir.ancestors().find(|folder| folder.exists()).filter(|folder| !folder.as_os_str().is_empty());
    let there = there.unwrap_or(Path::new("."));
    if !there.is_dir() {
        return Err(io::Error::from_raw_os_error(libc::ENOTDIR));
    }
    machine::can_make_files(there)
}

/// Something else in the folder's place is told so, whoever finds it.
fn no_folder(error: io::Error) -> io::Error {
    match error.kind() {
        ErrorKind::AlreadyExists => io::Error::from_raw_os_error(libc::ENOTDIR),
        _ => error,
    }
}

/// The lock, or who has it.
fn lock(dir: &Path, patience: Duration) -> io::Result<Result<File, String>> {
    fs::create_dir_all(dir).map_err(no_folder)?;
    let mut file =
        File::options().create(true).truncate(false).read(true).write(true).open(dir.join(LOCK))?;
    let deadline = Instant::now() + patience;
    loop {
        match file.try_lock() {
            Ok(()) => break,
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => std::thread::sleep(TRY_EVERY),
            Err(TryLockError::WouldBlock) => {
                let mut by = String::new();
                file.read_to_string(&mut by)?;
                return Ok(Err(by.trim().to_owned()));
            }
        }
    }
    // For people; the lock is the kernel's, and goes with the process. A disk that is full keeps nobody from serving.
    let _ = file
        .rewind()
        .and_then(|()| file.set_len(0))
        .and_then(|()| writeln!(file, "pid {}", std::process::id()));
    Ok(Ok(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_process_has_it_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b");
        let first = lock(&path, Duration::ZERO).unwrap().unwrap();
        assert_eq!(lock(&path, Duration::ZERO).unwrap().unwrap_err(), format!("pid {}", std::process::id()));
        drop(first);
        assert!(lock(&path, Duration::ZERO).unwrap().is_ok());
        assert!(lock(Path::new("/proc/none"), Duration::ZERO).is_err());
    }

    #[test]
    fn whether_a_folder_can_be_made_is_found_out_without_one() {
        let dir = tempfile::tempdir().unwrap();
        can_be_made(&dir.path().join("a/b")).unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        // Root may write there by the mode of /proc.
        let refused = can_be_made(Path::new("/proc/none")).unwrap_err();
        assert_eq!(refused.kind(), lock(Path::new("/proc/none"), Duration::ZERO).unwrap_err().kind());
    }

    #[test]
    fn the_names_of_its_own_files() {
        let own =
            ["lock", "manifest.json", "manifest.json.partial", "quarantine.jsonl", "quarantine.1.jsonl"];
        let table = ["0.snap", "17.held", "3.snap.77.partial"];
        assert!(own.iter().chain(&table).all(|name| StateDir::is_own(name)));
        let others = ["changes.jsonl", "base.snap", "manifest", "x.snap.1.partial", "3.snapshot"];
        assert!(!others.iter().any(|name| StateDir::is_own(name)));
    }
}
