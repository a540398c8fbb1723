//! A hash table over mapped columns: which octets of the heap belong to a hash.
//!
//! Buckets of unlike length stand in the heap one behind the other, without gaps; the directory holds where each starts.
//! It takes 4 octets a bucket and stays in the processor's cache, so a look-up costs one miss: the bucket itself.

use std::{io, ops::Range};

use memmap2::{Advice, MmapMut};

/// A section's columns: where the heap stands in the file, and a copy of the directory.
pub(crate) struct Columns {
    pub(crate) heap: Range<usize>,
    pub(crate) directory: HugeCopy,
}

/// Octets copied into anonymous memory that asks for huge pages. A mapped file has small ones, so each random reading of it
/// misses the processor's address cache; the directory, read by every look-up, is a few MiB and worth its copy.
pub(crate) struct HugeCopy(Option<MmapMut>);

impl HugeCopy {
    pub(crate) fn of(octets: &[u8]) -> io::Result<Self> {
        if octets.is_empty() {
            return Ok(Self(None));
        }
        let mut copy = MmapMut::map_anon(octets.len())?;
        // Refused where the kernel has no huge pages: the copy serves all the same.
        let _ = copy.advise(Advice::HugePage);
        copy.copy_from_slice(octets);
        Ok(Self(Some(copy)))
    }

    #[inline]
    pub(crate) fn octets(&self) -> &[u8] {
        self.0.as_deref().unwrap_or_default()
    }
}

/// A section of a mapped file.
#[derive(Clone, Copy)]
pub(crate) struct Section<'a> {
    heap: &'a [u8],
    /// One more than there are buckets.
    directory: &'a [[u8; 4]],
}

impl<'a> Section<'a> {
    #[inline]
    pub(crate) fn new(heap: &'a [u8], directory: &'a [u8]) -> Self {
        Self { heap, directory: directory.as_chunks().0 }
    }

    /// Where the bucket of `hash` starts. If it is empty, the next one does: its names compare unequal.
    #[inline]
    pub(crate) fn start(&self, hash: u64) -> Option<usize> {
        let start = self.directory.get(bucket_of(hash, self.directory.len().checked_sub(1)?))?;
        Some(offset(*start))
    }

    /// The bucket of `hash`; `None` if it is empty.
    #[inline]
    pub(crate) fn bucket(&self, hash: u64) -> Option<Bucket<'a>> {
        let bucket = bucket_of(hash, self.directory.len().checked_sub(1)?);
        let [start, end] = self.directory.get(bucket..bucket + 2)? else { return None };
        let (start, end) = (offset(*start), offset(*end));
        let length = end.checked_sub(start).filter(|&length| length > 0)?;
        Some(Bucket { start, length, octets: self.heap.get(start..)? })
    }

    /// The heap from `at` on.
    #[inline]
    pub(crate) fn from(&self, at: usize) -> Option<&'a [u8]> {
        self.heap.get(at..)
    }

    /// All buckets that are not empty, front to back; `None` for one that the directory misplaces.
    pub(crate) fn buckets(&self) -> impl Iterator<Item = Option<Bucket<'a>>> + use<'a> {
        let heap = self.heap;
        self.directory
            .windows(2)
            .map(|pair| offset(pair[0])..offset(pair[1]))
            .filter(|range| !range.is_empty())
            .map(move |range| {
                Some(Bucket { start: range.start, length: range.len(), octets: heap.get(range.start..)? })
            })
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Bucket<'a> {
    /// Where in the heap.
    pub(crate) start: usize,
    pub(crate) length: usize,
    /// The bucket and all of the heap behind it.
    pub(crate) octets: &'a [u8],
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
