//! The file's shape: a header of one page, the rkyv body in blocks, the blocks' checksums.
//!
//! ```text
//! 0       header     4,096 octets, its own CRC32C in the last four
//! 4096    body       heap │ directory │ index │ region names │ root
//!         checksums  CRC32C of each 1 MiB block of the body, 4 octets each
//! ```
//! All numbers are little-endian. The root ends the body, as rkyv has it, and says where the columns are;
//! what they hold is told in [`super::services`], [`super::hosts`], [`super::directory`] and
//! [`super::index`]. Every octet is under one of the checksums.

use std::ops::Range;

use rkyv::{Archive, Serialize};

use crate::{digest::Digest, hash::hash64, limits::PARTITIONS_MAX};

pub(crate) const MAGIC: [u8; 8] = *b"ringsnap";
pub(crate) const FORMAT: u32 = 1;
pub(crate) const HEADER_OCTETS: usize = 4096;
pub(crate) const BLOCK_OCTETS: usize = 1 << 20;

/// The root of the body.
#[derive(Archive, Serialize)]
pub(crate) struct Body {
    /// An octet, services' records each with its host names, and host names without a record, in this order.
    pub(crate) heap: Column,
    /// Where the records are, by service id.
    pub(crate) directory: Column,
    /// Where the host names are.
    pub(crate) index: Column,
    /// What the region numbers in the services' records mean.
    pub(crate) regions: Vec<String>,
}

/// Octets of the body. Not an rkyv vector: rkyv checks vectors element by element, which takes longer than
/// all else at start, and any octets are well-formed octets.
#[derive(Archive, Serialize, Clone, Copy)]
pub(crate) struct Column {
    pub(crate) position: u64,
    pub(crate) octets: u64,
}

impl ArchivedColumn {
    /// Where it stands in a file whose body has so many octets; `None` if it lies outside.
    pub(crate) fn place(&self, body_octets: usize) -> Option<Range<usize>> {
        let start = usize::try_from(self.position.to_native()).ok()?;
        let end = start.checked_add(usize::try_from(self.octets.to_native()).ok()?)?;
        (end <= body_octets).then_some(HEADER_OCTETS + start..HEADER_OCTETS + end)
    }
}

/// Changes whenever octets of the same format number would be read differently: by the words below, kept in
/// step by hand, and by the root's size and alignment, which rkyv's features decide.
pub(crate) fn layout_hash() -> u64 {
    const WORDS: &str = "rkyv 0.8 little_endian aligned pointer_width_64; \
        root: heap directory index regions; \
        record: length hosts id sets(region version v4 v6 endpoints) \
            kind version owner home policy regions entries; \
        entry: length value name version text; directory: starts; index: fingerprints passed offsets; hash 1";
    let seed = (size_of::<ArchivedBody>() as u64) << 8 | align_of::<ArchivedBody>() as u64;
    hash64(seed, WORDS.as_bytes())
}

/// What stands in front of the body.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Header {
    pub counts: Counts,
    /// Of the live state within.
    pub digest: Digest,
    /// The next offset to read, for each partition of the log (S5).
    pub offsets: Vec<u64>,
    pub(crate) seed: u64,
    pub(crate) body_octets: u64,
    pub(crate) checksums_crc: u32,
}

/// Keys in a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Mapped host names and tombstones.
    pub hosts: u64,
    pub services: u64,
    pub endpoint_sets: u64,
    /// Removed keys of all kinds, counted here only.
    pub graves: u64,
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Counts { hosts, services, endpoint_sets, graves } = self;
        write!(
            f,
            "{hosts} host names, {services} services, {endpoint_sets} endpoint sets, {graves} removed keys"
        )
    }
}

/// Why a header is not read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum HeaderError {
    Foreign,
    Format(u32),
    Layout(u64),
    Damaged,
}

impl Header {
    /// Octets of the whole file.
    pub fn file_octets(&self) -> u64 {
        let blocks = self.body_octets.div_ceil(BLOCK_OCTETS as u64);
        (HEADER_OCTETS as u64).saturating_add(self.body_octets).saturating_add(4 * blocks)
    }

