//! What changed lately, as a persistent map: one writer changes it, any number of readers hold older ones.
//!
//! A tree of two steps by the hash's top bits, 64 × 64 shards; a shard is a slice of slots sorted by hash. To publish
//! is to clone the root's `Arc`. A change copies what leads to it: root and branch, 64 pointers each, and its shard's
//! slots, 16 where the overlay is full; it shares all values. Readers take no lock, count no references and
//! allocate nothing. In front of it stands a filter that says of most names at once that they are not here.
//!
//! A slot knows in which round it was put there; each flush begins another. So when a level has taken over what a
//! flush took, older rounds are void at once, and are cleared away by and by.
//!
//! Rejected: one map per core (every change applied once per core, and their memory twice); 512 shards under one
//! root (a publication counts 512 references up, and down again); a hash array mapped trie (several times the code).

use std::{array, sync::Arc};

use crate::{
    filter::{Growing, Probe},
    hash::{Hasher, hash64},
    id::Region,
    limits::{OVERLAY_BRANCHES, OVERLAY_KEYS_MAX, OVERLAY_SHARDS_PER_BRANCH},
    record::{Change, HostValue, Key, Record, Service, Subject},
};

#[derive(Clone)]
pub(crate) struct Overlay {
    root: Arc<Root>,
    filter: Arc<Growing>,
    /// What was put here in this round, until a level takes over what was there before.
    recent_filter: Option<Arc<Growing>>,
    /// Slots of earlier rounds are void.
    first_round: u32,
    round: u32,
    size: Size,
    recent_size: Size,
}

/// Of the slots that are not void.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) keys: usize,
    /// Memory held, estimated from their parts.
    pub(crate) octets: usize,
    /// Wildcards among the host names, graves too.
    pub(crate) wildcards: usize,
}

type Root = [Option<Arc<Branch>>; OVERLAY_BRANCHES];
type Branch = [Option<Shard>; OVERLAY_SHARDS_PER_BRANCH];
type Shard = Arc<[Slot]>;

#[derive(Clone)]
struct Slot {
    hash: u64,
    change: Arc<Change>,
    round: u32,
    octets: u32,
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
            Key::Document(key) => self.of_document(self.hasher.hash(key.name().as_bytes()), key.subject()),
        }
    }

    /// `hash` is the name's. Documents of unlike subjects may have one name.
    pub(crate) fn of_document(&self, hash: u64, subject: Subject) -> u64 {
        hash ^ hash64(!self.seed, subject.name().as_bytes())
    }

    /// What keeps a service's endpoint set in `region` apart from the service, and from its other sets.
    pub(crate) fn salt(&self, region: &Region) -> u64 {
        hash64(!self.seed, region.as_str().as_bytes())
    }
}

impl Overlay {
    pub(crate) fn new() -> Self {
        Self {
            root: Arc::new([const { None }; OVERLAY_BRANCHES]),
            filter: Arc::new(Growing::new(OVERLAY_KEYS_MAX)),
            recent_filter: None,
            first_round: 0,
            round: 0,
            size: Size::default(),
            recent_size: Size::default(),
        }
    }

    pub(crate) fn size(&self) -> Size {
        self.size
    }

    /// The change under `hash` whose key `is_key` accepts.
    #[inline]
    pub(crate) fn find(&self, hash: u64, is_key: impl Fn(&Record) -> bool) -> Option<&Change> {
        if self.may_have(Probe::new(hash)) { self.find_slot(hash, is_key) } else { None }
    }

    #[inline(always)]
    pub(crate) fn may_have(&self, probe: Probe) -> bool {
        self.filter.may_have(probe)
    }

    fn find_slot(&self, hash: u64, is_key: impl Fn(&Record) -> bool) -> Option<&Change> {
        let (branch, shard) = place(hash);
        let shard = self.root[branch].as_ref()?[shard].as_ref()?;
        let mut same_hash = shard[lower_bound(shard, hash)..].iter().take_while(|slot| slot.hash == hash);
        let slot = same_hash.find(|slot| slot.round >= self.first_round && is_key(&slot.change.record))?;
        Some(&slot.change)
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
        self.filter.add(hash);
        self.recent_filter.iter().for_each(|filter| filter.add(hash));
        let new = Slot { hash, octets: octets(&change), round: self.round, change: Arc::new(change) };
        let (branch, shard) = place(hash);
        let empty = || Arc::new([const { None }; OVERLAY_SHARDS_PER_BRANCH]);
        let branch = Arc::make_mut(&mut self.root)[branch].get_or_insert_with(empty);
        let place = &mut Arc::make_mut(branch)[shard];
        let before = place.take().unwrap_or_default();
        let key = new.change.record.key();
        let replaced = before.iter().position(|slot| slot.hash == hash && slot.change.record.is_about(&key));
        let at = replaced.unwrap_or_else(|| lower_bound(&before, hash));
        let after = at + usize::from(replaced.is_some());
        let slots = before[..at].iter().chain([&new]).chain(&before[after..]);
        *place = Some(slots.cloned().collect());
        if let Some(at) = replaced {
            self.discount(&before[at]);
        }
        self.size.add(&new);
        self.recent_size.add(&new);
    }

