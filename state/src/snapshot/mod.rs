//! The base of the route table: one immutable file, mapped and shared by all cores (S3).
//!
//! Build with [`build`], open with [`Snapshot::open`]. A host look-up hashes the name, reads where its bucket starts (4
//! octets of a directory that mostly stays in cache) and finds the name, with its service's offset beside it, in the bucket's
//! few lines, which are fetched together. The service's record is read when it is asked for its id or endpoints.
//!
//! Rejected: rkyv's own maps and vectors of records (twice the size, a pointer to follow for each name, and a check of every
//! element at start); hosts beside their service's record (one line fewer for endpoints, but an index of 24 MB that does not
//! stay in any cache).

mod body;
mod build;
mod error;
mod file;
mod format;
mod hosts;
mod section;
mod services;
mod stage;
mod writer;

use std::path::Path;

#[cfg(test)]
pub(crate) use self::file::reseal;
use self::{
    body::Tally,
    file::Mapped,
    format::ArchivedBody,
    section::{Columns, HugeCopy, Section},
};
pub use self::{
    build::{BuildOptions, Progress, Stats, Step, build},
    error::{BuildError, OpenError},
    format::{Counts, Header},
};
pub(crate) use self::{
    hosts::Kind,
    services::{PackedSet, ServiceRecord},
};
use crate::{
    hash::Hasher,
    id::Region,
    prefetch::prefetch,
    record::{Change, Class, Key, Record},
};

/// Lines that most buckets of host names fit in.
const BUCKET_LINES: usize = 4;

/// A verified snapshot, mapped read-only. Share it by `Arc`.
pub struct Snapshot {
    mapped: Mapped,
    hasher: Hasher,
    services: Columns,
    hosts: Columns,
    regions: Vec<Region>,
}

/// A host name's value in the base.
pub(crate) struct HostEntry<'a> {
    snapshot: &'a Snapshot,
    found: hosts::Found<'a>,
}

