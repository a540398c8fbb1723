//! A service's record: its endpoint sets first, since the request path wants them, then the service itself.
//!
//! ```text
//! length │ id │ sets │ (region·2+grave length version v4 v6 endpoint × (v4+v6)) × sets │
//!        │ kind version owner home-region policy regions (region weight) × regions │ zeros up to a multiple of 8
//! ```
//! The record's length is a `u32`; other lengths, counts and regions are numbers as in [`crate::wire`]. A length counts the
//! octets that follow it, padding left out.
//! `kind` says whether a service stands here (the fields behind it are there only then), a grave (version only) or nothing.

use super::section::{Bucket, Section};
use crate::{
    codec::{self, ENDPOINT_V4_OCTETS, ENDPOINT_V6_OCTETS},
    id::{OwnerId, PolicyId, Region, ServiceId},
    prefetch::prefetch,
    record::{Change, Endpoint, EndpointSet, Record, Service, Version},
    wire::{Cursor, put_number, put_text, put_version},
};

const ABSENT: u8 = 0;
const GRAVE: u8 = 1;
const PRESENT: u8 = 2;

/// Records start at multiples of this, which leaves the low bits of their offsets free for a host's kind.
pub(crate) const RECORD_ALIGNMENT: usize = 8;
/// Lines that most records have their endpoints in.
const ENDPOINT_LINES: usize = 2;
/// Of the record's length.
const LENGTH_OCTETS: usize = 4;

/// Appends the record of `id`. `changes` are the newest of each key about it, the service first if there is one. `number`
/// gives a region its number.
pub(crate) fn put_record(
    out: &mut Vec<u8>,
    id: &str,
    changes: &[Change],
    number: &mut impl FnMut(&Region) -> u64,
) {
    let mut record = Vec::with_capacity(128);
    put_text(&mut record, id);
    let sets = changes.iter().filter(|change| matches!(change.record, Record::Endpoints(..))).count();
    put_number(&mut record, sets as u64);
    for change in changes {
        if let Record::Endpoints(_, region, set) = &change.record {
            put_set(&mut record, number(region), change.version, set.as_ref());
        }
    }
    match changes.iter().find_map(|change| match &change.record {
        Record::Service(_, value) => Some((change.version, value.as_ref())),
        _ => None,
    }) {
        Some((version, value)) => put_service(&mut record, version, value, number),
        None => record.push(ABSENT),
    }
    // At most 64 regions of 4,096 endpoints: far below 4 GiB.
    out.extend_from_slice(&u32::try_from(record.len()).unwrap_or(u32::MAX).to_le_bytes());
    out.extend_from_slice(&record);
    out.resize(out.len().next_multiple_of(RECORD_ALIGNMENT), 0);
}

fn put_set(out: &mut Vec<u8>, region: u64, version: Version, set: Option<&EndpointSet>) {
    let mut octets = Vec::with_capacity(64);
    put_version(&mut octets, version);
    if let Some(set) = set {
        codec::put_endpoints(&mut octets, set.as_slice());
    }
    put_number(out, region << 1 | u64::from(set.is_none()));
    put_number(out, octets.len() as u64);
    out.extend_from_slice(&octets);
}

fn put_service(
    out: &mut Vec<u8>,
    version: Version,
    value: Option<&Service>,
    number: &mut impl FnMut(&Region) -> u64,
) {
    out.push(if value.is_some() { PRESENT } else { GRAVE });
    put_version(out, version);
    let Some(service) = value else { return };
    put_text(out, service.owner.as_str());
    put_number(out, number(&service.home_region));
    put_text(out, service.policy.as_ref().map_or("", PolicyId::as_str));
    put_number(out, service.regions.len() as u64);
    for (region, weight) in &service.regions {
        put_number(out, number(region));
        put_number(out, u64::from(*weight));
    }
}

/// A record in the mapped heap: the heap from where it starts. Nothing is read before it is asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ServiceRecord<'a>(&'a [u8]);

/// Finds the record of `id`, compared whole, and its offset in the heap.
#[inline]
pub(crate) fn find<'a>(section: Section<'a>, hash: u64, id: &str) -> Option<(usize, ServiceRecord<'a>)> {
    records(section.bucket(hash)?).map_while(|record| record).find(|(_, record)| record.id() == id)
}

/// The records of a bucket with their offsets in the heap; ends with `None` where the octets make no sense.
pub(crate) fn records(bucket: Bucket<'_>) -> impl Iterator<Item = Option<(usize, ServiceRecord<'_>)>> {
    let mut at = Some(0);
    std::iter::from_fn(move || {
        let here = at.filter(|&here| here < bucket.length)?;
        let record = bucket.octets.get(here..).map(ServiceRecord::at)?;
        at = record.stride().and_then(|stride| here.checked_add(stride));
        Some(at.map(|_| (bucket.start + here, record)))
    })
}

/// Packed endpoints of one set.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PackedSet<'a> {
    v4: &'a [u8],
    v6: &'a [u8],
}

impl<'a> ServiceRecord<'a> {
    /// The record at the start of `heap`.
    #[inline]
    pub(crate) fn at(heap: &'a [u8]) -> Self {
        Self(heap)
    }

