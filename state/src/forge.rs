//! A hand at files that someone else made: for tests and fuzzers, which must get past the checksums.

use std::ops::Range;

use crate::{
    codec,
    record::Change,
    snapshot::{BLOCK_OCTETS, CHECKSUMS_CRC_AT, HEADER_OCTETS},
};

/// The body of a whole file, as its length has it.
pub fn body(file: &[u8]) -> Range<usize> {
    let behind = file.len().saturating_sub(HEADER_OCTETS);
    let blocks = behind.div_ceil(BLOCK_OCTETS + size_of::<u32>());
    HEADER_OCTETS.min(file.len())..file.len() - (blocks * size_of::<u32>()).min(behind)
}

/// Makes all checksums of a whole file hold again, whatever else is wrong with it.
pub fn reseal(file: &mut [u8]) {
    let body = body(file);
    let blocks = file[body.clone()].chunks(BLOCK_OCTETS);
    let table: Vec<u8> = blocks.flat_map(|block| crc32c::crc32c(block).to_le_bytes()).collect();
    let (before, checksums) = file.split_at_mut(body.end);
    checksums.copy_from_slice(&table);
    let Some(page) = before.first_chunk_mut::<HEADER_OCTETS>() else { return };
    page[CHECKSUMS_CRC_AT..][..size_of::<u32>()].copy_from_slice(&crc32c::crc32c(&table).to_le_bytes());
    let (covered, crc) = page.split_at_mut(HEADER_OCTETS - size_of::<u32>());
    crc.copy_from_slice(&crc32c::crc32c(covered).to_le_bytes());
}

/// A change out of the octets that the builder stages and documents are stored as; `None` where they make no sense.
pub fn decode(octets: &[u8]) -> Option<Change> {
    codec::decode(octets)
}

/// The octets of a change, which are its alone.
pub fn encode(change: &Change, out: &mut Vec<u8>) {
    codec::encode(change, out);
}
