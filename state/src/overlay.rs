//! What changed lately, as persistent maps: one writer changes them, any number of readers hold older ones.
//!
//! A tree of two steps by the hash's top bits, 64 × 64 shards; a shard is a slice of slots sorted by hash. To publish
//! is to clone the root's `Arc`. A change copies what leads to it: root and branch, 64 pointers each, and its shard's
//! slots, 16 where the tree is full; it shares all values. Readers take no lock, count no references and
//! allocate nothing. In front of each tree stands a filter that says of most names at once that they are not here.
//!
//! A flush freezes the tree and begins another above it. When a level has taken over what the frozen one holds, it is
//! dropped whole.
//!
//! Rejected: one map per core (every change applied once per core, and their memory twice); 512 shards under one
//! root (a publication counts 512 references up, and down again); a hash array mapped trie (several times the code).

use std::sync::Arc;

use crate::{
    digest::Digest,
    filter::{Growing, Probe},
    hash::{Hasher, hash64},
    id::Region,
    limits::{OVERLAY_BRANCHES, OVERLAY_KEYS_MAX, OVERLAY_SHARDS_PER_BRANCH},
    record::{Change, HostValue, Key, Record, Service, Subject},
};

/// The newest values: those of `recent` before those of `frozen`.
#[derive(Clone)]
pub(crate) struct Overlay {
    recent: Tree,
    frozen: Option<Frozen>,
}

/// A tree as a flush took it, and the state with it.
#[derive(Clone)]
pub(crate) struct Frozen {
    tree: Tree,
    pub(crate) state: Digest,
    /// Where the log went on then, in each partition.
    pub(crate) offsets: Arc<[u64]>,
}

#[derive(Clone)]
struct Tree {
    root: Arc<Root>,
    filter: Arc<Growing>,
    size: Size,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) keys: usize,
    /// Memory held, estimated from the parts of its slots.
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
        Self { recent: Tree::new(), frozen: None }
    }

    /// A key in both trees counts in both: its older value takes memory too.
    pub(crate) fn size(&self) -> Size {
        let (recent, frozen) =
            (self.recent.size, self.frozen_tree().map_or(Size::default(), |tree| tree.size));
        Size {
            keys: recent.keys + frozen.keys,
            octets: recent.octets + frozen.octets,
            wildcards: recent.wildcards + frozen.wildcards,
        }
    }

    #[inline(always)]
    fn frozen_tree(&self) -> Option<&Tree> {
        self.frozen.as_ref().map(|frozen| &frozen.tree)
    }

    #[inline(always)]
    pub(crate) fn may_have(&self, probe: Probe) -> bool {
        self.recent.filter.may_have(probe)
            || self.frozen_tree().is_some_and(|tree| tree.filter.may_have(probe))
    }

    /// The change under `hash` whose key `is_key` accepts.
    #[inline]
    pub(crate) fn find(&self, hash: u64, is_key: impl Fn(&Record) -> bool) -> Option<&Change> {
        if self.may_have(Probe::new(hash)) { self.find_slot(hash, is_key) } else { None }
    }

    fn find_slot(&self, hash: u64, is_key: impl Fn(&Record) -> bool) -> Option<&Change> {
        self.recent.find(hash, &is_key).or_else(|| self.frozen_tree()?.find(hash, &is_key))
    }

    /// The change that [`Overlay::insert`] of one of that key would replace.
    pub(crate) fn replaced(&self, hash: u64, key: &Key) -> Option<&Change> {
        self.recent.find(hash, &|record: &Record| record.is_about(key))
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

    /// Puts `change` in front of what was known of its key.
    pub(crate) fn insert(&mut self, hash: u64, change: Change) {
        self.recent.insert(hash, change);
    }

    /// What is to be flushed: all that is recent, in `state`; or, if something is frozen already, that again.
    pub(crate) fn freeze(&mut self, state: Digest, offsets: Vec<u64>) -> Frozen {
        let recent = &mut self.recent;
        let freeze =
            || Frozen { tree: std::mem::replace(recent, Tree::new()), state, offsets: offsets.into() };
        self.frozen.get_or_insert_with(freeze).clone()
    }

    /// Drops what is frozen, if it is `frozen`.
    pub(crate) fn drop_frozen(&mut self, frozen: &Frozen) -> bool {
        self.frozen.take_if(|mine| Arc::ptr_eq(&mine.tree.root, &frozen.tree.root)).is_some()
    }

    /// All changes, each key once, in no order that means anything.
    pub(crate) fn changes(&self) -> impl Iterator<Item = &Change> {
        let standing = |slot: &&Slot| self.replaced(slot.hash, &slot.change.record.key()).is_none();
        let frozen = self.frozen_tree().into_iter().flat_map(Tree::slots).filter(standing);
        self.recent.slots().chain(frozen).map(|slot| &*slot.change)
    }
}

impl Tree {
    fn new() -> Self {
        let filter = Arc::new(Growing::new(OVERLAY_KEYS_MAX));
        Self { root: Arc::new([const { None }; OVERLAY_BRANCHES]), filter, size: Size::default() }
    }

    fn find(&self, hash: u64, is_key: &impl Fn(&Record) -> bool) -> Option<&Change> {
        let (branch, shard) = place(hash);
        let shard = self.root[branch].as_ref()?[shard].as_ref()?;
        let mut same_hash = shard[lower_bound(shard, hash)..].iter().take_while(|slot| slot.hash == hash);
        same_hash.find(|slot| is_key(&slot.change.record)).map(|slot| &*slot.change)
    }

    /// Puts `change` in the place of the one with its key, or beside the others.
    fn insert(&mut self, hash: u64, change: Change) {
        self.filter.add(hash);
        let (branch, shard) = place(hash);
        let empty = || Arc::new([const { None }; OVERLAY_SHARDS_PER_BRANCH]);
        let branch = Arc::make_mut(&mut self.root)[branch].get_or_insert_with(empty);
        let place = &mut Arc::make_mut(branch)[shard];
        let before = place.take().unwrap_or_default();
        let key = change.record.key();
        let replaced = before.iter().position(|slot| slot.hash == hash && slot.change.record.is_about(&key));
        if let Some(at) = replaced {
            self.size.remove(&before[at].change);
        }
        self.size.add(&change);
        let at = replaced.unwrap_or_else(|| lower_bound(&before, hash));
        let after = at + usize::from(replaced.is_some());
        let new = Slot { hash, change: Arc::new(change) };
        let slots = before[..at].iter().chain([&new]).chain(&before[after..]);
        *place = Some(slots.cloned().collect());
    }

    fn slots(&self) -> impl Iterator<Item = &Slot> {
        let shards = self.root.iter().flatten().flat_map(|branch| branch.iter().flatten());
        shards.flat_map(|shard| shard.iter())
    }
}

impl Frozen {
    pub(crate) fn changes(&self) -> impl Iterator<Item = &Change> {
        self.tree.slots().map(|slot| &*slot.change)
    }
}

impl Size {
    fn add(&mut self, change: &Change) {
        self.keys += 1;
        self.octets += octets(change);
        self.wildcards += usize::from(is_wildcard(change));
    }

    fn remove(&mut self, change: &Change) {
        self.keys -= 1;
        self.octets -= octets(change);
        self.wildcards -= usize::from(is_wildcard(change));
    }
}

fn is_wildcard(change: &Change) -> bool {
    matches!(&change.record, Record::Host(name, _) if name.is_wildcard())
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
pub(crate) fn octets(change: &Change) -> usize {
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