    /// Octets up to the next record.
    fn stride(&self) -> Option<usize> {
        let (length, _) = self.0.split_first_chunk()?;
        let length = u32::from_le_bytes(*length) as usize;
        Some(length.checked_add(LENGTH_OCTETS)?.next_multiple_of(RECORD_ALIGNMENT))
    }

    /// Empty where the octets make no sense.
    #[inline]
    pub(crate) fn id(&self) -> &'a str {
        self.octets().and_then(|mut octets| octets.text()).unwrap_or_default()
    }

    /// The live endpoints in the region of that number.
    #[inline]
    pub(crate) fn endpoints(&self, region: u64) -> Option<PackedSet<'a>> {
        prefetch(self.0, ENDPOINT_LINES);
        let mut from = self.behind_id()?;
        for _ in 0..from.number()? {
            let head = from.number()?;
            let length = from.length()?;
            let set = from.octets(length)?;
            if head == region << 1 {
                let mut set = Cursor::new(set);
                set.version()?;
                return PackedSet::read(&mut set);
            }
        }
        None
    }

    /// Whether a service stands here, rather than a grave or nothing.
    pub(crate) fn is_known(&self) -> bool {
        self.behind_sets().is_some_and(|mut from| from.octet() == Some(PRESENT))
    }

    /// All that the record holds: the service, if there is one, then its endpoint sets. `None` where the octets make no
    /// sense.
    pub(crate) fn changes(&self, regions: &[Region]) -> Option<Vec<Change>> {
        let id = ServiceId::trusted(self.id());
        let region = |number: u64| regions.get(usize::try_from(number).ok()?).cloned();
        let mut changes = Vec::new();
        let mut from = self.behind_sets()?;
        let kind = from.octet()?;
        if kind != ABSENT {
            let version = from.version()?;
            let value = if kind == PRESENT { Some(service(&mut from, region)?) } else { None };
            changes.push(Change { version, record: Record::Service(id.clone(), value) });
        }
        let mut from = self.behind_id()?;
        for _ in 0..from.number()? {
            let head = from.number()?;
            let length = from.length()?;
            let mut set = Cursor::new(from.octets(length)?);
            let version = set.version()?;
            let value = if head & 1 == 0 { Some(PackedSet::read(&mut set)?.unpack()?) } else { None };
            changes
                .push(Change { version, record: Record::Endpoints(id.clone(), region(head >> 1)?, value) });
        }
        Some(changes)
    }

    #[inline]
    fn octets(&self) -> Option<Cursor<'a>> {
        self.0.get(LENGTH_OCTETS..).map(Cursor::new)
    }

    #[inline]
    fn behind_id(&self) -> Option<Cursor<'a>> {
        let mut from = self.octets()?;
        let length = from.octet()?;
        from.octets(usize::from(length))?;
        Some(from)
    }

    fn behind_sets(&self) -> Option<Cursor<'a>> {
        let mut from = self.behind_id()?;
        for _ in 0..from.number()? {
            from.number()?;
            let length = from.length()?;
            from.octets(length)?;
        }
        Some(from)
    }
}

fn service(from: &mut Cursor<'_>, region: impl Fn(u64) -> Option<Region>) -> Option<Service> {
    let owner = OwnerId::trusted(from.text()?);
    let home_region = region(from.number()?)?;
    let policy = Some(from.text()?).filter(|text| !text.is_empty()).map(PolicyId::trusted);
    let mut regions = Vec::new();
    for _ in 0..from.number()? {
        let region = region(from.number()?)?;
        regions.push((region, u16::try_from(from.number()?).ok()?));
    }
    Some(Service { owner, home_region, regions, policy })
}

impl<'a> PackedSet<'a> {
    #[inline]
    fn read(from: &mut Cursor<'a>) -> Option<Self> {
        let (v4, v6) = (from.length()?, from.length()?);
        let v4 = from.octets(v4.checked_mul(ENDPOINT_V4_OCTETS)?)?;
        let v6 = from.octets(v6.checked_mul(ENDPOINT_V6_OCTETS)?)?;
        Some(Self { v4, v6 })
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.v4.len() / ENDPOINT_V4_OCTETS + self.v6.len() / ENDPOINT_V6_OCTETS
    }

    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<Endpoint> {
        let v4 = self.v4.len() / ENDPOINT_V4_OCTETS;
        match index.checked_sub(v4) {
            None => codec::endpoint_v4(nth(self.v4, index, ENDPOINT_V4_OCTETS)?),
            Some(index) => codec::endpoint_v6(nth(self.v6, index, ENDPOINT_V6_OCTETS)?),
        }
    }

    fn unpack(&self) -> Option<EndpointSet> {
        EndpointSet::new((0..self.len()).map(|index| self.get(index)).collect::<Option<Vec<_>>>()?).ok()
    }
}

#[inline]
fn nth(octets: &[u8], index: usize, size: usize) -> Option<&[u8]> {
    let at = index.checked_mul(size)?;
    octets.get(at..at.checked_add(size)?)
}
