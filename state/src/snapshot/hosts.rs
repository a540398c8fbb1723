//! A bucket of host names.
//!
//! ```text
//! bucket  group × 1.. │ (version text?) × names
//! group   fingerprint × 8 │ start × 8 │ (length value name) × up to 8 │ 0
//! ```
//! Fingerprints and lengths are octets, starts are `u16` from where the group starts. A lane without a name starts at the
//! group's last octet, a name of length 0; a group with eight names is followed by another. A value is a `u32`: the octet
//! offset of the service's record in the services' heap, a multiple of 8, and in its low three bits what the host name is
//! ([`Kind`]). The text is a service id or a reason where the kind has one. The cold part, for the writer alone, comes last.
//!
//! Eight fingerprints are compared at once, and where a name stands is read, not searched. No branch depends on memory before
//! the name itself is compared, and few operations do: they wait for the bucket in the processor's scheduler, and the fewer
//! they are, the further it runs ahead into whatever comes next.

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
const LANES: usize = 8;
const HEAD_OCTETS: usize = LANES + 2 * LANES;
/// Length and value, in front of each name.
const ENTRY_HEAD_OCTETS: usize = 1 + 4;

/// One host name on its way into a bucket.
pub(crate) struct Entry {
    pub(crate) hash: u64,
    pub(crate) name: HostName,
    pub(crate) version: Version,
    pub(crate) value: u32,
    pub(crate) text: Option<String>,
}

/// Appends a bucket.
pub(crate) fn put_bucket(out: &mut Vec<u8>, entries: &[Entry]) {
    // One group more than is full, for a full one does not end the bucket.
    for first in (0..=entries.len()).step_by(LANES) {
        put_group(out, &entries[first..entries.len().min(first + LANES)]);
    }
    for entry in entries {
        put_version(out, entry.version);
        if let Some(text) = &entry.text {
            put_text(out, text);
        }
    }
}

fn put_group(out: &mut Vec<u8>, entries: &[Entry]) {
    let (mut fingerprints, mut starts, mut packed) = ([0; LANES], [0; LANES], Vec::new());
    for lane in 0..LANES {
        starts[lane] = u16::try_from(HEAD_OCTETS + packed.len()).expect("eight names take 2 KiB at most");
        if let Some(Entry { hash, name, value, .. }) = entries.get(lane) {
            fingerprints[lane] = fingerprint(*hash);
            packed.push(u8::try_from(name.as_str().len()).expect("a host name has at most 253 octets"));
            packed.extend_from_slice(&value.to_le_bytes());
            packed.extend_from_slice(name.as_str().as_bytes());
        }
    }
    packed.push(0);
    out.extend_from_slice(&fingerprints);
    out.extend(starts.iter().flat_map(|start| start.to_le_bytes()));
    out.extend_from_slice(&packed);
}

/// The low octet, since the bucket is chosen by the upper half.
#[inline]
fn fingerprint(hash: u64) -> u8 {
    (hash & 0xff) as u8
}

/// Where a name was found.
#[derive(Clone, Copy)]
pub(crate) struct Found<'a> {
    bucket: &'a [u8],
    index: usize,
    pub(crate) value: u32,
}

/// Finds `name`, compared whole. `bucket` begins with the bucket and may go on behind it by any length.
#[inline]
pub(crate) fn find<'a>(bucket: &'a [u8], hash: u64, name: &[u8]) -> Option<Found<'a>> {
    if name.is_empty() {
        return None; // it would match a lane without a name
    }
    let mut group = Group::at(bucket)?;
    let mut first = 0;
    loop {
        let mut candidates = zero_octets(group.fingerprints() ^ (u64::from(fingerprint(hash)) * ONES));
        while candidates != 0 {
            let lane = candidates.trailing_zeros() as usize / LANES;
            let (length, value, known) = group.entry(lane, name.len())?;
            if length == name.len() && is_same(known, name) {
                return Some(Found { bucket, index: first + lane, value });
            }
            candidates &= candidates - 1;
        }
        // Only now: whether there are more groups is as good as random, and a branch on it before the name is found would
        // be mispredicted each second time.
        group = group.following()?;
        first += LANES;
    }
}

