//! Whether two replicas hold the same state, in 128 bits.

use std::fmt;

use crate::{codec, hash::hash64, record::Change};

const SEED_LOW: u64 = 0x7269_6e67_7761_7931;
const SEED_HIGH: u64 = 0x7269_6e67_7761_7932;

/// Sum over all live keys of the hash of key, version and value: independent of order, kept up to date change
/// by change. Graves don't count, since replicas may forget them at different times; tombstones are values
/// and do. It finds divergence, not tampering.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Digest(pub(crate) u128);

impl Digest {
    /// Counts `change` in, unless it is a grave. `scratch` is only reused memory.
    pub(crate) fn add(&mut self, change: &Change, scratch: &mut Vec<u8>) {
        if let Some(hash) = hash_live(change, scratch) {
            self.0 = self.0.wrapping_add(hash);
        }
    }

    /// Undoes [`Digest::add`] of an equal change.
    pub(crate) fn remove(&mut self, change: &Change, scratch: &mut Vec<u8>) {
        if let Some(hash) = hash_live(change, scratch) {
            self.0 = self.0.wrapping_sub(hash);
        }
    }
}

fn hash_live(change: &Change, scratch: &mut Vec<u8>) -> Option<u128> {
    if change.record.is_grave() {
        return None;
    }
    scratch.clear();
    codec::encode(change, scratch);
    Some(u128::from(hash64(SEED_HIGH, scratch)) << 64 | u128::from(hash64(SEED_LOW, scratch)))
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}
