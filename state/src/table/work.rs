//! What takes long, done elsewhere: files made of what the table held when the work was taken.

use std::{path::Path, sync::Arc};

use crate::{
    digest::Digest,
    overlay::Frozen,
    record::Change,
    snapshot::{self, BuildError, BuildOptions, OpenError, Plan, Progress, Role, Snapshot},
};

/// One file to be made: a level of an overlay, one of several, or a base of all. Holds what it needs, and may go
/// to another thread.
#[derive(Clone)]
pub struct Work {
    pub(super) flushed: Option<Frozen>,
    /// Newest first.
    pub(super) files: Vec<Arc<Snapshot>>,
    pub(super) makes: Makes,
    /// Of the files beneath, so that one hash asks all layers.
    pub(crate) seed: u64,
}

#[derive(Clone)]
pub(super) enum Makes {
    /// Of the states before and after what is in it.
    Level {
        beneath: Digest,
        with: Digest,
    },
    Base {
        state: Digest,
        forget: Forget,
    },
}

/// Which graves a new base leaves out. A grave must outlast every message and file with an older value of its key
/// (72 hours, S5), and changes carry no time. So what is known to be old enough is told by a file: a grave in a
/// snapshot that was made so long ago is at least as old.
#[derive(Clone, Default)]
pub enum Forget {
    #[default]
    Nothing,
    /// Graves that this snapshot has too, of the same version. The caller vouches for its age.
    KnownTo(Arc<Snapshot>),
}

/// A file that was made, verified and mapped, to be put into the table it was taken from.
#[derive(Clone)]
pub struct Built {
    pub(super) work: Work,
    pub(super) file: Arc<Snapshot>,
}

impl Built {
    pub fn file(&self) -> &Arc<Snapshot> {
        &self.file
    }
}

/// Why no file was made. The table is as it was; take the work again.
#[derive(Debug, thiserror::Error)]
pub enum WorkError {
    #[error(transparent)]
    Build(#[from] BuildError),
    #[error(transparent)]
    Open(#[from] OpenError),
}

impl Makes {
    fn forgets(&self, change: &Change) -> bool {
        match self {
            Makes::Base { forget: Forget::KnownTo(old), .. } if change.record.is_grave() => {
                old.change(&change.record.key()).as_ref() == Some(change)
            }
            Makes::Base { .. } | Makes::Level { .. } => false,
        }
    }

    fn role(&self) -> Role {
        match *self {
            Makes::Level { beneath, with } => Role::Level { beneath, with },
            Makes::Base { .. } => Role::Base,
        }
    }
}

impl Work {
    /// Writes the file to `out`, where it appears whole, and opens it. Takes as long as it takes: `pace` is called
    /// with each 64 KiB written and each 65,536 changes read, and may sleep.
    pub fn build(self, out: &Path, pace: &mut dyn FnMut(Progress)) -> Result<Built, WorkError> {
        let options = BuildOptions { seed: Some(self.seed), offsets: self.offsets() };
        let digest = match self.makes {
            Makes::Base { state, .. } => Some(state),
            Makes::Level { .. } => None,
        };
        let forgotten = |change: &Change| self.makes.forgets(change);
        let plan = Plan { role: self.makes.role(), forgotten: &forgotten, digest };
        snapshot::build_as(&plan, self.changes(), out, &options, pace)?;
        Ok(Built { file: Arc::new(Snapshot::open_any(out)?), work: self })
    }

    /// Where the log goes on behind what is in the file.
    fn offsets(&self) -> Vec<u64> {
        let newest = self.files.first().map(|newest| &newest.header().offsets[..]);
        self.flushed.as_ref().map(|flushed| &*flushed.offsets).or(newest).unwrap_or_default().to_vec()
    }

    /// All values, those that are replaced by newer ones too: the builder takes the newest of each key.
    fn changes(&self) -> impl Iterator<Item = Result<Change, BuildError>> {
        let of_overlay = self.flushed.iter().flat_map(|flushed| flushed.changes().cloned());
        let of_files = self.files.iter().flat_map(|file| {
            let source = |what| BuildError::Source { path: file.path().to_owned(), what };
            file.changes().map(move |change| change.map_err(source))
        });
        of_overlay.map(Ok).chain(of_files)
    }
}
