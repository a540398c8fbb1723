//! The file's shape: a header of one page, the rkyv body in blocks, the blocks' checksums.
//!
//! ```text
//! 0       header     4,096 octets, its own CRC32C in the last four
//! 4096    body       heap │ documents │ directories │ index │ filter │ region names │ root
//!         checksums  CRC32C of each 1 MiB block of the body, 4 octets each
//! ```
//! All numbers are little-endian. The root ends the body, as rkyv has it, and says where the columns are;
//! what they hold is told in [`super::services`], [`super::hosts`], [`super::documents`], [`super::directory`],
//! [`super::index`] and [`crate::filter`]. Every octet is under one of the checksums.
//!
//! Format 1, which is still read, has no documents, wildcards and levels.

use std::ops::Range;

use rkyv::{Archive, Serialize};

use crate::{digest::Digest, hash::hash64, limits::PARTITIONS_MAX};

pub(crate) const MAGIC: [u8; 8] = *b"ringsnap";
pub(crate) const FORMAT: u32 = 2;
/// The one before, which is read too.
pub(crate) const FORMAT_BEFORE: u32 = 1;
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
    pub(crate) documents: Column,
    /// Where the documents are, by name.
    pub(crate) documents_directory: Column,
    /// Of a level: what it surely has not. Empty in a base.
    pub(crate) filter: Column,
    /// What the region numbers in the services' records mean.
    pub(crate) regions: Vec<String>,
}

/// The same in format 1.
#[derive(Archive)]
#[expect(dead_code)] // only what was archived is read
pub(crate) struct BodyBefore {
    pub(crate) heap: Column,
    pub(crate) directory: Column,
    pub(crate) index: Column,
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
pub(crate) fn layout_hash(format: u32) -> u64 {
    const WORDS: &str = "rkyv 0.8 little_endian aligned pointer_width_64; \
        root: heap directory index documents documents_directory filter regions; \
        record: length hosts id sets(region version v4 v6 endpoints) \
            kind version owner home policy regions entries; \
        entry: length value name version text; document: length tag name kind version text; \
        directory: starts; index: fingerprints passed offsets; filter: words; hash 1";
    const WORDS_BEFORE: &str = "rkyv 0.8 little_endian aligned pointer_width_64; \
        root: heap directory index regions; \
        record: length hosts id sets(region version v4 v6 endpoints) \
            kind version owner home policy regions entries; \
        entry: length value name version text; directory: starts; index: fingerprints passed offsets; hash 1";
    let (words, size, alignment) = if format == FORMAT_BEFORE {
        (WORDS_BEFORE, size_of::<ArchivedBodyBefore>(), align_of::<ArchivedBodyBefore>())
    } else {
        (WORDS, size_of::<ArchivedBody>(), align_of::<ArchivedBody>())
    };
    hash64((size as u64) << 8 | alignment as u64, words.as_bytes())
}

/// Where the header has the CRC32C of the blocks' checksums: behind magic and format.
#[cfg(any(test, feature = "model"))]
pub(crate) const CHECKSUMS_CRC_AT: usize = 12;

/// What stands in front of the body.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Header {
    pub counts: Counts,
    /// Of the live state within.
    pub digest: Digest,
    /// The next offset to read, for each partition of the log (S5).
    pub offsets: Vec<u64>,
    pub role: Role,
    pub(crate) format: u32,
    pub(crate) seed: u64,
    pub(crate) body_octets: u64,
    pub(crate) checksums_crc: u32,
}

/// Whether a file is all of a state, or what changed since another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Role {
    #[default]
    Base,
    /// Of a table (S3). Tells the states before and after what is within, so that it is not put on anything else.
    Level { beneath: Digest, with: Digest },
}

/// Keys in a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Mapped host names and tombstones.
    pub hosts: u64,
    pub services: u64,
    pub endpoint_sets: u64,
    /// Values of all other kinds.
    pub documents: u64,
    /// Removed keys of all kinds, counted here only.
    pub graves: u64,
    /// Of the host names, those that are wildcards, graves too.
    pub wildcards: u64,
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Counts { hosts, services, endpoint_sets, documents, graves, .. } = self;
        write!(
            f,
            "{hosts} host names, {services} services, {endpoint_sets} endpoint sets, {documents} documents, \
            {graves} removed keys"
        )
    }
}

/// Why a header is not read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum HeaderError {
    Foreign,
    Format(u32),
    Layout { found: u64, known: u64 },
    Damaged,
}

impl Header {
    /// Octets of the whole file.
    pub fn file_octets(&self) -> u64 {
        let blocks = self.body_octets.div_ceil(BLOCK_OCTETS as u64);
        (HEADER_OCTETS as u64).saturating_add(self.body_octets).saturating_add(4 * blocks)
    }

    /// The number of the file's format: 2, or 1, the one before.
    pub fn format(&self) -> u32 {
        self.format
    }

