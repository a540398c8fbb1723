//! Anonymous memory with huge pages, for what every look-up reads.

use std::io;

use memmap2::{Advice, MmapMut};

/// Octets copied into memory that asks for huge pages. A mapped file has small ones, so that each random
/// reading of it misses the processor's address cache as well, which under virtualisation costs half as much
/// again as the reading.
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

    /// They start at a page's boundary.
    #[inline]
    pub(crate) fn octets(&self) -> &[u8] {
        self.0.as_deref().unwrap_or_default()
    }
}