/// Whether two texts of one length are equal. Most host names have 16 to 32 octets, and are compared without a call.
#[inline]
fn is_same(known: &[u8], name: &[u8]) -> bool {
    let ends = |text: &[u8]| {
        Some((u128::from_le_bytes(*text.first_chunk()?), u128::from_le_bytes(*text.last_chunk()?)))
    };
    match (ends(known), ends(name)) {
        (Some(known), Some(name_ends)) if name.len() <= 32 => known == name_ends,
        _ => known == name,
    }
}

/// Up to eight names.
#[derive(Clone, Copy)]
struct Group<'a> {
    head: &'a [u8; HEAD_OCTETS],
    /// From the group's start on, and beyond its end.
    octets: &'a [u8],
}

/// The groups of a bucket, of which there is at least one; none where the octets end.
fn groups(bucket: &[u8]) -> impl Iterator<Item = Group<'_>> {
    std::iter::successors(Group::at(bucket), Group::following)
}

impl<'a> Group<'a> {
    #[inline]
    fn at(octets: &'a [u8]) -> Option<Self> {
        Some(Self { head: octets.first_chunk()?, octets })
    }

    #[inline]
    fn fingerprints(&self) -> u64 {
        self.head.first_chunk().map_or(0, |octets| u64::from_le_bytes(*octets))
    }

    #[inline]
    fn start(&self, lane: usize) -> usize {
        let starts = self.head[LANES..].as_chunks().0;
        usize::from(u16::from_le_bytes(starts[lane % LANES]))
    }

    /// Length and value of a lane, and as many octets of its name as are asked for.
    #[inline]
    fn entry(&self, lane: usize, octets: usize) -> Option<(usize, u32, &'a [u8])> {
        let start = self.start(lane);
        let entry = self.octets.get(start..start + ENTRY_HEAD_OCTETS + octets)?;
        let ([length, value @ ..], name) = entry.split_first_chunk::<ENTRY_HEAD_OCTETS>()?;
        Some((usize::from(*length), u32::from_le_bytes(*value), name))
    }

    fn length(&self, lane: usize) -> usize {
        self.octets.get(self.start(lane)).map_or(0, |&length| usize::from(length))
    }

    /// The group behind this one, if this one is full.
    fn following(&self) -> Option<Self> {
        if self.length(LANES - 1) == 0 { None } else { Self::at(self.behind()?) }
    }

    /// What stands behind the group's last octet.
    fn behind(&self) -> Option<&'a [u8]> {
        let (last, length) = (self.start(LANES - 1), self.length(LANES - 1));
        let end = if length == 0 { last } else { last + ENTRY_HEAD_OCTETS + length };
        self.octets.get(end + 1..)
    }

    /// All lanes that hold a name, by value and name.
    fn entries(self) -> impl Iterator<Item = Option<(u32, &'a [u8])>> {
        let lengths = (0..LANES).map(move |lane| (lane, self.length(lane)));
        lengths.filter(|&(_, length)| length > 0).map(move |(lane, length)| {
            let (_, value, name) = self.entry(lane, length)?;
            Some((value, name))
        })
    }
}

