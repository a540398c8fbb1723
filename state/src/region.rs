//! A region's name, resolved once instead of at each request.

use crate::{hash::Hasher, id::Region, overlay::Seeds, snapshot::Snapshot};

/// A region as one table knows it: valid for every view that this table publishes.
#[derive(Debug, Clone)]
pub struct RegionKey {
    pub(crate) name: Region,
    /// Of service ids: where the overlay keeps endpoint sets in this region.
    pub(crate) hasher: Hasher,
    /// What the base's records call it; `None` if none names it.
    pub(crate) number: Option<u64>,
}

impl RegionKey {
    pub(crate) fn new(name: &Region, seeds: &Seeds, base: Option<&Snapshot>) -> Self {
        let number = base.and_then(|base| base.region(name));
        Self { hasher: seeds.endpoints_in(name), number, name: name.clone() }
    }

    pub fn name(&self) -> &Region {
        &self.name
    }
}
