//! A bucket of host names.
//!
//! ```text
//! n │ fingerprint × n │ length × n │ value × n │ name × n │ (version text?) × n
//! ```
//! `n`, fingerprint and length are octets, a value is a `u32`: the octet offset of the service's record in the services'
//! heap, a multiple of 8, and in its low three bits what the host name is ([`Kind`]). The text is a service id or a reason
//! where the kind has one. Fingerprints and lengths are read eight at a time, so that finding a name in a bucket has no
//! branch that depends on where it stands; the cold part, for the writer alone, comes last.

use crate::{
    id::{HostName, Reason, ServiceId},
    record::{Change, Class, HostValue, Record, Version},
    wire::{Cursor, put_text, put_version},
};

/// What the low bits of a value say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    Platform = 0,
    Custom = 1,
    Tombstone = 2,
    Grave = 3,
    /// Mapped to a service that has no record here; its id is the text.
    PlatformUnbound = 4,
    CustomUnbound = 5,
}

pub(crate) const KIND_MASK: u32 = 7;
const FIXED_OCTETS: usize = 1 + 1 + 4;

/// One host name on its way into a bucket.
pub(crate) struct Entry {
    pub(crate) hash: u64,
    pub(crate) name: HostName,
    pub(crate) version: Version,
    pub(crate) value: u32,
    pub(crate) text: Option<String>,
}

/// Appends a bucket of 1 to 255 entries.
pub(crate) fn put_bucket(out: &mut Vec<u8>, entries: &[Entry]) {
    out.push(u8::try_from(entries.len()).expect("the builder bounds its buckets"));
    out.extend(entries.iter().map(|entry| fingerprint(entry.hash)));
    out.extend(entries.iter().map(|entry| u8::try_from(entry.name.as_str().len()).expect("at most 253")));
    out.extend(entries.iter().flat_map(|entry| entry.value.to_le_bytes()));
    out.extend(entries.iter().flat_map(|entry| entry.name.as_str().bytes()));
    for entry in entries {
        put_version(out, entry.version);
        if let Some(text) = &entry.text {
            put_text(out, text);
        }
    }
}

/// The low octet, since the bucket is chosen by the upper half.
#[inline]
fn fingerprint(hash: u64) -> u8 {
    (hash & 0xff) as u8
}

/// Where a name was found.
pub(crate) struct Found<'a> {
    bucket: &'a [u8],
    index: usize,
    pub(crate) value: u32,
}

/// Finds `name`, compared whole. `bucket` begins with the bucket and may go on behind it by any length, at least by
/// [`super::section::HEAP_PADDING_OCTETS`].
#[inline]
pub(crate) fn find<'a>(bucket: &'a [u8], hash: u64, name: &[u8]) -> Option<Found<'a>> {
    let count = usize::from(*bucket.first()?);
    let mut names_at = 1 + count * FIXED_OCTETS;
    let wanted = u64::from(fingerprint(hash)) * ONES;
    for first in (0..count).step_by(8) {
        let lanes = lanes(count - first);
        let lengths = word(bucket, 1 + count + first)? & lanes;
        let mut candidates = zero_octets(word(bucket, 1 + first)? ^ wanted) & lanes;
        while candidates != 0 {
            let lane = candidates.trailing_zeros() & !7;
            let at = names_at + sum_octets(lengths & !(u64::MAX << lane));
            let index = first + (lane / 8) as usize;
            if bucket.get(at..at + octet(lengths, lane)) == Some(name) {
                return Some(Found { bucket, index, value: value(bucket, count, index)? });
            }
            candidates &= candidates - 1;
        }
        names_at += sum_octets(lengths);
    }
    None
}

