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

use std::{iter, sync::Arc};

use crate::{
    hash::{Hasher, splitmix64},
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

/// Where the overlay keeps what: a seed for each kind of key.
#[derive(Clone, Copy)]
pub(crate) struct Seeds {
    pub(crate) host: Hasher,
    pub(crate) service: Hasher,
    endpoints: Hasher,
}

impl Seeds {
    pub(crate) fn new(mut seed: u64) -> Self {
        let mut next = || Hasher::new(splitmix64(&mut seed));
        Self { host: next(), service: next(), endpoints: next() }
    }

    pub(crate) fn hash(&self, key: &Key) -> u64 {
        match key {
            Key::Host(name) => self.host.hash(name.as_str().as_bytes()),
            Key::Service(id) => self.service.hash(id.as_str().as_bytes()),
            Key::Endpoints(id, region) => self.endpoints_in(region).hash(id.as_str().as_bytes()),
        }
    }

    /// For the ids of services with endpoints in `region`.
    pub(crate) fn endpoints_in(&self, region: &Region) -> Hasher {
        Hasher::new(self.endpoints.hash(region.as_str().as_bytes()))
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
