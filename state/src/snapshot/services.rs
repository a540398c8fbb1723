//! A service's record: its endpoint sets first, since the request path wants them, then the service itself;
//! behind the record, the entries of the host names that are mapped to it, so that a look-up finds both in
//! neighbouring lines.
//!
//! ```text
//! length │ hosts │ id │ sets │ (region·2+grave length version v4 v6 endpoint × (v4+v6)) × sets │
//!        │ kind version owner home-region policy regions (region weight) × regions │
//!        │ host entries │ zeros up to a multiple of 8
//! ```
//! `length`, of the record from the id on, and `hosts`, of the host entries, are `u32`; other lengths, counts
//! and regions are numbers as in [`crate::wire`]. A length counts the octets that follow it. `kind` says
//! whether a service stands here (the fields behind it are there only then), a grave (version only) or
//! nothing.

use std::ops::Range;

use crate::{
    codec::{self, ENDPOINT_V4_OCTETS, ENDPOINT_V6_OCTETS},
    id::{OwnerId, PolicyId, Region, ServiceId},
    record::{Change, Endpoint, EndpointSet, Record, Service, Version},
    wire::{Cursor, put_number, put_text, put_version},
};

const ABSENT: u8 = 0;
const GRAVE: u8 = 1;
const PRESENT: u8 = 2;

/// Records start at multiples of this, which leaves the low bits of their offsets free for a host's kind.
pub(crate) const RECORD_ALIGNMENT: usize = 8;
/// Of the two lengths.
const HEAD_OCTETS: usize = 4 + 4;

/// Puts the record of `id` into `out`, which is empty. `changes` are the newest of each key about it, the
/// service first if there is one. `number` gives a region its number.
pub(crate) fn put_record(
    out: &mut Vec<u8>,
    id: &str,
    changes: &[Change],
    number: &mut impl FnMut(&Region) -> u64,
) {
    out.extend_from_slice(&[0; HEAD_OCTETS]);
    put_text(out, id);
    let sets = changes.iter().filter(|change| matches!(change.record, Record::Endpoints(..))).count();
    put_number(out, sets as u64);
    for change in changes {
        if let Record::Endpoints(_, region, set) = &change.record {
            put_set(out, number(region), change.version, set.as_ref());
        }
    }
    match changes.iter().find_map(|change| match &change.record {
        Record::Service(_, value) => Some((change.version, value.as_ref())),
        _ => None,
    }) {
        Some((version, value)) => put_service(out, version, value, number),
        None => out.push(ABSENT),
    }
    let length = out.len() - HEAD_OCTETS;
    put_length(out, 0, length);
}

/// Ends the record that `out` starts with, behind which host entries were put from `hosts` on.
pub(crate) fn end_record(out: &mut Vec<u8>, hosts: usize) {
    let length = out.len() - hosts;
    put_length(out, 4, length);
    out.resize(out.len().next_multiple_of(RECORD_ALIGNMENT), 0);
}

/// A length that does not fit is none: the heap's own bound, which is the same, has refused it by then.
fn put_length(record: &mut [u8], field: usize, length: usize) {
    let length = u32::try_from(length).unwrap_or(u32::MAX);
    record[field..][..4].copy_from_slice(&length.to_le_bytes());
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

/// A record in the mapped heap. Nothing is read before it is asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ServiceRecord<'a> {
    heap: &'a [u8],
    at: usize,
}

/// The records in a part of the heap; ends with `None` where the octets make no sense.
pub(crate) fn records(heap: &[u8], part: Range<usize>) -> impl Iterator<Item = Option<ServiceRecord<'_>>> {
    let mut at = Some(part.start);
    std::iter::from_fn(move || {
        let record = ServiceRecord::at(heap, at.filter(|&at| at < part.end)?);
        at = record.stride().and_then(|stride| record.at.checked_add(stride));
        Some(at.map(|_| record))
    })
}

/// What one file has of a key.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Held<T> {
    /// Nothing: an older file may have something.
    Absent,
    Grave,
    Live(T),
}

impl<T> Held<T> {
    pub(crate) fn is_live(&self) -> bool {
        matches!(self, Held::Live(_))
    }

    #[inline]
    pub(crate) fn live(self) -> Option<T> {
        match self {
            Held::Live(value) => Some(value),
            Held::Absent | Held::Grave => None,
        }
    }
}

/// Packed endpoints of one set.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PackedSet<'a> {
    v4: &'a [u8],
    v6: &'a [u8],
}

impl<'a> ServiceRecord<'a> {
    #[inline]
    pub(crate) fn at(heap: &'a [u8], at: usize) -> Self {
        Self { heap, at }
    }

    /// Octets up to the next record.
    fn stride(&self) -> Option<usize> {
        let (length, hosts) = self.lengths()?;
        length.checked_add(hosts)?.checked_add(HEAD_OCTETS)?.checked_next_multiple_of(RECORD_ALIGNMENT)
    }

    /// Where in the heap the entries of the host names that are mapped to this service are.
    pub(crate) fn hosts(&self) -> Option<Range<usize>> {
        let (length, hosts) = self.lengths()?;
        let start = self.at.checked_add(HEAD_OCTETS)?.checked_add(length)?;
        Some(start..start.checked_add(hosts)?)
    }

    fn lengths(&self) -> Option<(usize, usize)> {
        let (lengths, _) = self.heap.get(self.at..)?.as_chunks();
        let length = |at: usize| Some(u32::from_le_bytes(*lengths.get(at)?) as usize);
        Some((length(0)?, length(1)?))
    }

    #[inline]
    fn behind_head(&self) -> Option<&'a [u8]> {
        self.heap.get(self.at + HEAD_OCTETS..)
    }

    /// Empty where the octets make no sense.
    #[inline]
    pub(crate) fn id(&self) -> &'a str {
        self.behind_head().and_then(|octets| Cursor::new(octets).text()).unwrap_or_default()
    }

    /// The endpoints in the region of that number.
    #[inline]
    pub(crate) fn endpoints(&self, region: u64) -> Held<PackedSet<'a>> {
        self.find_set(region).unwrap_or(Held::Absent)
    }

    /// `None` where the octets make no sense.
    #[inline]
    fn find_set(&self, region: u64) -> Option<Held<PackedSet<'a>>> {
        let mut from = self.behind_id()?;
        for _ in 0..from.number()? {
            let head = from.number()?;
            let length = from.length()?;
            let set = from.octets(length)?;
            if head >> 1 == region {
                return if head & 1 == 0 { read_set(set).map(Held::Live) } else { Some(Held::Grave) };
            }
        }
        Some(Held::Absent)
    }

    /// Whether a service stands here, or a grave, or nothing.
    pub(crate) fn service(&self) -> Held<()> {
        match self.behind_sets().and_then(|mut from| from.octet()) {
            Some(PRESENT) => Held::Live(()),
            Some(GRAVE) => Held::Grave,
            _ => Held::Absent,
        }
    }

    /// All that the record holds: the service, if there is one, then its endpoint sets. `None` where the
    /// octets make no sense.
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
    fn behind_id(&self) -> Option<Cursor<'a>> {
        let mut from = Cursor::new(self.behind_head()?);
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

#[inline]
fn read_set(octets: &[u8]) -> Option<PackedSet<'_>> {
    let mut set = Cursor::new(octets);
    set.version()?;
    PackedSet::read(&mut set)
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
