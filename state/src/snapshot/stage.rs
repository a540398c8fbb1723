//! The builder's memory: changes packed in one arena, put into the order of the file's buckets by sorting
//! their hashes.

use crate::{
    codec,
    hash::Hasher,
    record::{Change, Record},
};

/// Changes of one section, in any order and with stale ones among them.
#[derive(Default)]
pub(crate) struct Stage {
    arena: Vec<u8>,
    slots: Vec<Slot>,
}

/// A change in the arena. `at` ascends as changes arrive.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Slot {
    pub(crate) hash: u64,
    pub(crate) at: usize,
}

impl Stage {
    pub(crate) fn push(&mut self, change: &Change) {
        self.slots.push(Slot { hash: 0, at: self.arena.len() });
        codec::encode(change, &mut self.arena);
    }

    /// Sorts by the hash under `seed` of the name that the section is looked up by, then by arrival.
    pub(crate) fn arrange(&mut self, seed: u64) {
        let hasher = Hasher::new(seed);
        for slot in &mut self.slots {
            let (_, name) = self.arena.split_at(slot.at + 1);
            let length = usize::from(name.first().copied().unwrap_or_default());
            slot.hash = hasher.hash(&name[1..=length]);
        }
        self.slots.sort_unstable();
    }

    /// The changes of each hash; names that share a hash share a group.
    pub(crate) fn groups(&self) -> impl Iterator<Item = &[Slot]> {
        self.slots.chunk_by(|a, b| a.hash == b.hash)
    }

    /// Each hash once, ascending.
    pub(crate) fn hashes(&self) -> impl Iterator<Item = u64> {
        self.groups().filter_map(|group| Some(group.first()?.hash))
    }

    /// The newest change of each key in `group`, ascending by key; of equal versions, the first that arrived.
    pub(crate) fn newest(&self, group: &[Slot]) -> Vec<(Slot, Change)> {
        let decoded = group.iter().filter_map(|slot| Some((*slot, self.change(slot.at)?)));
        let mut newest: Vec<(Slot, Change)> = decoded.collect();
        if newest.len() > 1 {
            newest.sort_by(|(_, a), (_, b)| {
                order(&a.record).cmp(&order(&b.record)).then(b.version.cmp(&a.version))
            });
            newest.dedup_by(|(_, later), (_, kept)| order(&later.record) == order(&kept.record));
        }
        newest
    }

    /// The change at that place in the arena.
    pub(crate) fn change(&self, at: usize) -> Option<Change> {
        codec::decode(self.arena.get(at..)?)
    }
}

/// All about one service together, the service itself first.
fn order(record: &Record) -> (&str, &str) {
    match record {
        Record::Document(key, _) => (key.name(), key.subject().name()),
        Record::Host(name, _) => (name.as_str(), ""),
        Record::Service(id, _) => (id.as_str(), ""),
        Record::Endpoints(id, region, _) => (id.as_str(), region.as_str()),
    }
}
