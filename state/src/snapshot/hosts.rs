//! A host name's entry in the heap, behind the record of its service.
//!
//! ```text
//! length │ value │ name │ version │ text?
//! ```
//! The length is an octet, the value a `u32`: the octet offset of the service's record, a multiple of 8, and
//! in its low three bits what the host name is ([`Kind`]). The text is a service id or a reason where the
//! kind has one.

use std::ops::Range;

use super::services::ServiceRecord;
use crate::{
    id::{HostName, Reason, ServiceId},
    prefetch::ascii,
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

const KIND_MASK: u32 = 7;
/// Length and value.
const HEAD_OCTETS: usize = 1 + 4;

/// Appends the entry of `name`. `service` is the offset of the record of the service that it is mapped to, if
/// there is one.
pub(crate) fn put_entry(
    out: &mut Vec<u8>,
    name: &HostName,
    version: Version,
    value: Option<&HostValue>,
    service: Option<u32>,
) {
    let (kind, text) = match (value, service) {
        (None, _) => (Kind::Grave, None),
        (Some(HostValue::Tombstone { reason }), _) => (Kind::Tombstone, Some(reason.as_str())),
        (Some(HostValue::Mapped { class: Class::Platform, .. }), Some(_)) => (Kind::Platform, None),
        (Some(HostValue::Mapped { class: Class::Custom, .. }), Some(_)) => (Kind::Custom, None),
        (Some(HostValue::Mapped { class: Class::Platform, service }), None) => {
            (Kind::PlatformUnbound, Some(service.as_str()))
        }
        (Some(HostValue::Mapped { class: Class::Custom, service }), None) => {
            (Kind::CustomUnbound, Some(service.as_str()))
        }
    };
    out.push(u8::try_from(name.as_str().len()).expect("a host name has at most 253 octets"));
    out.extend_from_slice(&(service.unwrap_or(0) | kind as u32).to_le_bytes());
    out.extend_from_slice(name.as_str().as_bytes());
    put_version(out, version);
    if let Some(text) = text {
        put_text(out, text);
    }
}

/// An entry that was found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry<'a> {
    heap: &'a [u8],
    /// Where version and text stand.
    cold_at: usize,
    value: u32,
}

/// The entry at `at` in `heap`, if it is the one of `name`, compared whole.
#[inline]
pub(crate) fn entry_of<'a>(heap: &'a [u8], at: usize, name: &[u8]) -> Option<Entry<'a>> {
    let cold_at = at + HEAD_OCTETS + name.len();
    let ([length, value @ ..], known) = heap.get(at..cold_at)?.split_first_chunk::<HEAD_OCTETS>()?;
    let is_it = usize::from(*length) == name.len() && is_same(known, name);
    is_it.then(|| Entry { heap, cold_at, value: u32::from_le_bytes(*value) })
}

/// Whether two texts of one length are equal. Most host names have 16 to 32 octets, and are compared without
/// a call.
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

/// All names in a part of the heap; ends with `None` where the octets make no sense.
pub(crate) fn entries(heap: &[u8], part: Range<usize>) -> impl Iterator<Item = Option<(&str, Entry<'_>)>> {
    let mut at = Some(part.start);
    std::iter::from_fn(move || {
        let next = next_entry(heap, at.take().filter(|&at| at < part.end)?);
        at = next.map(|(_, end)| end);
        Some(next.map(|(entry, _)| entry))
    })
}