impl Snapshot {
    /// Maps and verifies the file: header, every block's checksum on all cores, the root's structure.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let mapped = Mapped::open(path)?;
        let body = mapped.body();
        let root = rkyv::access::<ArchivedBody, rkyv::rancor::Error>(body)
            .map_err(|error| OpenError::Structure { path: path.to_owned(), what: error.to_string() })?;
        let columns = |section: &format::ArchivedSection| {
            let place = |column: &format::ArchivedColumn| {
                column.place(body.len()).ok_or_else(|| OpenError::Structure {
                    path: path.to_owned(),
                    what: "a column lies outside the body".to_owned(),
                })
            };
            let directory = mapped.octets(&place(&section.directory)?);
            let directory = HugeCopy::of(directory).map_err(|source| OpenError::Io {
                action: "copy the directory of",
                path: path.to_owned(),
                source,
            })?;
            Ok(Columns { heap: place(&section.heap)?, directory })
        };
        let regions = root.regions.iter().map(|name| Region::trusted(name)).collect();
        let (services, hosts) = (columns(&root.services)?, columns(&root.hosts)?);
        let hasher = Hasher::new(mapped.header.seed);
        Ok(Self { services, hosts, regions, hasher, mapped })
    }

    /// Counts, digest and offset vector.
    pub fn header(&self) -> &Header {
        &self.mapped.header
    }

    /// Octets of the file.
    pub fn octets(&self) -> u64 {
        self.mapped.header.file_octets()
    }

    /// All stored values, graves included, in no particular order. Allocates. An error says which octets make no sense.
    pub fn changes(&self) -> impl Iterator<Item = Result<Change, String>> {
        let services = self.services().buckets().flat_map(|bucket| match bucket {
            Some(bucket) => {
                services::records(bucket).flat_map(|record| self.service_changes(record)).collect()
            }
            None => vec![Err("the services' directory misplaces a bucket".to_owned())],
        });
        let hosts = self.hosts().buckets().flat_map(|bucket| match bucket {
            Some(bucket) => hosts::entries(bucket.octets).map(|entry| self.host_change(entry)).collect(),
            None => vec![Err("the hosts' directory misplaces a bucket".to_owned())],
        });
        services.chain(hosts)
    }

    /// The stored value of `key`, graves included. Allocates.
    pub fn change(&self, key: &Key) -> Option<Change> {
        match key {
            Key::Host(name) => self.host(name.as_str().as_bytes())?.change(name.as_str()),
            Key::Service(id) | Key::Endpoints(id, _) => {
                let changes = self.service(id.as_str())?.changes(&self.regions)?;
                changes.into_iter().find(|change| change.record.key() == *key)
            }
        }
    }

    #[inline]
    pub(crate) fn host(&self, name: &[u8]) -> Option<HostEntry<'_>> {
        let hash = self.hasher.hash(name);
        let hosts = self.hosts();
        let bucket = hosts.from(hosts.start(hash)?)?;
        prefetch(bucket, BUCKET_LINES);
        let found = hosts::find(bucket, hash, name)?;
        Some(HostEntry { snapshot: self, found })
    }

    pub(crate) fn service(&self, id: &str) -> Option<ServiceRecord<'_>> {
        let hash = self.hasher.hash(id.as_bytes());
        services::find(self.services(), hash, id).map(|(_, record)| record)
    }

    /// The number that the records have for a region.
    pub(crate) fn region(&self, name: &Region) -> Option<u64> {
        self.regions.iter().position(|known| known == name).map(|number| number as u64)
    }

    #[inline]
    fn services(&self) -> Section<'_> {
        self.section(&self.services)
    }

    #[inline]
    fn hosts(&self) -> Section<'_> {
        self.section(&self.hosts)
    }

    #[inline]
    fn section<'a>(&'a self, columns: &'a Columns) -> Section<'a> {
        Section::new(self.mapped.octets(&columns.heap), columns.directory.octets())
    }

    fn service_changes(&self, record: Option<(usize, ServiceRecord<'_>)>) -> Vec<Result<Change, String>> {
        let Some((at, record)) = record else {
            return vec![Err("a service's record does not parse".to_owned())];
        };
        match record.changes(&self.regions) {
            Some(changes) => changes.into_iter().map(Ok).collect(),
            None => vec![Err(format!("the service's record at {at} does not parse"))],
        }
    }

    fn host_change(&self, entry: Option<(&str, hosts::Found<'_>)>) -> Result<Change, String> {
        let (name, found) = entry.ok_or("a host's bucket does not parse")?;
        let change = HostEntry { snapshot: self, found }.change(name);
        change.ok_or_else(|| format!("the entry of {name} does not parse"))
    }
}

impl<'a> HostEntry<'a> {
    #[inline]
    pub(crate) fn kind(&self) -> Option<Kind> {
        Kind::of(self.found.value)
    }

    /// The class of a host that is mapped to a record. Apart from [`HostEntry::kind`], since three in ten host names are
    /// custom: a branch between the classes would be mispredicted as often, and end the overlap of look-ups.
    #[inline]
    pub(crate) fn bound(&self) -> Option<Class> {
        Kind::bound(self.found.value)
    }

    /// The record of the service that the host is mapped to.
    #[inline]
    pub(crate) fn service(&self) -> Option<ServiceRecord<'a>> {
        let at = (self.found.value & !hosts::KIND_MASK) as usize;
        let heap = self.snapshot.mapped.octets(&self.snapshot.services.heap);
        heap.get(at..).map(ServiceRecord::at)
    }

    /// The reason of a tombstone, or the id of a service without record.
    pub(crate) fn text(&self) -> Option<&'a str> {
        self.found.text()
    }

    fn change(&self, name: &str) -> Option<Change> {
        let bound = matches!(self.kind()?, Kind::Platform | Kind::Custom);
        let service = if bound { Some(self.service()?.id()) } else { None };
        self.found.change(name, service)
    }
}

/// Opens the file, reads every record in it, and compares counts and digest with the header.
pub fn verify(path: &Path) -> Result<Header, OpenError> {
    let snapshot = Snapshot::open(path)?;
    let structure = |what| OpenError::Structure { path: path.to_owned(), what };
    let mut tally = Tally::default();
    for change in snapshot.changes() {
        let change = change.map_err(structure)?;
        tally.count(std::slice::from_ref(&change));
        if let Record::Host(name, _) = &change.record
            && snapshot.host(name.as_str().as_bytes()).is_none()
        {
            return Err(structure(format!("{name} is not found where it is looked up")));
        }
    }
    let header = snapshot.header();
    if (tally.counts, tally.digest) == (header.counts, header.digest) {
        Ok(header.clone())
    } else {
        Err(structure("its records are not those that its header counts".to_owned()))
    }
}

/// Reads the header alone; nothing else is verified.
pub fn inspect(path: &Path) -> Result<Header, OpenError> {
    file::inspect(path)
}
