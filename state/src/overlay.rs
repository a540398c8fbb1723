//! What changed since the base, as a persistent map: one writer changes it, any number of readers hold older ones.
//!
//! Shards by the hash's top bits; a shard is a slice of `(hash, change)` sorted by hash, behind an `Arc`, and the array of
//! shards is behind one more. To publish is to clone the outer `Arc`. The first change after a publication copies the array
//! (512 pointers); each change copies its shard's slots (at most 128 on average, 2 KiB) and shares the values. Readers take
//! no lock, count no references and allocate nothing: outer array, shard, binary search, value.
//!
//! Rejected: one map per core (every change applied once per core, and their memory twice); a hash array mapped trie (the
//! same costs at this size, several times the code).

use std::{iter, sync::Arc};

use crate::{
    limits::OVERLAY_SHARDS,
    record::{Change, HostValue, Record},
};

#[derive(Clone)]
pub(crate) struct Overlay {
    shards: Arc<[Shard]>,
    keys: usize,
    octets: usize,
}

type Shard = Arc<[Slot]>;

#[derive(Clone)]
struct Slot {
    hash: u64,
    change: Arc<Change>,
}

impl Overlay {
    pub(crate) fn new() -> Self {
        let empty: Shard = Arc::new([]);
        Self { shards: iter::repeat_n(empty, OVERLAY_SHARDS).collect(), keys: 0, octets: 0 }
    }

    pub(crate) fn keys(&self) -> usize {
        self.keys
    }

    /// Memory held by its entries, estimated from their parts.
    pub(crate) fn octets(&self) -> usize {
        self.octets
    }

    /// The change under `hash` whose key `is_key` accepts.
    #[inline]
    pub(crate) fn find(&self, hash: u64, is_key: impl Fn(&Record) -> bool) -> Option<&Change> {
        let shard = self.shards.get(shard_of(hash))?;
        let start = shard.partition_point(|slot| slot.hash < hash);
        let same_hash = shard.get(start..)?.iter().take_while(|slot| slot.hash == hash);
        same_hash.map(|slot| &*slot.change).find(|change| is_key(&change.record))
    }

    /// Puts `change` in the place of the one with its key, or beside the others.
    pub(crate) fn insert(&mut self, hash: u64, change: Change) {
        let shard = &mut Arc::make_mut(&mut self.shards)[shard_of(hash)];
        let key = change.record.key();
        let is_same = |slot: &Slot| slot.hash == hash && slot.change.record.key() == key;
        self.octets += octets(&change);
        if let Some(replaced) = shard.iter().find(|slot| is_same(slot)) {
            self.octets -= octets(&replaced.change);
            self.keys -= 1;
        }
        self.keys += 1;
        let at = shard.partition_point(|slot| slot.hash < hash);
        let (before, after) = shard.split_at(at);
        let new = iter::once(Slot { hash, change: Arc::new(change) });
        let after = after.iter().filter(|slot| !is_same(slot)).cloned();
        *shard = before.iter().cloned().chain(new).chain(after).collect();
    }

    /// All changes, in no order that means anything.
    pub(crate) fn changes(&self) -> impl Iterator<Item = &Change> {
        self.shards.iter().flat_map(|shard| shard.iter()).map(|slot| &*slot.change)
    }
}

#[allow(clippy::cast_possible_truncation)] // fewer bits than any usize
fn shard_of(hash: u64) -> usize {
    (hash >> (64 - OVERLAY_SHARDS.trailing_zeros())) as usize
}

/// Octets that `change` holds once it is stored.
pub(crate) fn octets(change: &Change) -> usize {
    const ARC: usize = 2 * size_of::<usize>();
    let parts = match &change.record {
        Record::Host(name, value) => {
            name.as_str().len()
                + match value {
                    Some(HostValue::Mapped { service, .. }) => service.as_str().len() + ARC,
                    Some(HostValue::Tombstone { reason }) => reason.as_str().len() + ARC,
                    None => 0,
                }
        }
        Record::Service(id, value) => {
            id.as_str().len()
                + value.as_ref().map_or(0, |service| {
                    let region = |(region, _): &(crate::id::Region, u16)| {
                        size_of::<(crate::id::Region, u16)>() + region.as_str().len() + ARC
                    };
                    service.regions.iter().map(region).sum::<usize>()
                        + service.owner.as_str().len()
                        + service.home_region.as_str().len()
                        + service.policy.as_ref().map_or(0, |policy| policy.as_str().len())
                        + 3 * ARC
                })
        }
        Record::Endpoints(id, region, value) => {
            id.as_str().len()
                + region.as_str().len()
                + ARC
                + value.as_ref().map_or(0, |set| size_of_val(set.as_slice()))
        }
    };
    size_of::<Slot>() + size_of::<Change>() + 2 * ARC + parts
}
