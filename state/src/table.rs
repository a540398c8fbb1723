//! The writer's table: applies changes, publishes views.

use std::{
    hash::{BuildHasher, RandomState},
    sync::Arc,
};

use crate::{
    digest::Digest,
    id::Region,
    limits::{OVERLAY_KEYS_MAX, OVERLAY_OCTETS_MAX},
    overlay::{self, Overlay, Seeds},
    record::Change,
    region::RegionKey,
    snapshot::Snapshot,
    view::View,
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
    Refused(Refusal),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("the overlay holds {OVERLAY_KEYS_MAX} keys, its most; start from a newer snapshot")]
    OverlayKeys,
    #[error("the overlay holds {OVERLAY_OCTETS_MAX} octets, its most; start from a newer snapshot")]
    OverlayOctets,
}

impl Table {
    /// An empty table on a node in `local`.
    pub fn new(local: &Region) -> Self {
        Self::over(None, local)
    }

    /// What `base` holds, on a node in `local`.
    pub fn with_base(base: Arc<Snapshot>, local: &Region) -> Self {
        Self::over(Some(base), local)
    }

    fn over(base: Option<Arc<Snapshot>>, local: &Region) -> Self {
        // Keyed afresh in each process, so that nobody can register names that fall into one shard.
        let seeds = Seeds::new(RandomState::new().hash_one(0));
        let digest = base.as_ref().map_or_else(Digest::default, |base| base.header().digest);
        let local = RegionKey::new(local, &seeds, base.as_deref());
        Self { view: View { base, overlay: Overlay::new(), seeds, local }, digest, scratch: Vec::new() }
    }

    /// Last writer wins, per key: order, duplicates and replay do no harm.
    pub fn apply(&mut self, change: Change) -> Outcome {
        let key = change.record.key();
        let stored = self.view.change(&key);
        if stored.as_ref().is_some_and(|stored| stored.version >= change.version) {
            return Outcome::Stale;
        }
        let hash = self.view.seeds.hash(&key);
        if let Some(refusal) = self.refusal(hash, &change) {
            return Outcome::Refused(refusal);
        }
        if let Some(stored) = stored {
            self.digest.remove(&stored, &mut self.scratch);
        }
        self.digest.add(&change, &mut self.scratch);
        self.view.overlay.insert(hash, change);
        Outcome::Applied
    }

    fn refusal(&self, hash: u64, change: &Change) -> Option<Refusal> {
        let overlay = &self.view.overlay;
        let key = change.record.key();
        let replaced = overlay.find(hash, |record| record.key() == key);
        if replaced.is_none() && overlay.keys() >= OVERLAY_KEYS_MAX {
            return Some(Refusal::OverlayKeys);
        }
        let octets = overlay.octets() + overlay::octets(change) - replaced.map_or(0, overlay::octets);
        (octets > OVERLAY_OCTETS_MAX).then_some(Refusal::OverlayOctets)
    }

    /// The state as it is now, for readers. Costs a few reference counts.
    pub fn publish(&self) -> View {
        self.view.clone()
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
        (self.view.overlay.keys(), self.view.overlay.octets())
    }
}
