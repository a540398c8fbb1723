//! The one hash of the state: of look-ups in snapshot and overlay, and of digests. Part of the file format, so it is written
//! out here and held by test vectors; a change of it is a change of format.
//!
//! It folds 128-bit products, 32 octets at a time. The seed enters every product, so that names which collide under one seed
//! do not under another: whoever can register names cannot aim them at one bucket without knowing the file's seed.

const K0: u64 = 0x9e37_79b9_7f4a_7c15; // 2^64 / golden ratio
const K1: u64 = 0xbf58_476d_1ce4_e5b9;
const K2: u64 = 0x94d0_49bb_1331_11eb;

/// 64 bits of `bytes` under `seed`; equal on every machine.
#[inline]
pub fn hash64(seed: u64, bytes: &[u8]) -> u64 {
    let key = fold(seed ^ K0, K1);
    let spread = key.rotate_left(32) ^ K2;
    let mut state = key ^ (bytes.len() as u64).wrapping_mul(K0);
    let mut rest = bytes;
    while rest.len() > 32 {
        let (head, tail) = rest.split_at(32);
        state = block(state, key, spread, word(head, 0), word(head, 8), word(head, 16), word(head, 24));
        rest = tail;
    }
    let (a, b, c, d) = last_words(rest);
    fold(block(state, key, spread, a, b, c, d) ^ K2, key | 1)
}

/// The next output of the splitmix64 sequence: seeds from seeds, and numbers for tests and data sets.
pub fn splitmix64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(K0);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(K1);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(K2);
    mixed ^ (mixed >> 31)
}

#[inline(always)]
fn block(state: u64, key: u64, spread: u64, a: u64, b: u64, c: u64, d: u64) -> u64 {
    fold(a ^ key, b ^ state) ^ fold(c ^ spread, d ^ state.rotate_left(29))
}

#[inline(always)]
#[allow(clippy::cast_possible_truncation)] // both halves are kept
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// Four words that together hold all of the last 0 to 32 octets; they may overlap, since the length is hashed too.
#[inline(always)]
fn last_words(rest: &[u8]) -> (u64, u64, u64, u64) {
    let n = rest.len();
    if n >= 16 {
        (word(rest, 0), word(rest, 8), word(rest, n - 16), word(rest, n - 8))
    } else if n >= 8 {
        (word(rest, 0), word(rest, n - 8), 0, 0)
    } else if n >= 4 {
        (half_word(rest, 0), half_word(rest, n - 4), 0, 0)
    } else if n > 0 {
        (u64::from(rest[0]), u64::from(rest[n / 2]), u64::from(rest[n - 1]), 0)
    } else {
        (0, 0, 0, 0)
    }
}

#[inline(always)]
fn word(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

#[inline(always)]
fn half_word(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u64::from(u32::from_le_bytes(word))
}
