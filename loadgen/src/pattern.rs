//! The octets of streamed bodies: a formula, so that any part can be made and checked on its own.

use sha2::{Digest, Sha256};

use crate::limits;

/// Writes the octets at `offset` of the pattern. The pattern is a sequence of 64-bit words, little-endian;
/// the k-th is the k-th output of SplitMix64 started at `seed`.
pub fn fill(seed: u64, offset: u64, out: &mut [u8]) {
    let mut word = offset / 8;
    let mut skip = (offset % 8) as usize;
    let mut rest = out;
    while !rest.is_empty() {
        let octets = &split_mix(seed, word).to_le_bytes()[skip..];
        let here = octets.len().min(rest.len());
        let (now, later) = rest.split_at_mut(here);
        now.copy_from_slice(&octets[..here]);
        (rest, skip, word) = (later, 0, word.wrapping_add(1));
    }
}

/// The `index`-th output of SplitMix64.
fn split_mix(seed: u64, index: u64) -> u64 {
    let mut word = seed.wrapping_add(index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// SHA-256 of the first `octets` octets, in lower-case hexadecimal.
#[must_use]
pub fn digest(seed: u64, octets: u64) -> String {
    let mut sha = Sha256::new();
    let mut piece = vec![0; limits::PIECE_OCTETS];
    let mut at = 0;
    while at < octets {
        let here = usize::try_from(octets - at).map_or(piece.len(), |left| left.min(piece.len()));
        fill(seed, at, &mut piece[..here]);
        sha.update(&piece[..here]);
        at += here as u64;
    }
    hex(&sha.finalize())
}

/// Lower-case hexadecimal.
#[must_use]
pub fn hex(octets: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or_default();
    octets.iter().flat_map(|octet| [digit(octet >> 4), digit(octet & 15)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_part_equals_the_whole_there(seed: u64, offset in 0usize..500, length in 0usize..500) {
            let mut whole = vec![0; 1_000];
            fill(seed, 0, &mut whole);
            let mut part = vec![0; length];
            fill(seed, offset as u64, &mut part);
            prop_assert_eq!(&part, &whole[offset..offset + length]);
        }
    }

    #[test]
    fn the_formula_is_the_published_one() {
        // First outputs of SplitMix64 started at 1234567, as its author's reference code prints them.
        let published: [u64; 3] =
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        let mut octets = [0; 24];
        fill(1_234_567, 0, &mut octets);
        assert_eq!(octets.to_vec(), published.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>());
    }

    #[test]
    fn digests_are_of_the_pattern() {
        assert_eq!(digest(1, 0), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        let mut octets = vec![0; 40_001];
        fill(9, 0, &mut octets);
        assert_eq!(digest(9, 40_001), hex(&Sha256::digest(&octets)));
    }
}
