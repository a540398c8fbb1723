//! Where each host name stands in the heap: a hash table with linear probing, in lines of the processor's
//! cache.
//!
//! ```text
//! line  fingerprint × 12 │ passed │ 0 × 3 │ offset × 12
//! ```
//! Fingerprints are octets, offsets `u32`; 0 is no offset. A hash has a home line; names that find it full
//! stand in the next one with room, and then `passed` is 1 in each line that they passed by. So a look-up
//! reads one line, and a name's entry.

use super::directory::bucket_of;
use crate::{
    limits::INDEX_LINES_PASSED_MAX,
    prefetch::{equal_octets, prefetch},
};

pub(crate) const LINE_OCTETS: usize = 64;
const SLOTS: usize = 12;
const PASSED_AT: usize = SLOTS;
const OFFSETS_AT: usize = 16;
/// Of 12 slots, how many are taken on average. More is a smaller index, and more names away from home.
const SLOTS_TAKEN: usize = 10;

type Line = [u8; LINE_OCTETS];

/// Home lines for so many names. As many as a name may pass by follow the last one.
fn home_lines(names: usize) -> usize {
    names.div_ceil(SLOTS_TAKEN).max(1)
}

/// Whether the names of these hashes, in ascending order, find room near their homes.
pub(crate) fn has_room(names: usize, hashes: impl Iterator<Item = u64>) -> bool {
    let mut places = Places::new(home_lines(names));
    hashes.map(|hash| places.next(hash)).all(|(home, slot)| slot / SLOTS - home <= INDEX_LINES_PASSED_MAX)
}

/// Hands slots out to hashes in ascending order: each gets the first free one from its home on.
struct Places {
    homes: usize,
    free: usize,
}

impl Places {
    fn new(homes: usize) -> Self {
        Self { homes, free: 0 }
    }

    /// Home line and slot, slots counted through all lines.
    fn next(&mut self, hash: u64) -> (usize, usize) {
        let home = bucket_of(hash, self.homes);
        let slot = self.free.max(home * SLOTS);
        self.free = slot + 1;
        (home, slot)
    }
}

/// The index of names: hash and offset of each, ascending. `None` if they do not have room.
pub(crate) fn pack(names: &[(u64, u32)]) -> Option<Vec<u8>> {
    let homes = home_lines(names.len());
    let mut index = vec![0; (homes + INDEX_LINES_PASSED_MAX) * LINE_OCTETS];
    let (lines, _) = index.as_chunks_mut::<LINE_OCTETS>();
    let mut places = Places::new(homes);
    for &(hash, offset) in names {
        let (home, slot) = places.next(hash);
        let (at, lane) = (slot / SLOTS, slot % SLOTS);
        lines.get_mut(home..at)?.iter_mut().for_each(|line| line[PASSED_AT] = 1);
        let line = lines.get_mut(at)?;
        line[lane] = fingerprint(hash);
        line[OFFSETS_AT + 4 * lane..][..4].copy_from_slice(&offset.to_le_bytes());
    }
    Some(index)
}

/// The first answer of `accept` to an offset that may be the one of `hash`.
#[inline]
pub(crate) fn find<T>(index: &[u8], hash: u64, mut accept: impl FnMut(usize) -> Option<T>) -> Option<T> {
    let (lines, _) = index.as_chunks::<LINE_OCTETS>();
    let homes = lines.len().checked_sub(INDEX_LINES_PASSED_MAX)?;
    for line in lines.get(bucket_of(hash, homes)..)? {
        let mut candidates = equal_lanes(line, fingerprint(hash));
        while candidates != 0 {
            if let Some(found) = accept(offset(line, candidates.trailing_zeros() as usize)) {
                return Some(found);
            }
            candidates &= candidates - 1;
        }
        if line[PASSED_AT] == 0 {
            return None;
        }
    }
    None
}

/// Asks for the home line of `hash`.
#[inline]
pub(crate) fn fetch_line(index: &[u8], hash: u64) {
    if let Some(homes) = (index.len() / LINE_OCTETS).checked_sub(INDEX_LINES_PASSED_MAX) {
        prefetch(index, bucket_of(hash, homes) * LINE_OCTETS, 1);
    }
}

/// The low octet, since the line is chosen by the upper half.
#[inline]
fn fingerprint(hash: u64) -> u8 {
    (hash & 0xff) as u8
}

#[inline]
fn offset(line: &Line, lane: usize) -> usize {
    let (offsets, _) = line[OFFSETS_AT..].as_chunks();
    offsets.get(lane).map_or(0, |offset| u32::from_le_bytes(*offset) as usize)
}

/// A bit for each of the twelve lanes whose fingerprint is `wanted`.
#[inline]
fn equal_lanes(line: &Line, wanted: u8) -> u32 {
    const LANES: u32 = (1 << SLOTS) - 1;
    line.first_chunk().map_or(0, |octets| equal_octets(octets, wanted)) & LANES
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a test that cannot set up must fail loudly
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Spread, and crowded into few lines.
        #[test]
        fn each_hash_leads_to_its_offset(
            mut hashes in prop_oneof![
                proptest::collection::vec(any::<u64>(), 0..500),
                proptest::collection::vec((0_u64..4, 0_u64..300), 0..60)
                    .prop_map(|pairs| pairs.into_iter().map(|(line, low)| line << 62 | low).collect()),
            ],
            absent: u64,
        ) {
            hashes.sort_unstable();
            hashes.dedup();
            prop_assert!(has_room(hashes.len(), hashes.iter().copied()));
            let names: Vec<(u64, u32)> = hashes.iter().copied().zip(1..).collect();
            let index = pack(&names).unwrap();
            for &(hash, offset) in &names {
                let wanted = offset as usize;
                prop_assert_eq!(find(&index, hash, |at| (at == wanted).then_some(at)), Some(wanted));
            }
            prop_assert_eq!(find(&index, absent, |at| (at == usize::MAX).then_some(at)), None);
        }
    }

    #[test]
    fn too_many_of_one_home_have_no_room() {
        let crowd = |count: usize| has_room(count, std::iter::repeat_n(7, count));
        let most = SLOTS * (INDEX_LINES_PASSED_MAX + 1);
        assert!(crowd(most));
        assert!(!crowd(most + 1));
    }

    #[test]
    fn an_index_of_any_octets_is_searched_to_an_end() {
        let index = vec![0xff; LINE_OCTETS * (INDEX_LINES_PASSED_MAX + 3)];
        let mut asked = 0;
        assert_eq!(
            find(&index, u64::MAX, |_| {
                asked += 1;
                None::<()>
            }),
            None
        );
        assert_eq!(asked, SLOTS * (INDEX_LINES_PASSED_MAX + 1));
        assert_eq!(find(&[], 1, Some), None);
    }
}