/// All names of a bucket with their places, as [`find`] would give them; `None` where the octets make no sense.
pub(crate) fn entries(bucket: &[u8]) -> impl Iterator<Item = Option<(&str, Found<'_>)>> {
    groups(bucket).flat_map(Group::entries).enumerate().map(move |(index, entry)| {
        let (value, name) = entry?;
        Some((std::str::from_utf8(name).ok()?, Found { bucket, index, value }))
    })
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

    /// Version and text: what stands behind the groups.
    fn cold(&self) -> Option<(Version, Option<&'a str>)> {
        let mut cold = Cursor::new(groups(self.bucket).last()?.behind()?);
        for entry in groups(self.bucket).flat_map(Group::entries).take(self.index) {
            cold.version()?;
            if Kind::of(entry?.0)?.has_text() {
                cold.text()?;
            }
        }
        let version = cold.version()?;
        let text = if Kind::of(self.value)?.has_text() { Some(cold.text()?) } else { None };
        Some((version, text))
    }
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

    /// The class of a value that leads to a record.
    #[inline]
    pub(crate) fn bound(value: u32) -> Option<Class> {
        let class = if value & 1 == 0 { Class::Platform } else { Class::Custom };
        (value & KIND_MASK < 2).then_some(class)
    }

    fn has_text(self) -> bool {
        matches!(self, Self::Tombstone | Self::PlatformUnbound | Self::CustomUnbound)
    }
}

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// The high bit of each octet that is zero, and maybe of one behind it that is 1: candidates, to be compared.
#[inline]
fn zero_octets(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word & HIGHS
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a test that cannot set up must fail loudly
    use proptest::prelude::*;

    use super::*;
    use crate::hash::hash64;

    fn entry((length, (kind, counter)): (usize, (u32, u64)), number: usize) -> Entry {
        let name = format!("{number}.{}", "a.".repeat(126));
        let name = HostName::parse(name[..length].trim_end_matches('.')).unwrap();
        let text = Kind::of(kind).unwrap().has_text().then(|| format!("text-{number}"));
        let value = u32::try_from(number).unwrap() << 3 | kind;
        let hash = hash64(1, name.as_str().as_bytes());
        Entry { hash, name, version: Version::new(counter, counter), value, text }
    }

    fn packed(entries: &[Entry]) -> Vec<u8> {
        let mut bucket = Vec::new();
        put_bucket(&mut bucket, entries);
        bucket
    }

    proptest! {
        /// Around one, two and three groups above all, and fingerprints that are all alike.
        #[test]
        fn each_name_is_found_with_what_belongs_to_it(
            shapes in proptest::collection::vec((4_usize..254, (0_u32..6, any::<u64>())), 0..26),
            one_fingerprint: bool,
        ) {
            let mut written: Vec<Entry> = shapes.into_iter().enumerate().map(|(n, shape)| entry(shape, n)).collect();
            if one_fingerprint {
                written.iter_mut().for_each(|entry| entry.hash = 1);
            }
            let bucket = packed(&written);
            for entry in &written {
                let found = find(&bucket, entry.hash, entry.name.as_str().as_bytes()).unwrap();
                prop_assert_eq!(found.value, entry.value);
                prop_assert_eq!(found.cold(), Some((entry.version, entry.text.as_deref())));
                let longer = format!("{}x", entry.name);
                prop_assert!(find(&bucket, entry.hash, longer.as_bytes()).is_none());
            }
            let walked: Vec<_> = entries(&bucket).map(|entry| entry.unwrap()).collect();
            prop_assert_eq!(walked.len(), written.len());
            for ((name, found), entry) in walked.iter().zip(&written) {
                prop_assert_eq!(*name, entry.name.as_str());
                prop_assert_eq!(found.cold(), Some((entry.version, entry.text.as_deref())));
            }
        }

        #[test]
        fn any_octets_are_searched_without_panic(bucket in proptest::collection::vec(any::<u8>(), 0..300), name: [u8; 4]) {
            if let Some(found) = find(&bucket, u64::from(bucket.first().copied().unwrap_or_default()), &name) {
                prop_assert!(bucket.windows(4).any(|octets| octets == name));
                prop_assert!(found.cold().is_none_or(|(_, text)| text.is_none_or(|text| text.len() < 256)));
            }
            prop_assert!(entries(&bucket).count() <= bucket.len());
        }
    }

    #[test]
    fn zero_octets_are_found() {
        assert_eq!(zero_octets(0x0102_0004_0506_0708), 0x0000_8000_0000_0000);
        assert_eq!(zero_octets(0x8080_8080_8080_8080), 0);
    }
}
