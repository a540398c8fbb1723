//! The one hash of the state: of look-ups in snapshot and overlay, and of digests. Part of the file format,
//! so it is written out here and held by test vectors; a change of it is a change of format.
//!
//! It folds 128-bit products, 32 octets at a time. The seed enters every product, so that names which collide
//! under one seed do not under another: whoever can register names cannot aim them at one bucket without
//! knowing the file's seed.

const K0: u64 = 0x9e37_79b9_7f4a_7c15; // 2^64 / golden ratio
const K1: u64 = 0xbf58_476d_1ce4_e5b9;
const K2: u64 = 0x94d0_49bb_1331_11eb;

/// 64 bits of `bytes` under `seed`; equal on every machine.
#[inline]
pub fn hash64(seed: u64, bytes: &[u8]) -> u64 {
    Hasher::new(seed).hash(bytes)
}

/// A seed made ready, for those who hash under it again and again.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hasher {
    key: u64,
    spread: u64,
}

impl Hasher {
    pub(crate) fn new(seed: u64) -> Self {
        let key = fold(seed ^ K0, K1);
        Self { key, spread: key.rotate_left(32) ^ K2 }
    }

    /// [`hash64`] under this seed.
    #[inline]
    pub(crate) fn hash(&self, bytes: &[u8]) -> u64 {
        let mut state = self.key ^ (bytes.len() as u64).wrapping_mul(K0);
        let mut rest = bytes;
        while let Some((head, tail)) = rest.split_first_chunk::<32>() {
            state = self.block(state, words(head.first_chunk()), words(head.last_chunk()));
            rest = tail;
        }
        let (low, high) = last_words(rest);
        fold(self.block(state, low, high) ^ K2, self.key | 1)
    }

    #[inline(always)]
    fn block(&self, state: u64, low: Words, high: Words) -> u64 {
        fold(low.0 ^ self.key, low.1 ^ state) ^ fold(high.0 ^ self.spread, high.1 ^ state.rotate_left(29))
    }
}

/// The next output of the splitmix64 sequence: seeds from seeds, and numbers for tests and data sets.
pub fn splitmix64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(K0);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(K1);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(K2);
    mixed ^ (mixed >> 31)
}

type Words = (u64, u64);

#[inline(always)]
#[allow(clippy::cast_possible_truncation)] // both halves are kept
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// Four words that together hold all of the last 0 to 31 octets; they may overlap, since the length is hashed
/// too.
#[inline(always)]
fn last_words(rest: &[u8]) -> (Words, Words) {
    if rest.len() >= 16 {
        (words(rest.first_chunk()), words(rest.last_chunk()))
    } else if let (Some(first), Some(last)) = (rest.first_chunk(), rest.last_chunk()) {
        ((u64::from_le_bytes(*first), u64::from_le_bytes(*last)), (0, 0))
    } else if let (Some(first), Some(last)) = (rest.first_chunk(), rest.last_chunk()) {
        ((u32::from_le_bytes(*first).into(), u32::from_le_bytes(*last).into()), (0, 0))
    } else if let (Some(&first), Some(&middle), Some(&last)) =
        (rest.first(), rest.get(rest.len() / 2), rest.last())
    {
        ((first.into(), middle.into()), (last.into(), 0))
    } else {
        ((0, 0), (0, 0))
    }
}

#[inline(always)]
#[allow(clippy::cast_possible_truncation)] // both halves are kept
fn words(octets: Option<&[u8; 16]>) -> Words {
    let both = octets.map_or(0, |octets| u128::from_le_bytes(*octets));
    (both as u64, (both >> 64) as u64)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// A change of these is a change of the file format.
    #[test]
    fn known_answers() {
        let text = b"The quick brown fox jumps over the lazy dog, twice: \
            the quick brown fox jumps over the lazy dog.";
        let hashes = [0, 1, 3, 4, 7, 8, 15, 16, 31, 32, 33, 96].map(|length| hash64(1, &text[..length]));
        let known = [
            0x5da6_5c14_0733_3b5f,
            0x9b5b_af10_2528_5d2e,
            0xfedd_94df_2a81_597f,
            0x1a2e_53d0_e6de_cb54,
            0xe9ba_9ca0_a905_e8f2,
            0xe001_3793_d5fa_d837,
            0x65c0_fa92_12ce_ab31,
            0x14f8_b9f3_bbe9_6d01,
            0x64b6_df8a_c35e_70f8,
            0x4760_074d_2bf4_3d64,
            0xda2c_084e_80db_b877,
            0xfc8d_5537_758e_1fc8,
        ];
        assert_eq!(hashes, known);
    }

    proptest! {
        #[test]
        fn every_octet_and_the_seed_count(
            octets in proptest::collection::vec(any::<u8>(), 1..100),
            seed: u64,
        ) {
            let plain = hash64(seed, &octets);
            prop_assert_ne!(plain, hash64(seed ^ 1, &octets));
            prop_assert_ne!(plain, hash64(seed, &octets[1..]));
            for at in 0..octets.len() {
                let mut changed = octets.clone();
                changed[at] ^= 1;
                prop_assert_ne!(plain, hash64(seed, &changed), "octet {}", at);
            }
        }
    }

    #[test]
    fn numbered_names_spread_over_both_halves() {
        let hashes = |bits: fn(u64) -> u64| {
            (0..10_000)
                .map(|n| bits(hash64(7, format!("host-{n}.apps.example").as_bytes())))
                .collect::<BTreeSet<_>>()
        };
        // 10,000 of 65,536 at random leave 9,284 unlike on average, with a deviation of 24.
        for count in [hashes(|hash| hash >> 48).len(), hashes(|hash| hash & 0xffff).len()] {
            assert!((9_180..9_390).contains(&count), "{count}");
        }
    }
}
