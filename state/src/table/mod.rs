//! The writer's table: applies changes, publishes views.

mod chores;
mod work;

use std::{
    hash::{BuildHasher, RandomState},
    sync::Arc,
};

pub use self::{
    chores::{Due, Retired},
    work::{Built, Forget, Work, WorkError},
};
use crate::{
    digest::Digest,
    id::Region,
    limits::{LEVELS_MAX, OVERLAY_KEYS_MAX, OVERLAY_OCTETS_MAX},
    overlay::{self, Keys, Overlay},
    record::Change,
    snapshot::{Role, Snapshot},
    view::{HostHit, View},
};

/// One writer's handle on the route table. Not shared: readers hold the views it publishes.
pub struct Table {
    view: View,
    digest: Digest,
    scratch: Vec<u8>,
}

/// What became of a change. Only [`Outcome::Applied`] changed anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Applied,
    /// Its key already has this version or a newer one.
    Stale,
    /// Its writer has lost the key to one of a newer epoch.
    Fenced,
    Refused(Refusal),
}

/// Why the table does not take something now. Nothing has changed then, and nothing is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("the overlay holds {OVERLAY_KEYS_MAX} keys, its most; flush it to a level")]
    OverlayKeys,
    #[error("the overlay holds {OVERLAY_OCTETS_MAX} octets, its most; flush it to a level")]
    OverlayOctets,
    #[error("there are {LEVELS_MAX} levels, their most; merge some")]
    Levels,
    #[error(
        "level {0} from the newest was made over another state than stands beneath it; leave it, and all newer, out"
    )]
    Misplaced(usize),
    #[error("there are no such levels")]
    NoSuchLevels,
    #[error(
        "the table stands on other files, or another flush was begun, since this was taken; take it again"
    )]
    Outdated,
}

impl Table {
    /// An empty table on a node in `local`.
    pub fn new(local: &Region) -> Self {
        Self::over(None, Arc::new([]), Digest::default(), local)
    }

    /// What `base` holds, on a node in `local`.
    pub fn with_base(base: Arc<Snapshot>, local: &Region) -> Self {
        let digest = base.header().digest;
        Self::over(Some(base), Arc::new([]), digest, local)
    }

    /// What base and levels hold, newest level first, as they stood in the table that made them.
    ///
    /// # Errors
    /// [`Refusal::Levels`]; [`Refusal::Misplaced`], if one was made over another state than stands beneath it.
    pub fn with_layers(
        base: Option<Arc<Snapshot>>,
        levels: Vec<Arc<Snapshot>>,
        local: &Region,
    ) -> Result<Self, Refusal> {
        if levels.len() > LEVELS_MAX {
            return Err(Refusal::Levels);
        }
        let mut state = base.as_ref().map_or_else(Digest::default, |base| base.header().state());
        for (at, level) in levels.iter().enumerate().rev() {
            match level.header().role {
                Role::Level { beneath, with } if beneath == state => state = with,
                _ => return Err(Refusal::Misplaced(at)),
            }
        }
        Ok(Self::over(base, levels.into(), state, local))
    }

    fn over(
        base: Option<Arc<Snapshot>>,
        levels: Arc<[Arc<Snapshot>]>,
        digest: Digest,
        local: &Region,
    ) -> Self {
        // Keyed afresh for each base, so that nobody can register names that fall into one shard.
        let deepest = base.as_ref().or(levels.last());
        let seed = deepest.map_or_else(|| RandomState::new().hash_one(0), |file| file.seed());
        let view = View::new(base, levels, Overlay::new(), Keys::new(seed), local);
        Self { view, digest, scratch: Vec::new() }
    }

    /// Last writer wins, per key: order, duplicates and replay do no harm.
    pub fn apply(&mut self, change: Change) -> Outcome {
        let key = change.record.key();
        let stored = self.view.change(&key);
        if let Some(stored) = &stored
            && stored.version >= change.version
        {
            let is_fenced = change.version.epoch < stored.version.epoch;
            return if is_fenced { Outcome::Fenced } else { Outcome::Stale };
        }
        let hash = self.view.keys().hash(&key);
        if let Some(refusal) = self.refusal(hash, &change) {
            return Outcome::Refused(refusal);
        }
        if let Some(stored) = stored {
            self.digest.remove(&stored, &mut self.scratch);
        }
        self.digest.add(&change, &mut self.scratch);
        self.view.change_overlay(|overlay| overlay.insert(hash, change));
        Outcome::Applied
    }

    fn refusal(&self, hash: u64, change: &Change) -> Option<Refusal> {
        let overlay = self.view.overlay();
        let replaced = overlay.replaced(hash, &change.record.key()).map(overlay::octets);
        let size = overlay.size();
        if replaced.is_none() && size.keys >= OVERLAY_KEYS_MAX {
            return Some(Refusal::OverlayKeys);
        }
        let (new, old) = (overlay::octets(change), replaced.unwrap_or(0));
        (size.octets + new - old > OVERLAY_OCTETS_MAX).then_some(Refusal::OverlayOctets)
    }

    /// The state as it is now, for readers. Costs a few reference counts.
    pub fn publish(&self) -> View {
        self.view.clone()
    }

    /// As [`View::host`] of the state as it is now.
    pub fn host(&self, name: &[u8]) -> Option<HostHit<'_>> {
        self.view.host(name)
    }

    /// Of the state as it is now.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Mapped host names and tombstones of the base; 0 without one.
    pub fn base_hosts(&self) -> u64 {
        self.view.base_hosts()
    }

    /// Keys and octets that the overlay holds.
    pub fn overlay_size(&self) -> (usize, usize) {
        self.view.overlay_size()
    }
}
