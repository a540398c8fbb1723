//! The base of the route table: one immutable file, mapped and shared by all cores (S3).
//!
//! Build with [`fn@build`], open with [`Snapshot::open`]. A host look-up hashes the name, reads one line of
//! the index, which is kept in huge pages, and there finds where the name's entry is: right behind its
//! service's record, so that name, id and endpoints come with the few lines that are then fetched together.
//! The code around the two readings is written so that few operations, and no unforeseeable branch, wait for
//! them: then the processor runs ahead, and look-ups overlap.
//!
//! Rejected: rkyv's own maps and vectors of records (twice the size, a pointer to follow for each name, and a
//! check of every element at start); host names in the buckets of a hash table of their own (a small
//! directory instead of the index, but another miss for the service's record: 1.45 of a pointer chase to its
//! id, 2.3 to an endpoint).

mod body;
mod build;
mod directory;
mod error;
mod file;
mod format;
mod hosts;
mod huge;
mod index;
mod services;
mod stage;
mod writer;

use std::{
    ops::Range,
    path::{Path, PathBuf},
};

pub(crate) use self::build::build_without;
#[cfg(test)]
pub(crate) use self::file::reseal;
use self::{
    body::Tally,
    directory::Directory,
    file::Mapped,
    format::{ArchivedBody, ArchivedColumn},
    huge::HugeCopy,
};
pub use self::{
    build::{BuildOptions, Progress, Stats, Step, build},
    error::{BuildError, OpenError},
    format::{Counts, Header},
};
pub(crate) use self::{
    hosts::{Entry as HostEntry, Kind},
    services::{Held, PackedSet, ServiceRecord},
};
use crate::{
    hash::Hasher,
    id::Region,
    prefetch::prefetch,
    record::{Change, Key, Record},
};

/// Host names stand behind their service's record: what a look-up reads begins so far before the name's
/// entry, in most services, and takes so many lines.
const OCTETS_BEFORE: usize = 176;
const LINES: usize = 4;

/// A verified snapshot, mapped read-only. Share it by `Arc`.
pub struct Snapshot {
    path: PathBuf,
    mapped: Mapped,
    hasher: Hasher,
    /// Where the heap stands in the file.
    heap: Range<usize>,
    directory: HugeCopy,
    index: HugeCopy,
    regions: Vec<Region>,
}