impl<'a> Found<'a> {
    /// The text of a tombstone or an unbound mapping.
    pub(crate) fn text(&self) -> Option<&'a str> {
        self.cold()?.1
    }

    /// The whole change. `service` is the id that the value leads to, for the kinds that lead to one.
    pub(crate) fn change(&self, name: &str, service: Option<&str>) -> Option<Change> {
        let (version, text) = self.cold()?;
        let mapped =
            |class| Some(HostValue::Mapped { service: ServiceId::trusted(service.or(text)?), class });
        let value = match Kind::of(self.value)? {
            Kind::Platform | Kind::PlatformUnbound => Some(mapped(Class::Platform)?),
            Kind::Custom | Kind::CustomUnbound => Some(mapped(Class::Custom)?),
            Kind::Tombstone => Some(HostValue::Tombstone { reason: Reason::trusted(text?) }),
            Kind::Grave => None,
        };
        Some(Change { version, record: Record::Host(HostName::trusted(name), value) })
    }

    /// Version and text: what stands behind the names.
    fn cold(&self) -> Option<(Version, Option<&'a str>)> {
        let count = usize::from(*self.bucket.first()?);
        let names: usize =
            self.bucket.get(1 + count..1 + 2 * count)?.iter().map(|&length| usize::from(length)).sum();
        let mut cold = Cursor::new(self.bucket.get(1 + count * FIXED_OCTETS + names..)?);
        for index in 0..self.index {
            cold.version()?;
            if Kind::of(value(self.bucket, count, index)?)?.has_text() {
                cold.text()?;
            }
        }
        let version = cold.version()?;
        let text = if Kind::of(self.value)?.has_text() { Some(cold.text()?) } else { None };
        Some((version, text))
    }
}

/// All names of a bucket with their places, as [`find`] would give them; `None` where the octets make no sense.
pub(crate) fn entries(bucket: &[u8]) -> impl Iterator<Item = Option<(&str, Found<'_>)>> {
    let count = bucket.first().map_or(0, |&count| usize::from(count));
    let mut at = 1 + count * FIXED_OCTETS;
    (0..count).map(move |index| {
        let length = usize::from(*bucket.get(1 + count + index)?);
        let name = std::str::from_utf8(bucket.get(at..at + length)?).ok()?;
        at += length;
        Some((name, Found { bucket, index, value: value(bucket, count, index)? }))
    })
}

impl Kind {
    #[inline]
    pub(crate) fn of(value: u32) -> Option<Self> {
        Some(match value & KIND_MASK {
            0 => Self::Platform,
            1 => Self::Custom,
            2 => Self::Tombstone,
            3 => Self::Grave,
            4 => Self::PlatformUnbound,
            5 => Self::CustomUnbound,
            _ => return None,
        })
    }

    fn has_text(self) -> bool {
        matches!(self, Self::Tombstone | Self::PlatformUnbound | Self::CustomUnbound)
    }
}

#[inline]
fn value(bucket: &[u8], count: usize, index: usize) -> Option<u32> {
    let at = 1 + 2 * count + 4 * index;
    bucket.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes)
}

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

#[inline]
fn word(octets: &[u8], at: usize) -> Option<u64> {
    octets.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes)
}

/// All bits of the first `count` octets; of all eight from 8 on.
#[inline]
fn lanes(count: usize) -> u64 {
    if count >= 8 { u64::MAX } else { !(u64::MAX << (8 * count)) }
}

/// The high bit of each octet that is zero, and maybe of one behind it that is 1: candidates, to be compared.
#[inline]
fn zero_octets(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word & HIGHS
}

#[inline]
fn octet(word: u64, shift: u32) -> usize {
    (word >> shift & 0xff) as usize
}

/// The sum of all eight octets.
#[inline]
#[allow(clippy::cast_possible_truncation)] // at most 8 × 255
fn sum_octets(word: u64) -> usize {
    const EVEN: u64 = 0x00ff_00ff_00ff_00ff;
    let pairs = (word & EVEN) + (word >> 8 & EVEN);
    (pairs.wrapping_mul(0x0001_0001_0001_0001) >> 48) as usize
}