    fn discount(&mut self, slot: &Slot) {
        if slot.round >= self.first_round {
            self.size.remove(slot);
        }
        if slot.round == self.round {
            self.recent_size.remove(slot);
        }
    }

    /// Begins another round, and gives its number.
    pub(crate) fn begin_round(&mut self) -> u32 {
        self.round += 1;
        self.recent_filter = Some(Arc::new(Growing::new(OVERLAY_KEYS_MAX)));
        self.recent_size = Size::default();
        self.round
    }

    /// Makes what was put here before `round` void; not if that round is over.
    pub(crate) fn void_before(&mut self, round: u32) -> bool {
        let Some(filter) = self.recent_filter.take_if(|_| self.round == round) else { return false };
        self.filter = filter;
        self.first_round = round;
        self.size = self.recent_size;
        true
    }

    /// Clears one branch of what is void.
    pub(crate) fn clear_branch(&mut self, branch: usize) {
        let Some(shards) = self.root.get(branch).and_then(Option::as_ref) else { return };
        let kept: Branch = array::from_fn(|at| {
            let slots = shards[at].as_ref()?.iter().filter(|slot| slot.round >= self.first_round);
            Some(slots.cloned().collect::<Shard>()).filter(|kept| !kept.is_empty())
        });
        let is_empty = kept.iter().all(Option::is_none);
        Arc::make_mut(&mut self.root)[branch] = (!is_empty).then(|| Arc::new(kept));
    }

    /// All changes, in no order that means anything.
    pub(crate) fn changes(&self) -> impl Iterator<Item = &Change> {
        let shards = self.root.iter().flatten().flat_map(|branch| branch.iter().flatten());
        let slots = shards.flat_map(|shard| shard.iter()).filter(|slot| slot.round >= self.first_round);
        slots.map(|slot| &*slot.change)
    }
}

impl Size {
    fn add(&mut self, slot: &Slot) {
        self.keys += 1;
        self.octets += slot.octets as usize;
        self.wildcards += usize::from(is_wildcard(slot));
    }

    fn remove(&mut self, slot: &Slot) {
        self.keys -= 1;
        self.octets -= slot.octets as usize;
        self.wildcards -= usize::from(is_wildcard(slot));
    }
}

fn is_wildcard(slot: &Slot) -> bool {
    matches!(&slot.change.record, Record::Host(name, _) if name.is_wildcard())
}

/// Branch, and shard in it.
#[inline]
#[allow(clippy::cast_possible_truncation)] // fewer bits than any usize
fn place(hash: u64) -> (usize, usize) {
    const BRANCH_BITS: u32 = OVERLAY_BRANCHES.trailing_zeros();
    const SHARD_BITS: u32 = OVERLAY_SHARDS_PER_BRANCH.trailing_zeros();
    let shard = hash << BRANCH_BITS >> (u64::BITS - SHARD_BITS);
    ((hash >> (u64::BITS - BRANCH_BITS)) as usize, shard as usize)
}

fn lower_bound(shard: &[Slot], hash: u64) -> usize {
    shard.partition_point(|slot| slot.hash < hash)
}

/// Octets that `change` holds once it is stored.
pub(crate) fn octets(change: &Change) -> u32 {
    let parts = match &change.record {
        Record::Host(name, value) => text(name.as_str()) + value.as_ref().map_or(0, host_octets),
        Record::Service(id, value) => text(id.as_str()) + value.as_ref().map_or(0, service_octets),
        Record::Endpoints(id, region, value) => {
            let set = value.as_ref().map_or(0, |set| size_of_val(set.as_slice()));
            text(id.as_str()) + text(region.as_str()) + set
        }
        Record::Document(key, value) => {
            text(key.name()) + value.as_ref().map_or(0, |document| text(document.as_str()))
        }
    };
    let octets = size_of::<Slot>() + REFERENCE_COUNTS + size_of::<Change>() + parts;
    u32::try_from(octets).expect("a change has at most a few MiB")
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