impl Snapshot {
    /// Maps and verifies the file: header, every block's checksum on all cores, the root's structure.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let mapped = Mapped::open(path)?;
        let body = mapped.body();
        let root = rkyv::access::<ArchivedBody, rkyv::rancor::Error>(body)
            .map_err(|error| OpenError::Structure { path: path.to_owned(), what: error.to_string() })?;
        let place = |column: &ArchivedColumn| {
            column.place(body.len()).ok_or_else(|| OpenError::Structure {
                path: path.to_owned(),
                what: "a column lies outside the body".to_owned(),
            })
        };
        let copy = |column: &ArchivedColumn| {
            HugeCopy::of(mapped.octets(&place(column)?)).map_err(|source| OpenError::Io {
                action: "copy the index of",
                path: path.to_owned(),
                source,
            })
        };
        Ok(Self {
            path: path.to_owned(),
            hasher: Hasher::new(mapped.header.seed),
            heap: place(&root.heap)?,
            directory: copy(&root.directory)?,
            index: copy(&root.index)?,
            regions: root.regions.iter().map(|name| Region::trusted(name)).collect(),
            mapped,
        })
    }

    /// Counts, digest and offset vector.
    pub fn header(&self) -> &Header {
        &self.mapped.header
    }

    /// Where the file was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Octets of the file.
    pub fn octets(&self) -> u64 {
        self.mapped.header.file_octets()
    }

    /// Keeps the whole file in memory for as long as the snapshot lives, so that no look-up waits for the disk.
    ///
    /// # Errors
    /// More than the process may lock (RLIMIT_MEMLOCK).
    pub fn keep_in_memory(&self) -> std::io::Result<()> {
        self.mapped.lock()
    }

    /// All stored values, graves included, in no particular order. Allocates. An error says which octets make
    /// no sense.
    pub fn changes(&self) -> impl Iterator<Item = Result<Change, String>> {
        let buckets = self.directory().buckets().unwrap_or_default();
        let others = hosts::entries(self.heap(), buckets.end..self.heap().len());
        let of_services = services::records(self.heap(), buckets).flat_map(|record| self.changes_of(record));
        of_services.chain(others.map(host_change))
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

    /// Whether a value of `key` is here, a grave too.
    pub(crate) fn has(&self, key: &Key) -> bool {
        match key {
            Key::Host(name) => self.host(name.as_str().as_bytes()).is_some(),
            Key::Service(_) | Key::Endpoints(..) => self.change(key).is_some(),
        }
    }

    #[inline]
    pub(crate) fn host(&self, name: &[u8]) -> Option<HostEntry<'_>> {
        self.host_under(self.hasher.hash(name), name)
    }

    /// `hash` is the name's, as [`Snapshot::hash`] has it.
    #[inline]
    pub(crate) fn host_under(&self, hash: u64, name: &[u8]) -> Option<HostEntry<'_>> {
        if name.is_empty() {
            return None; // an empty slot of the index leads to one
        }
        index::find(self.index.octets(), hash, |at| {
            self.fetch_entry_at(at);
            hosts::entry_of(self.heap(), at, name)
        })
    }

    /// Asks for the line of the index that a look-up of `name` reads first; returns the name's hash.
    #[inline]
    pub(crate) fn fetch_line(&self, name: &[u8]) -> u64 {
        let hash = self.hasher.hash(name);
        index::fetch_line(self.index.octets(), hash);
        hash
    }

    /// Asks for the first entry that the line of `hash` leads to, which is nearly always the one wanted.
    #[inline]
    pub(crate) fn fetch_entry(&self, hash: u64) {
        let _ = index::find(self.index.octets(), hash, |at| {
            self.fetch_entry_at(at);
            Some(())
        });
    }

    #[inline]
    fn fetch_entry_at(&self, at: usize) {
        prefetch(self.heap(), at.wrapping_sub(OCTETS_BEFORE), LINES);
    }

    pub(crate) fn service(&self, id: &str) -> Option<ServiceRecord<'_>> {
        self.service_under(self.hasher.hash(id.as_bytes()), id)
    }

    /// `hash` is the id's, as [`Snapshot::hash`] has it.
    pub(crate) fn service_under(&self, hash: u64, id: &str) -> Option<ServiceRecord<'_>> {
        let bucket = self.directory().bucket(hash)?;
        services::records(self.heap(), bucket).map_while(|record| record).find(|record| record.id() == id)
    }

    pub(crate) fn seed(&self) -> u64 {
        self.mapped.header.seed
    }

    /// The hash of a host name or service id, as the file has it.
    pub(crate) fn hash(&self, name: &[u8]) -> u64 {
        self.hasher.hash(name)
    }

    /// The number that the records have for a region.
    pub(crate) fn region(&self, name: &Region) -> Option<u64> {
        self.regions.iter().position(|known| known == name).map(|number| number as u64)
    }

    #[inline]
    fn heap(&self) -> &[u8] {
        self.mapped.octets(&self.heap)
    }

    fn directory(&self) -> Directory<'_> {
        Directory::new(self.directory.octets())
    }

    /// Of a service, and of the host names that are mapped to it.
    fn changes_of(&self, record: Option<ServiceRecord<'_>>) -> Vec<Result<Change, String>> {
        let parts = record.and_then(|record| Some((record.changes(&self.regions)?, record.hosts()?)));
        let Some((changes, hosts)) = parts else {
            return vec![Err("a service's record does not parse".to_owned())];
        };
        changes.into_iter().map(Ok).chain(hosts::entries(self.heap(), hosts).map(host_change)).collect()
    }
}

fn host_change(entry: Option<(&str, HostEntry<'_>)>) -> Result<Change, String> {
    let (name, entry) = entry.ok_or("a host's entry does not parse")?;
    entry.change(name).ok_or_else(|| format!("the entry of {name} does not parse"))
}

/// Opens the file, reads every record in it, and compares counts and digest with the header.
pub fn verify(path: &Path) -> Result<Header, OpenError> {
    let snapshot = Snapshot::open(path)?;
    let structure = |what| OpenError::Structure { path: path.to_owned(), what };
    let mut tally = Tally::default();
    for change in snapshot.changes() {
        let change = change.map_err(structure)?;
        tally.count(&change);
        let is_found = match &change.record {
            Record::Host(name, _) => snapshot.host(name.as_str().as_bytes()).is_some(),
            Record::Service(id, _) | Record::Endpoints(id, _, _) => snapshot.service(id.as_str()).is_some(),
        };
        if !is_found {
            return Err(structure(format!("{} is not found where it is looked up", change.record.key())));
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
