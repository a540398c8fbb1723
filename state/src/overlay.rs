//! What changed since the base, as a persistent map: one writer changes it, any number of readers hold older
//! ones.
//!
//! Shards by the hash's top bits; a shard is a slice of `(hash, change)` sorted by hash, behind an `Arc`, and
//! the array of shards is behind one more. To publish is to clone the outer `Arc`. The first change after a
//! publication copies the array (512 pointers); each change copies its shard's slots (at most 128 on average,
//! 2 KiB) and shares the values. Readers take no lock, count no references and allocate nothing: outer array,
//! shard, binary search, value.
//!
//! Rejected: one map per core (every change applied once per core, and their memory twice); a hash array
//! mapped trie (the same costs at this size, several times the code).

use std::{iter, ops::Range, sync::Arc};

use crate::{
    hash::{Hasher, hash64},
    id::Region,
    limits::OVERLAY_SHARDS,
    record::{Change, HostValue, Key, Record, Service},
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

/// Where the overlay keeps what. Names and ids are hashed as the files beneath hash them, so that one hash of a
/// name asks all layers.
#[derive(Clone, Copy)]
pub(crate) struct Keys {
    pub(crate) seed: u64,
    pub(crate) hasher: Hasher,
}

impl Keys {
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed, hasher: Hasher::new(seed) }
    }

    pub(crate) fn hash(&self, key: &Key) -> u64 {
        match key {
            Key::Host(name) => self.hasher.hash(name.as_str().as_bytes()),
            Key::Service(id) => self.hasher.hash(id.as_str().as_bytes()),
            Key::Endpoints(id, region) => self.hasher.hash(id.as_str().as_bytes()) ^ self.salt(region),
        }
    }

    /// What keeps a service's endpoint set in `region` apart from the service, and from its other sets.
    pub(crate) fn salt(&self, region: &Region) -> u64 {
        hash64(!self.seed, region.as_str().as_bytes())
    }
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

    pub(crate) fn host(&self, hash: u64, name: &[u8]) -> Option<&Change> {
        self.find(
            hash,
            |record| matches!(record, Record::Host(known, _) if known.as_str().as_bytes() == name),
        )
    }

    pub(crate) fn service(&self, hash: u64, id: &str) -> Option<&Change> {
        self.find(hash, |record| matches!(record, Record::Service(known, _) if known.as_str() == id))
    }

    pub(crate) fn endpoints(&self, hash: u64, id: &str, region: &Region) -> Option<&Change> {
        self.find(
            hash,
            |record| matches!(record, Record::Endpoints(known, at, _) if known.as_str() == id && at == region),
        )
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

    /// Whether the two are one and the same, and not only equal.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shards, &other.shards)
    }

    /// Drops what stands in `frozen`, an earlier state of this, and was not replaced since, from a few shards.
    pub(crate) fn shed(&mut self, frozen: &Self, shards: Range<usize>) {
        let (Some(mine), Some(theirs)) =
            (Arc::make_mut(&mut self.shards).get_mut(shards.clone()), frozen.shards.get(shards))
        else {
            return;
        };
        for (mine, theirs) in mine.iter_mut().zip(theirs) {
            let stands = |slot: &&Slot| {
                let start = theirs.partition_point(|other| other.hash < slot.hash);
                let mut same_hash = theirs[start..].iter().take_while(|other| other.hash == slot.hash);
                !same_hash.any(|other| Arc::ptr_eq(&other.change, &slot.change))
            };
            let kept: Shard = mine.iter().filter(stands).cloned().collect();
            let left = mine.iter().map(|slot| octets(&slot.change)).sum::<usize>();
            self.keys -= mine.len() - kept.len();
            self.octets -= left - kept.iter().map(|slot| octets(&slot.change)).sum::<usize>();
            *mine = kept;
        }
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
    let parts = match &change.record {
        Record::Host(name, value) => text(name.as_str()) + value.as_ref().map_or(0, host_octets),
        Record::Service(id, value) => text(id.as_str()) + value.as_ref().map_or(0, service_octets),
        Record::Endpoints(id, region, value) => {
            let set = value.as_ref().map_or(0, |set| size_of_val(set.as_slice()));
            text(id.as_str()) + text(region.as_str()) + set
        }
    };
    size_of::<Slot>() + REFERENCE_COUNTS + size_of::<Change>() + parts
}

/// Of an `Arc`, beside what it holds.
const REFERENCE_COUNTS: usize = 2 * size_of::<usize>();

fn text(text: &str) -> usize {
    REFERENCE_COUNTS + text.len()
}

fn host_octets(value: &HostValue) -> usize {
    match value {
        HostValue::Mapped { service, .. } => text(service.as_str()),
        HostValue::Tombstone { reason } => text(reason.as_str()),
    }
}

fn service_octets(service: &Service) -> usize {
    let regions = service.regions.iter().map(|region| size_of_val(region) + text(region.0.as_str()));
    text(service.owner.as_str())
        + text(service.home_region.as_str())
        + service.policy.as_ref().map_or(0, |policy| text(policy.as_str()))
        + regions.sum::<usize>()
}
