//! Where in the heap the services' records are, by the hash of their ids; and where in their column the documents
//! are, by the hash of their names.
//!
//! Buckets of unlike length stand in the column one behind the other, in the order of their hashes; the
//! directory holds where each starts, and at its end, where the last one ends.

use std::ops::Range;

use super::error::BuildError;

/// More services in a bucket are more records to look through; fewer are a larger directory. Requests come this
/// way where a level has a service and its host name stands in another layer.
const SERVICES_PER_BUCKET: usize = 1;

/// The directory of a mapped file.
#[derive(Clone, Copy)]
pub(crate) struct Directory<'a> {
    starts: &'a [[u8; 4]],
}

impl<'a> Directory<'a> {
    pub(crate) fn new(octets: &'a [u8]) -> Self {
        Self { starts: octets.as_chunks().0 }
    }

    /// Where in its column the bucket of `hash` is.
    pub(crate) fn bucket(&self, hash: u64) -> Option<Range<usize>> {
        let bucket = bucket_of(hash, self.starts.len().checked_sub(1)?);
        let [start, end] = self.starts.get(bucket..bucket + 2)? else { return None };
        Some(offset(*start)..offset(*end))
    }

    /// Where in its column all buckets are.
    pub(crate) fn buckets(&self) -> Option<Range<usize>> {
        Some(offset(*self.starts.first()?)..offset(*self.starts.last()?))
    }
}

fn offset(octets: [u8; 4]) -> usize {
    u32::from_le_bytes(octets) as usize
}

/// Spreads hashes over `buckets` (below 2^32) by their upper half, in ascending order.
#[inline]
#[allow(clippy::cast_possible_truncation)] // the product's upper half is below `buckets`
pub(crate) fn bucket_of(hash: u64, buckets: usize) -> usize {
    (((hash >> 32) * buckets as u64) >> 32) as usize
}

pub(crate) fn bucket_count(services: usize) -> usize {
    services.div_ceil(SERVICES_PER_BUCKET).max(1)
}

/// A directory on its way into a file.
pub(crate) struct Starts {
    buckets: usize,
    octets: Vec<u8>,
}

impl Starts {
    pub(crate) fn new(services: usize) -> Self {
        let buckets = bucket_count(services);
        Self { buckets, octets: Vec::with_capacity((buckets + 1) * size_of::<u32>()) }
    }

    /// The column has come to `at` when the bucket of `hash`, and all before it that are still missing, start.
    pub(crate) fn start(&mut self, hash: u64, at: usize) -> Result<(), BuildError> {
        self.fill_to(bucket_of(hash, self.buckets), at)
    }

    /// The last bucket ends at `at`.
    pub(crate) fn end(mut self, at: usize) -> Result<Vec<u8>, BuildError> {
        self.fill_to(self.buckets, at)?;
        Ok(self.octets)
    }

    fn fill_to(&mut self, bucket: usize, at: usize) -> Result<(), BuildError> {
        let at = u32::try_from(at).map_err(|_| BuildError::TooLarge)?;
        while self.octets.len() <= bucket * size_of::<u32>() {
            self.octets.extend_from_slice(&at.to_le_bytes());
        }
        Ok(())
    }
}