/// The entry at `at`, and where it ends.
fn next_entry(heap: &[u8], at: usize) -> Option<((&str, Entry<'_>), usize)> {
    let length = usize::from(*heap.get(at)?);
    let name = ascii(heap.get(at + HEAD_OCTETS..at + HEAD_OCTETS + length)?)?;
    let entry = entry_of(heap, at, name.as_bytes())?;
    let mut cold = entry.cold()?;
    entry.read_cold(&mut cold)?;
    Some(((name, entry), heap.len() - cold.rest().len()))
}

impl<'a> Entry<'a> {
    #[inline]
    pub(crate) fn kind(&self) -> Option<Kind> {
        Some(match self.value & KIND_MASK {
            0 => Kind::Platform,
            1 => Kind::Custom,
            2 => Kind::Tombstone,
            3 => Kind::Grave,
            4 => Kind::PlatformUnbound,
            5 => Kind::CustomUnbound,
            _ => return None,
        })
    }

    /// The class of a host name that is mapped to a record, and the record. Apart from [`Entry::kind`], since
    /// three in ten host names are custom: a branch between the classes would be mispredicted as often.
    #[inline]
    pub(crate) fn service(&self) -> Option<(Class, ServiceRecord<'a>)> {
        let class = if self.value & 1 == 0 { Class::Platform } else { Class::Custom };
        let is_bound = self.value & KIND_MASK < 2;
        is_bound.then_some((class, ServiceRecord::at(self.heap, (self.value & !KIND_MASK) as usize)))
    }

    /// The reason of a tombstone, or the id of a service without record.
    pub(crate) fn text(&self) -> Option<&'a str> {
        self.read_cold(&mut self.cold()?)?.1
    }

    /// The whole change.
    pub(crate) fn change(&self, name: &str) -> Option<Change> {
        let service = self.service().map(|(_, record)| record.id());
        let (version, text) = self.read_cold(&mut self.cold()?)?;
        let mapped =
            |class| Some(HostValue::Mapped { service: ServiceId::trusted(service.or(text)?), class });
        let value = match self.kind()? {
            Kind::Platform | Kind::PlatformUnbound => Some(mapped(Class::Platform)?),
            Kind::Custom | Kind::CustomUnbound => Some(mapped(Class::Custom)?),
            Kind::Tombstone => Some(HostValue::Tombstone { reason: Reason::trusted(text?) }),
            Kind::Grave => None,
        };
        Some(Change { version, record: Record::Host(HostName::trusted(name), value) })
    }

    fn cold(&self) -> Option<Cursor<'a>> {
        self.heap.get(self.cold_at..).map(Cursor::new)
    }

    fn read_cold(&self, cold: &mut Cursor<'a>) -> Option<(Version, Option<&'a str>)> {
        let version = cold.version()?;
        let has_text = matches!(self.kind()?, Kind::Tombstone | Kind::PlatformUnbound | Kind::CustomUnbound);
        Some((version, if has_text { Some(cold.text()?) } else { None }))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a test that cannot set up must fail loudly
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::{record::Key, snapshot::services, tests::world};

    fn host_changes() -> impl Strategy<Value = Change> {
        world::changes().prop_filter("a host's", |change| matches!(change.record, Record::Host(..)))
    }

    /// A heap with the empty records of all services, and where each is.
    fn records() -> (Vec<u8>, BTreeMap<ServiceId, u32>) {
        let (mut heap, mut places) = (Vec::new(), BTreeMap::new());
        for key in world::all_keys() {
            if let Key::Service(id) = key {
                let mut record = Vec::new();
                services::put_record(&mut record, id.as_str(), &[], &mut |_| 0);
                let hosts_at = record.len();
                services::end_record(&mut record, hosts_at);
                places.insert(id, u32::try_from(heap.len()).unwrap());
                heap.extend_from_slice(&record);
            }
        }
        (heap, places)
    }

    proptest! {
        #[test]
        fn entries_are_walked_and_found(
            changes in proptest::collection::vec((host_changes(), any::<bool>()), 0..9),
        ) {
            let (mut heap, places) = records();
            let mut starts = vec![heap.len()];
            for (change, is_bound) in &changes {
                let Record::Host(name, value) = &change.record else { unreachable!() };
                let place = match value {
                    Some(HostValue::Mapped { service, .. }) if *is_bound => Some(places[service]),
                    _ => None,
                };
                put_entry(&mut heap, name, change.version, value.as_ref(), place);
                starts.push(heap.len());
            }
            let walked: Vec<_> = entries(&heap, starts[0]..heap.len()).map(Option::unwrap).collect();
            prop_assert_eq!(walked.len(), changes.len());
            for (((name, entry), (change, _)), start) in walked.iter().zip(&changes).zip(starts) {
                let read = entry.change(name);
                prop_assert_eq!(read.as_ref(), Some(change));
                let longer = format!("{name}x");
                prop_assert!(entry_of(&heap, start, name.as_bytes()).is_some());
                prop_assert!(entry_of(&heap, start, longer.as_bytes()).is_none());
                prop_assert!(entry_of(&heap, start, &name.as_bytes()[1..]).is_none());
            }
        }

        #[test]
        fn any_octets_are_walked_without_panic(run in proptest::collection::vec(any::<u8>(), 0..300)) {
            let walked: Vec<_> = entries(&run, 0..run.len()).collect();
            prop_assert!(walked.len() <= run.len());
            let before_the_last = walked.iter().rev().skip(1);
            prop_assert!(before_the_last.clone().all(Option::is_some), "it ends where octets make no sense");
        }

        #[test]
        fn texts_are_the_same_or_not(a in "[a-c]{0,40}", b in "[a-c]{0,40}", at: prop::sample::Index) {
            prop_assert!(is_same(a.as_bytes(), a.as_bytes()));
            let shorter = a.len().min(b.len());
            let (a, b) = (&a.as_bytes()[..shorter], &b.as_bytes()[..shorter]);
            prop_assert_eq!(is_same(a, b), a == b);
            if !a.is_empty() {
                let mut changed = a.to_vec();
                changed[at.index(a.len())] ^= 1;
                prop_assert!(!is_same(a, &changed));
            }
        }
    }
}
