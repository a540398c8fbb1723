//! The same questions where more than the base answers: the overlay first, then the levels, newest first, then
//! the base. The first layer that has the key answers, with a grave too: what stands beneath is older.

use std::sync::Arc;

use super::{Endpoints, Expected, HostHit, ServiceRef, View};
use crate::{
    filter::{Filter, Probe},
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
    #[inline]
    pub(super) fn layered_host(&self, name: &[u8]) -> Option<HostHit<'_>> {
        // Nearly always, one hash asks all files.
        if self.is_one_seed { self.find_host::<true>(name) } else { self.find_host::<false>(name) }
    }

    #[inline(never)]
    fn find_host<const ONE_SEED: bool>(&self, name: &[u8]) -> Option<HostHit<'_>> {
        let hash = self.keys.hasher.hash(name);
        let base = self.base.as_deref().map(|base| (base, hash_in::<ONE_SEED>(base, hash, name)));
        // Most names are the base's alone: its memory is asked for before the filters are.
        if let Some((base, hash)) = base {
            base.fetch_line_under(hash);
        }
        let probe = Probe::new(hash);
        if self.overlay.may_have(probe)
            && let Some(change) = self.overlay.host(hash, name)
        {
            return self.overlay_hit(change);
        }
        for (filter, level) in self.filters.iter().zip(self.levels.iter()) {
            if may_pass::<ONE_SEED>(filter, level, probe, name)
                && let Some(entry) = level.host_under(hash_in::<ONE_SEED>(level, hash, name), name)
            {
                return self.level_hit(&entry);
            }
        }
        let (base, hash) = base?;
        self.base_hit(base.host_under(hash, name)?)
    }

    /// What the overlay has is asked for no sooner than it is read: it is small, and mostly at hand.
    #[inline(never)]
    pub(super) fn expect_in_layers(&self, name: &[u8]) -> Expected {
        let hash = self.keys.hasher.hash(name);
        let probe = Probe::new(hash);
        let level = self.filters.iter().position(|filter| filter.may_have(probe));
        let file = level.unwrap_or(self.levels.len());
        if let Some(file) = self.levels.get(file).or(self.base.as_ref()) {
            file.fetch_line_under(hash);
        }
        Expected { hash, file }
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
            let hash = level.hash(id.as_bytes());
            let record = if level.may_have(Probe::new(hash)) { level.service_under(hash, id) } else { None };
            match record?.service() {
                Held::Absent => None,
                held => Some(held.is_live()),
            }
        })
    }

    /// `record` is the base's, if the host name has led there.
    #[inline]
    pub(super) fn layered_endpoints<'v>(
        &'v self,
        id: &str,
        record: Option<ServiceRecord<'v>>,
        region: &RegionKey,
    ) -> Endpoints<'v> {
        if self.is_one_seed {
            self.find_endpoints::<true>(id, record, region)
        } else {
            self.find_endpoints::<false>(id, record, region)
        }
    }

    #[inline(never)]
    fn find_endpoints<'v, const ONE_SEED: bool>(
        &'v self,
        id: &str,
        record: Option<ServiceRecord<'v>>,
        region: &RegionKey,
    ) -> Endpoints<'v> {
        let (salt, numbers) = self.resolved(region);
        let hash = self.keys.hasher.hash(id.as_bytes());
        if let Some(change) = self.overlay.endpoints(hash ^ salt, id, &region.name) {
            return match &change.record {
                Record::Endpoints(_, _, Some(set)) => Endpoints::of_slice(set.as_slice()),
                _ => Endpoints::NONE,
            };
        }
        let probe = Probe::new(hash);
        for (at, (filter, level)) in self.filters.iter().zip(self.levels.iter()).enumerate() {
            if !may_pass::<ONE_SEED>(filter, level, probe, id.as_bytes()) {
                continue;
            }
            let record = level.service_under(hash_in::<ONE_SEED>(level, hash, id.as_bytes()), id);
            let number = numbers.levels.get(at).copied().flatten();
            match record.zip(number).map_or(Held::Absent, |(record, number)| record.endpoints(number)) {
                Held::Live(set) => return Endpoints::of_packed(set),
                Held::Grave => return Endpoints::NONE,
                Held::Absent => {}
            }
        }
        let record = record.or_else(|| {
            let base = self.base.as_deref()?;
            base.service_under(hash_in::<ONE_SEED>(base, hash, id.as_bytes()), id)
        });
        Endpoints::of_base(record, numbers.base)
    }

    /// Salt and numbers of a region, as they are here.
    #[inline]
    fn resolved(&self, region: &RegionKey) -> (u64, Numbers) {
        if region.stack == self.stack {
            return (region.salt, region.numbers);
        }
        let numbers = Numbers::of(&region.name, self.base.as_deref(), &self.levels);
        (self.keys.salt(&region.name), numbers)
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
        let name = key.name().as_bytes();
        let layers = (0..).map(Layer::Level).zip(self.levels.iter());
        let layers = layers.chain(self.base.iter().map(|base| (Layer::Base, base)));
        let mut having = layers.filter(|(_, file)| file.may_have(Probe::new(file.hash(name))));
        having.find_map(|(layer, file)| Some(Stored { layer, change: file.change(key)? }))
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

/// The hash of `name` as `file` has it: `hash`, unless the file was made under another seed.
#[inline(always)]
fn hash_in<const ONE_SEED: bool>(file: &Snapshot, hash: u64, name: &[u8]) -> u64 {
    if ONE_SEED { hash } else { file.hash(name) }
}

/// Whether `level`, whose filter this is, may have something by that name. `probe` is of the name's hash.
#[inline(always)]
fn may_pass<const ONE_SEED: bool>(filter: &Filter, level: &Snapshot, probe: Probe, name: &[u8]) -> bool {
    filter.may_have(if ONE_SEED { probe } else { Probe::new(level.hash(name)) })
}
