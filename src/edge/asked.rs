//! What open connections work for, so that the work of a host name that has lost its service can be cut (design S6).
//!
//! Each of a core's streams has a number here, by its place in the driver: a hash of the host name of the last request of a
//! client, and of the request that an origin's connection is used for. To cut, the numbers are gone through a slice at a
//! time, for however many host names at once; each stream that works for one of them is severed, which ends every wait on
//! it.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::hash::BuildHasher;
use std::ops::Range;
use std::rc::Rc;

use foldhash::fast::RandomState;

use crate::runtime::{Core, Stream};

/// No host name, and severed.
const NOTHING: u64 = 0;
const SEVERED: u64 = u64::MAX;

/// Of one core.
#[derive(Default)]
pub(super) struct Asked {
    hasher: RandomState,
    places: RefCell<Vec<u64>>,
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
        let place = stream.place();
        let mut places = self.places.borrow_mut();
        let at = place as usize;
        if places.len() <= at {
            places.resize(at + 1, NOTHING);
        }
        debug_assert_eq!(places[at], NOTHING, "a stream's place is left before another has it");
        places[at] = NOTHING;
        drop(places);
        Work { asked: Rc::clone(self), place }
    }

    /// How many places there are.
    pub(super) fn len(&self) -> usize {
        self.places.borrow().len()
    }

    pub(super) fn hosts<'h>(&self, names: impl Iterator<Item = &'h str>) -> Hosts {
        Hosts(names.map(|name| self.number(name.as_bytes())).collect())
    }

    /// Severs those of some places that work for one of the host names; how many.
    pub(super) fn sever(&self, core: &Core, some: Range<usize>, hosts: &Hosts) -> usize {
        let mut severed = 0;
        let mut places = self.places.borrow_mut();
        let some = some.start..some.end.min(places.len());
        for (at, host) in some.clone().zip(&mut places[some]) {
            if *host != NOTHING && hosts.0.contains(host) {
                *host = SEVERED;
                severed += 1;
                #[allow(clippy::cast_possible_truncation)] // it was one
                core.sever(at as u32);
            }
        }
        self.ending.set(self.ending.get() + severed);
        severed
    }

    /// Severed streams that somebody still holds.
    pub(super) fn ending(&self) -> usize {
        self.ending.get()
    }

    fn number(&self, host: &[u8]) -> u64 {
        self.hasher.hash_one(host).clamp(NOTHING + 1, SEVERED - 1)
    }
}

impl Work {
    /// From now on it is for this host name.
    pub(super) fn is_for(&self, host: &[u8]) {
        self.set(self.asked.number(host));
    }

    /// From now on it is for whom the other is.
    pub(super) fn is_for_same(&self, other: &Work) {
        let number = self.asked.places.borrow()[other.place as usize];
        // What is done for one that is severed ends with it.
        self.set(if number == SEVERED { NOTHING } else { number });
    }

    fn set(&self, number: u64) {
        let place = &mut self.asked.places.borrow_mut()[self.place as usize];
        if *place != SEVERED {
            *place = number;
        }
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        let place = &mut self.asked.places.borrow_mut()[self.place as usize];
        if std::mem::replace(place, NOTHING) == SEVERED {
            self.asked.ending.set(self.asked.ending.get() - 1);
        }
    }
}
