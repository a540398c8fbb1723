//! The same questions where more than the base answers: the overlay first, then the levels, newest first, then
//! the base. The first layer that has the key answers, with a grave too: what stands beneath is older.

use std::sync::Arc;

use super::{Endpoints, HostHit, ServiceRef, View};
use crate::{
    record::{Change, HostValue, Key, Record},
    region::{Numbers, RegionKey},
    snapshot::{Held, HostEntry, ServiceRecord, Snapshot},
};

/// Where a stored value stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    Overlay,
    /// From 0, the newest.
    Level(usize),
    Base,
}

/// A stored value, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    pub layer: Layer,
    pub change: Change,
}

impl View {
    #[inline(never)]
    pub(super) fn layered_host(&self, name: &[u8]) -> Option<HostHit<'_>> {
        let hash = self.keys.hasher.hash(name);
        if let Some(change) = self.overlay.host(hash, name) {
            return self.overlay_hit(change);
        }
        let mut levels = self.levels.iter();
        match levels.find_map(|level| level.host_under(self.hash_in(level, hash, name), name)) {
            Some(entry) => self.level_hit(&entry),
            None => self.base_host(name),
        }
    }

    /// The hash of `name` as `level` has it: `hash`, unless it was made under another seed.
    #[inline]
    fn hash_in(&self, level: &Snapshot, hash: u64, name: &[u8]) -> u64 {
        if level.seed() == self.keys.seed { hash } else { level.hash(name) }
    }

    fn overlay_hit<'v>(&'v self, change: &'v Change) -> Option<HostHit<'v>> {
        let Record::Host(_, value) = &change.record else { return None };
        match value.as_ref()? {
            HostValue::Mapped { service, class } => {
                Some(HostHit::Service(ServiceRef::of_id(self, *class, service.as_str())))
            }
            HostValue::Tombstone { reason } => Some(HostHit::Tombstone { reason: reason.as_str() }),
        }
    }

    fn level_hit<'v>(&'v self, entry: &HostEntry<'v>) -> Option<HostHit<'v>> {
        match entry.service() {
            // What the level knows of the service may be less than all.
            Some((class, record)) => Some(HostHit::Service(ServiceRef::of_id(self, class, record.id()))),
            None => self.rare_hit(entry),
        }
    }

    /// Whether the service of that id is known, as the layers above the base have it; `None` if they have
    /// neither it nor its grave.
    pub(super) fn service_above_base(&self, id: &str) -> Option<bool> {
        if self.is_bare {
            return None;
        }
        let hash = self.keys.hasher.hash(id.as_bytes());
        if let Some(change) = self.overlay.service(hash, id) {
            return Some(!change.record.is_grave());
        }
        self.levels.iter().find_map(|level| {
            let hash = self.hash_in(level, hash, id.as_bytes());
            match level.service_under(hash, id)?.service() {
                Held::Absent => None,
                held => Some(held.is_live()),
            }
        })
    }

    /// `record` is the base's.
    #[inline(never)]
    pub(super) fn layered_endpoints<'v>(
        &'v self,
        id: &str,
        record: Option<ServiceRecord<'v>>,
        region: &RegionKey,
    ) -> Endpoints<'v> {
        let hash = self.keys.hasher.hash(id.as_bytes());
        if let Some(change) = self.overlay.endpoints(hash ^ region.salt, id, &region.name) {
            return match &change.record {
                Record::Endpoints(_, _, Some(set)) => Endpoints::of_slice(set.as_slice()),
                _ => Endpoints::NONE,
            };
        }
        let numbers = self.numbers(region);
        for (level, number) in self.levels.iter().zip(numbers.levels) {
            let Some(number) = number else { continue };
            let hash = self.hash_in(level, hash, id.as_bytes());
            match level.service_under(hash, id).map_or(Held::Absent, |record| record.endpoints(number)) {
                Held::Live(set) => return Endpoints::of_packed(set),
                Held::Grave => return Endpoints::NONE,
                Held::Absent => {}
            }
        }
        Endpoints::of_base(record, numbers.base)
    }

    fn numbers(&self, region: &RegionKey) -> Numbers {
        if region.stack == self.stack {
            region.numbers
        } else {
            Numbers::of(&region.name, self.base.as_deref(), &self.levels)
        }
    }

    /// The stored value of `key`, graves included. Allocates: for the writer, explain and export.
    pub fn change(&self, key: &Key) -> Option<Change> {
        self.stored(key).map(|stored| stored.change)
    }

    /// The same, and the layer that answers.
    pub fn stored(&self, key: &Key) -> Option<Stored> {
        if let Some(change) = self.overlay.find(self.keys.hash(key), |record| record.is_about(key)) {
            return Some(Stored { layer: Layer::Overlay, change: change.clone() });
        }
        let in_levels = self
            .levels
            .iter()
            .enumerate()
            .find_map(|(at, level)| Some(Stored { layer: Layer::Level(at), change: level.change(key)? }));
        in_levels.or_else(|| Some(Stored { layer: Layer::Base, change: self.base.as_deref()?.change(key)? }))
    }

    /// All stored values, graves included, in no particular order: what a new snapshot is built from.
    /// Allocates. An error says which octets of a file make no sense.
    pub fn changes(&self) -> impl Iterator<Item = Result<Change, String>> {
        let files = self.levels.iter().chain(&self.base).enumerate();
        let in_files = files.flat_map(move |(depth, file)| {
            file.changes().filter(move |change| match change {
                Ok(change) => !self.is_above(&change.record.key(), depth),
                Err(_) => true,
            })
        });
        in_files.chain(self.overlay.changes().cloned().map(Ok))
    }

    /// Whether the overlay, or one of the `depth` newest levels, has a value of `key`.
    fn is_above(&self, key: &Key, depth: usize) -> bool {
        let newer: &[Arc<Snapshot>] = self.levels.get(..depth).unwrap_or(&self.levels);
        self.overlay.find(self.keys.hash(key), |record| record.is_about(key)).is_some()
            || newer.iter().any(|level| level.has(key))
    }
}