    /// The digest of the state with this file in it.
    pub fn state(&self) -> Digest {
        match self.role {
            Role::Base => self.digest,
            Role::Level { with, .. } => with,
        }
    }

    pub(crate) fn encode(&self) -> [u8; HEADER_OCTETS] {
        let mut octets = Vec::with_capacity(HEADER_OCTETS);
        octets.extend_from_slice(&MAGIC);
        octets.extend_from_slice(&self.format.to_le_bytes());
        octets.extend_from_slice(&self.checksums_crc.to_le_bytes());
        octets.extend_from_slice(&self.digest.0.to_le_bytes());
        let Counts { hosts, services, endpoint_sets, documents, graves, wildcards } = self.counts;
        let shared =
            [layout_hash(self.format), self.seed, self.body_octets, hosts, services, endpoint_sets, graves];
        let (is_level, beneath, with) = match self.role {
            Role::Base => (0, Digest::default(), Digest::default()),
            Role::Level { beneath, with } => (1, beneath, with),
        };
        let since_format_2: &[u64] =
            if self.format == FORMAT_BEFORE { &[] } else { &[documents, wildcards, is_level] };
        for number in shared.iter().chain(since_format_2) {
            octets.extend_from_slice(&number.to_le_bytes());
        }
        if self.format != FORMAT_BEFORE {
            octets.extend_from_slice(&beneath.0.to_le_bytes());
            octets.extend_from_slice(&with.0.to_le_bytes());
        }
        let partitions = self.offsets.len() as u64;
        for number in [partitions].iter().chain(&self.offsets) {
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
        if format != FORMAT && format != FORMAT_BEFORE {
            return Err(if holds { HeaderError::Format(format) } else { HeaderError::Damaged });
        }
        if !holds {
            return Err(HeaderError::Damaged);
        }
        fields.header(format)
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

    fn digest(&mut self) -> Result<Digest, HeaderError> {
        self.take().map(u128::from_le_bytes).map(Digest).ok_or(HeaderError::Damaged)
    }

    /// What follows the format number.
    fn header(&mut self, format: u32) -> Result<Header, HeaderError> {
        let checksums_crc = self.take().map(u32::from_le_bytes).ok_or(HeaderError::Damaged)?;
        let digest = self.digest()?;
        let layout = self.number()?;
        if layout != layout_hash(format) {
            return Err(HeaderError::Layout { found: layout, known: layout_hash(format) });
        }
        let (seed, body_octets) = (self.number()?, self.number()?);
        let mut counts = Counts {
            hosts: self.number()?,
            services: self.number()?,
            endpoint_sets: self.number()?,
            graves: self.number()?,
            ..Counts::default()
        };
        let mut role = Role::Base;
        if format != FORMAT_BEFORE {
            (counts.documents, counts.wildcards) = (self.number()?, self.number()?);
            let (is_level, beneath, with) = (self.number()?, self.digest()?, self.digest()?);
            if is_level != 0 {
                role = Role::Level { beneath, with };
            }
        }
        let partitions = usize::try_from(self.number()?).ok().filter(|&count| count <= PARTITIONS_MAX);
        let offsets =
            (0..partitions.ok_or(HeaderError::Damaged)?).map(|_| self.number()).collect::<Result<_, _>>()?;
        Ok(Header { counts, digest, offsets, role, format, seed, body_octets, checksums_crc })
    }
}

const _: () = assert!(
    8 + 4 + 4 + 16 + 8 * 10 + 2 * 16 + 8 * (1 + PARTITIONS_MAX) + 4 <= HEADER_OCTETS,
    "offsets fit the header's page"
);

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        let counts =
            Counts { hosts: 1, services: 2, endpoint_sets: 3, documents: 10, graves: 4, wildcards: 11 };
        Header {
            counts,
            digest: Digest(5),
            offsets: vec![6; PARTITIONS_MAX],
            role: Role::Level { beneath: Digest(12), with: Digest(13) },
            format: FORMAT,
            seed: 7,
            body_octets: 8,
            checksums_crc: 9,
        }
    }

    #[test]
    fn what_is_written_is_read() {
        assert_eq!(Header::decode(&header().encode()), Ok(header()));
        let least = Header { format: FORMAT, ..Header::default() };
        assert_eq!(Header::decode(&least.encode()), Ok(least));
        let before =
            Header { format: FORMAT_BEFORE, digest: Digest(5), offsets: vec![6], ..Header::default() };
        assert_eq!(Header::decode(&before.encode()), Ok(before));
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
        assert_eq!(resealed(8), Err(HeaderError::Format(0)));
        let known = layout_hash(FORMAT);
        assert_eq!(resealed(32), Err(HeaderError::Layout { found: known ^ 2, known }));
        assert_ne!(layout_hash(FORMAT_BEFORE), known);
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
