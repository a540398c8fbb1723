//! What open connections work for, so that the work of a host name that has lost its service can be cut (design S6).
//!
//! Each of a core's streams has a place here, by its place in the driver: it says for which host name the last request of a
//! client was, and for whose request an origin's connection is used, as hashes. To cut, the places are gone through a slice
//! at a time, for however many host names at once; each stream that works for one of them is severed, which ends every wait
//! on it.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::hash::BuildHasher;
use std::ops::Range;
use std::rc::Rc;

use foldhash::fast::RandomState;
use ringway_state::By;

use crate::runtime::{Core, Severed, Stream};

/// Hashes of the key that leads a host name to its service: of the name; and of the wildcard, if it is one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Place {
    name: u64,
    wildcard: u64,
    /// Of the place. What was sent last may be on its way when nobody works for it any more; so it stands here until
    /// another has the place.
    life: u32,
}

/// Nothing, and severed, as hashes.
const NOTHING: u64 = 0;
const SEVERED: u64 = u64::MAX;

/// Of one core.
#[derive(Default)]
pub(super) struct Asked {
    hasher: RandomState,
    places: RefCell<Vec<Place>>,
    /// Severed streams that somebody still holds.
    ending: Cell<usize>,
}

/// Host names as they stand here.
#[derive(Default)]
pub(super) struct Hosts(HashSet<u64, RandomState>);

/// A stream's place, for as long as its connection is used.
pub(super) struct Work {
    asked: Rc<Asked>,
    place: u32,
}

impl Asked {
    /// A stream that works for nobody yet.
    pub(super) fn begin(self: &Rc<Self>, stream: &Stream) -> Work {
        let (place, life) = stream.place();
        let mut places = self.places.borrow_mut();
        let at = place as usize;
        if places.len() <= at {
            places.resize(at + 1, Place::default());
        }
        debug_assert_ne!(places[at].name, SEVERED, "a stream's place is left before another has it");
        places[at] = Place { life, ..Place::default() };
        drop(places);
        Work { asked: Rc::clone(self), place }
    }

    /// How many places there are.
    pub(super) fn len(&self) -> usize {
        self.places.borrow().len()
    }

    /// Of keys, wildcards among them.
    pub(super) fn hosts<'h>(&self, keys: impl Iterator<Item = &'h str>) -> Hosts {
        let number = |key: &str| match key.strip_prefix('*') {
            Some(parent) => self.wildcard(parent.as_bytes()),
            None => self.name(key.as_bytes()),
        };
        Hosts(keys.map(number).collect())
    }

    /// Severs those of some places that work for one of the host names; how many.
    pub(super) fn sever(&self, core: &Core, some: Range<usize>, hosts: &Hosts) -> usize {
        let (mut severed, mut ending) = (0, 0);
        let mut places = self.places.borrow_mut();
        let some = some.start..some.end.min(places.len());
        for (at, place) in some.clone().zip(&mut places[some]) {
            let is_one = |number: u64| number != NOTHING && hosts.0.contains(&number);
            if !is_one(place.name) && !is_one(place.wildcard) {
                continue;
            }
            #[allow(clippy::cast_possible_truncation)] // it was one
            let what = core.sever(at as u32, place.life);
            let name = if what == Severed::Owned { SEVERED } else { NOTHING };
            *place = Place { name, wildcard: NOTHING, life: place.life };
            ending += usize::from(what == Severed::Owned);
            severed += usize::from(what != Severed::Nothing);
        }
        self.ending.set(self.ending.get() + ending);
        severed
    }

    /// Severed streams that somebody still holds.
    pub(super) fn ending(&self) -> usize {
        self.ending.get()
    }

    fn name(&self, name: &[u8]) -> u64 {
        self.hasher.hash_one(name).clamp(NOTHING + 1, SEVERED - 1)
    }

    /// Of the wildcard that ends so, dot and all.
    fn wildcard(&self, parent: &[u8]) -> u64 {
        self.hasher.hash_one(("*", parent)).clamp(NOTHING + 1, SEVERED - 1)
    }
}

impl Work {
    /// From now on it is for this host name, which such a key led to its service.
    pub(super) fn is_for(&self, host: &[u8], by: By) {
        let wildcard = match by {
            By::Name => NOTHING,
            By::Wildcard => {
                let label = host.iter().position(|octet| *octet == b'.').unwrap_or(0);
                self.asked.wildcard(&host[label..])
            }
        };
        self.set(self.asked.name(host), wildcard);
    }

    /// From now on it is for whom the other is.
    pub(super) fn is_for_same(&self, other: &Work) {
        let place = self.asked.places.borrow()[other.place as usize];
        // What is done for one that is severed ends with it.
        match place.name {
            SEVERED => self.is_for_nobody(),
            name => self.set(name, place.wildcard),
        }
    }

    /// Nothing of it is under way any more, though its stream is kept.
    pub(super) fn is_for_nobody(&self) {
        self.set(NOTHING, NOTHING);
    }

    fn set(&self, name: u64, wildcard: u64) {
        let place = &mut self.asked.places.borrow_mut()[self.place as usize];
        if place.name != SEVERED {
            (place.name, place.wildcard) = (name, wildcard);
        }
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        let place = &mut self.asked.places.borrow_mut()[self.place as usize];
        if place.name == SEVERED {
            place.name = NOTHING;
            self.asked.ending.set(self.asked.ending.get() - 1);
        }
    }
}