    pub(crate) fn encode(&self) -> [u8; HEADER_OCTETS] {
        let mut octets = Vec::with_capacity(HEADER_OCTETS);
        octets.extend_from_slice(&MAGIC);
        octets.extend_from_slice(&FORMAT.to_le_bytes());
        octets.extend_from_slice(&self.checksums_crc.to_le_bytes());
        octets.extend_from_slice(&self.digest.0.to_le_bytes());
        let Counts { hosts, services, endpoint_sets, graves } = self.counts;
        let partitions = self.offsets.len() as u64;
        let numbers =
            [layout_hash(), self.seed, self.body_octets, hosts, services, endpoint_sets, graves, partitions];
        for number in numbers.iter().chain(&self.offsets) {
            octets.extend_from_slice(&number.to_le_bytes());
        }
        let mut page = [0; HEADER_OCTETS];
        page[..octets.len()].copy_from_slice(&octets);
        let (covered, crc) = page.split_at_mut(HEADER_OCTETS - 4);
        crc.copy_from_slice(&crc32c::crc32c(covered).to_le_bytes());
        page
    }

    /// Magic, format and layout are looked at before the checksum, so that another program's file, or another
    /// version's, is called that and not damaged.
    pub(crate) fn decode(page: &[u8; HEADER_OCTETS]) -> Result<Self, HeaderError> {
        let mut fields = Fields(page);
        if fields.take() != Some(MAGIC) {
            return Err(HeaderError::Foreign);
        }
        let (covered, crc) = page.split_at(HEADER_OCTETS - 4);
        let holds = crc == crc32c::crc32c(covered).to_le_bytes();
        let format = fields.take().map_or(0, u32::from_le_bytes);
        if format != FORMAT {
            return Err(if holds { HeaderError::Format(format) } else { HeaderError::Damaged });
        }
        if !holds {
            return Err(HeaderError::Damaged);
        }
        fields.header()
    }
}

/// Reads a header front to back.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }

    fn number(&mut self) -> Result<u64, HeaderError> {
        self.take().map(u64::from_le_bytes).ok_or(HeaderError::Damaged)
    }

    /// What follows the format number.
    fn header(&mut self) -> Result<Header, HeaderError> {
        let checksums_crc = self.take().map(u32::from_le_bytes).ok_or(HeaderError::Damaged)?;
        let digest = self.take().map(u128::from_le_bytes).ok_or(HeaderError::Damaged)?;
        let layout = self.number()?;
        if layout != layout_hash() {
            return Err(HeaderError::Layout(layout));
        }
        let (seed, body_octets) = (self.number()?, self.number()?);
        let counts = Counts {
            hosts: self.number()?,
            services: self.number()?,
            endpoint_sets: self.number()?,
            graves: self.number()?,
        };
        let partitions = usize::try_from(self.number()?).ok().filter(|&count| count <= PARTITIONS_MAX);
        let offsets =
            (0..partitions.ok_or(HeaderError::Damaged)?).map(|_| self.number()).collect::<Result<_, _>>()?;
        Ok(Header { counts, digest: Digest(digest), offsets, seed, body_octets, checksums_crc })
    }
}

const _: () =
    assert!(8 + 4 + 4 + 16 + 8 * (8 + PARTITIONS_MAX) + 4 <= HEADER_OCTETS, "offsets fit the header's page");

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        let counts = Counts { hosts: 1, services: 2, endpoint_sets: 3, graves: 4 };
        Header {
            counts,
            digest: Digest(5),
            offsets: vec![6; PARTITIONS_MAX],
            seed: 7,
            body_octets: 8,
            checksums_crc: 9,
        }
    }

    #[test]
    fn what_is_written_is_read() {
        assert_eq!(Header::decode(&header().encode()), Ok(header()));
        assert_eq!(Header::decode(&Header::default().encode()), Ok(Header::default()));
    }

    #[test]
    fn another_format_or_layout_is_named() {
        let resealed = |at: usize| {
            let mut page = header().encode();
            page[at] ^= 2;
            let crc = crc32c::crc32c(&page[..HEADER_OCTETS - 4]);
            page[HEADER_OCTETS - 4..].copy_from_slice(&crc.to_le_bytes());
            Header::decode(&page)
        };
        assert_eq!(resealed(0), Err(HeaderError::Foreign));
        assert_eq!(resealed(8), Err(HeaderError::Format(3)));
        assert_eq!(resealed(32), Err(HeaderError::Layout(layout_hash() ^ 2)));
    }

    #[test]
    fn any_flipped_bit_is_seen() {
        let good = header().encode();
        for bit in 0..HEADER_OCTETS * 8 {
            let mut page = good;
            page[bit / 8] ^= 1 << (bit % 8);
            assert!(Header::decode(&page).is_err(), "bit {bit}");
        }
    }
}
