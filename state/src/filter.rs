//! What a layer surely does not have, told by one word of memory: a Bloom filter whose blocks are words
//! (docs/decisions/0010). Four layers are asked in the time of one reading that misses the cache.
//!
//! A hash picks a word by its upper half and four of its bits by its low 24. With 16 bits of filter for each key,
//! one in two hundred keys that are not there seems to be.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use crate::snapshot::bucket_of;

/// Octets of filter for each key.
pub(crate) const OCTETS_PER_KEY: usize = 2;
const BITS: u32 = 4;
const WORD_OCTETS: usize = size_of::<u64>();

/// A hash made ready, to ask several filters.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Probe {
    hash: u64,
    mask: u64,
}

impl Probe {
    #[inline(always)]
    pub(crate) fn new(hash: u64) -> Self {
        Self { hash, mask: mask(hash) }
    }

    /// Whether a filter of words has all bits. One of no words does not know.
    #[inline(always)]
    fn is_in<W>(&self, words: &[W], read: impl Fn(&W) -> u64) -> bool {
        words.get(bucket_of(self.hash, words.len())).is_none_or(|word| read(word) & self.mask == self.mask)
    }
}

#[inline(always)]
fn mask(hash: u64) -> u64 {
    (0..BITS).fold(0, |mask, bit| mask | 1 << (hash >> (6 * bit) & 63))
}

/// Words for so many keys.
fn words_for(keys: usize) -> usize {
    (keys * OCTETS_PER_KEY).div_ceil(WORD_OCTETS).max(1)
}

/// The filter of a file, as it stands in it.
pub(crate) fn pack(keys: usize, hashes: impl Iterator<Item = u64>) -> Vec<u8> {
    let mut filter = vec![0; words_for(keys) * WORD_OCTETS];
    let (words, _) = filter.as_chunks_mut::<WORD_OCTETS>();
    for hash in hashes {
        let word = &mut words[bucket_of(hash, words.len())];
        *word = (u64::from_le_bytes(*word) | mask(hash)).to_le_bytes();
    }
    filter
}

/// A file's filter, read into memory. Of no words, it does not know.
#[derive(Clone, Default)]
pub(crate) struct Filter(Arc<[u64]>);

impl Filter {
    pub(crate) fn read(octets: &[u8]) -> Self {
        let (words, _) = octets.as_chunks::<WORD_OCTETS>();
        Self(words.iter().map(|word| u64::from_le_bytes(*word)).collect())
    }

    #[inline(always)]
    pub(crate) fn may_have(&self, probe: Probe) -> bool {
        probe.is_in(&self.0, |word| *word)
    }
}

/// The overlay's filter. Its one writer adds to it while readers ask: a key is added before the state that has it is
/// published, and one that is added early only makes a reader look.
pub(crate) struct Growing(Box<[AtomicU64]>);

impl Growing {
    pub(crate) fn new(keys: usize) -> Self {
        Self((0..words_for(keys)).map(|_| AtomicU64::new(0)).collect())
    }

    pub(crate) fn add(&self, hash: u64) {
        // What publishes the state orders this before it.
        self.0[bucket_of(hash, self.0.len())].fetch_or(mask(hash), Ordering::Relaxed);
    }

    #[inline(always)]
    pub(crate) fn may_have(&self, probe: Probe) -> bool {
        probe.is_in(&self.0, |word| word.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::hash::splitmix64;

    proptest! {
        #[test]
        fn what_is_there_is_never_denied(hashes in proptest::collection::vec(any::<u64>(), 0..300)) {
            let packed = Filter::read(&pack(hashes.len(), hashes.iter().copied()));
            let growing = Growing::new(hashes.len());
            hashes.iter().for_each(|&hash| growing.add(hash));
            for &hash in &hashes {
                prop_assert!(packed.may_have(Probe::new(hash)));
                prop_assert!(growing.may_have(Probe::new(hash)));
            }
        }
    }

    #[test]
    fn what_is_not_there_seldom_seems_to_be() {
        let mut random = 1;
        let hashes: Vec<u64> = (0..10_000).map(|_| splitmix64(&mut random)).collect();
        let packed = Filter::read(&pack(hashes.len(), hashes.iter().copied()));
        let wrong = (0..100_000).filter(|_| packed.may_have(Probe::new(splitmix64(&mut random)))).count();
        assert!((300..900).contains(&wrong), "{wrong} in 100,000");
        assert!(Filter::read(&[]).may_have(Probe::new(7)), "no filter knows nothing");
    }
}
