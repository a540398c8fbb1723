//! A region's name, resolved once instead of at each request.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use crate::{id::Region, limits::LEVELS_MAX, overlay::Keys, snapshot::Snapshot};

/// A region as one view knows it. Other views take it too, and resolve it again where they stand on other files.
#[derive(Debug, Clone)]
pub struct RegionKey {
    pub(crate) name: Region,
    /// Where the overlay keeps endpoint sets in this region, together with the service's hash.
    pub(crate) salt: u64,
    pub(crate) stack: StackNumber,
    pub(crate) numbers: Numbers,
}

/// What the records of each file call a region; `None` where a file does not name it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Numbers {
    pub(crate) base: Option<u64>,
    pub(crate) levels: [Option<u64>; LEVELS_MAX],
}

/// Tells one set of files apart from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StackNumber(u64);

impl StackNumber {
    /// Unlike any that this process has made.
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

impl RegionKey {
    pub(crate) fn new(
        name: &Region,
        keys: &Keys,
        stack: StackNumber,
        base: Option<&Snapshot>,
        levels: &[Arc<Snapshot>],
    ) -> Self {
        Self { salt: keys.salt(name), stack, numbers: Numbers::of(name, base, levels), name: name.clone() }
    }

    pub fn name(&self) -> &Region {
        &self.name
    }
}

impl Numbers {
    pub(crate) fn of(name: &Region, base: Option<&Snapshot>, levels: &[Arc<Snapshot>]) -> Self {
        let mut numbers = Self { base: base.and_then(|base| base.region(name)), ..Self::default() };
        for (number, level) in numbers.levels.iter_mut().zip(levels) {
            *number = level.region(name);
        }
        numbers
    }
}
