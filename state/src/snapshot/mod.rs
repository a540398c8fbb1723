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
mod columns;
mod diff;
mod directory;
mod documents;
mod error;
mod export;
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

#[cfg(any(test, feature = "model"))]
pub(crate) use self::format::{BLOCK_OCTETS, CHECKSUMS_CRC_AT, HEADER_OCTETS};
use self::{body::Tally, columns::Columns, directory::Directory, file::Mapped, huge::HugeCopy};
pub use self::{
    build::{BuildOptions, Progress, Stats, Step, build},
    diff::{Difference, diff},
    error::{BuildError, OpenError},
    export::{ExportError, export},
    format::{Counts, Header, Role},
};
pub(crate) use self::{
    build::{Plan, build_as},
    directory::bucket_of,
    hosts::{Entry as HostEntry, Kind},
    services::{Held, PackedSet, ServiceRecord},
};
use crate::{
    codec::{self, StoredDocument},
    filter::{Filter, Probe},
    hash::Hasher,
    id::Region,
    prefetch::prefetch,
    record::{Change, Document, DocumentKey, Key, Record},
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
    documents: Range<usize>,
    directory: HugeCopy,
    documents_directory: HugeCopy,
    index: HugeCopy,
    filter: Filter,
    regions: Vec<Region>,
}

impl Snapshot {
    /// Maps and verifies the file: header, every block's checksum on all cores, the root's structure.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let snapshot = Self::open_any(path)?;
        match snapshot.header().role {
            Role::Base => Ok(snapshot),
            Role::Level { .. } => Err(OpenError::Level { path: path.to_owned() }),
        }
    }

    /// The same of a level, which is of use only in a table with what it was made over.
    pub fn open_level(path: &Path) -> Result<Self, OpenError> {
        let snapshot = Self::open_any(path)?;
        match snapshot.header().role {
            Role::Base => Err(OpenError::Base { path: path.to_owned() }),
            Role::Level { .. } => Ok(snapshot),
        }
    }

    /// Base or level, for who only looks into it.
    pub fn open_any(path: &Path) -> Result<Self, OpenError> {
        let mapped = Mapped::open(path)?;
        let structure = |what| OpenError::Structure { path: path.to_owned(), what };
        let columns = Columns::of(&mapped.header, mapped.body()).map_err(structure)?;
        let copy = |column: &Range<usize>| {
            HugeCopy::of(mapped.octets(column)).map_err(|source| OpenError::Io {
                action: "copy the index of",
                path: path.to_owned(),
                source,
            })
        };
        Ok(Self {
            path: path.to_owned(),
            hasher: Hasher::new(mapped.header.seed),
            directory: copy(&columns.directory)?,
            documents_directory: copy(&columns.documents_directory)?,
            index: copy(&columns.index)?,
            filter: Filter::read(mapped.octets(&columns.filter)),
            heap: columns.heap,
            documents: columns.documents,
            regions: columns.regions,
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
        let documents = Directory::new(self.documents_directory.octets()).buckets().unwrap_or_default();
        let documents = documents::documents(self.documents(), documents).map(document_change);
        of_services.chain(others.map(host_change)).chain(documents)
    }

    /// The stored value of `key`, graves included. Allocates.
    pub fn change(&self, key: &Key) -> Option<Change> {
        match key {
            Key::Host(name) => self.host(name.as_str().as_bytes())?.change(name.as_str()),
            Key::Service(id) | Key::Endpoints(id, _) => {
                let changes = self.service(id.as_str())?.changes(&self.regions)?;
                changes.into_iter().find(|change| change.record.is_about(key))
            }
            Key::Document(document) => {
                let (version, value) = match self.document(self.hash(document.name().as_bytes()), document)? {
                    StoredDocument { version, text: None, .. } => (version, None),
                    StoredDocument { kind, version, text: Some(text) } => {
                        (version, Some(Document::trusted(kind, text)))
                    }
                };
                Some(Change { version, record: Record::Document(document.clone(), value) })
            }
        }
    }

    /// Whether a value of `key` is here, a grave too.
    pub(crate) fn has(&self, key: &Key) -> bool {
        match key {
            Key::Host(name) => self.host(name.as_str().as_bytes()).is_some(),
            Key::Service(_) | Key::Endpoints(..) | Key::Document(_) => self.change(key).is_some(),
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
        self.fetch_line_under(hash);
        hash
    }

    #[inline]
    pub(crate) fn fetch_line_under(&self, hash: u64) {
        index::fetch_line(self.index.octets(), hash);
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
        prefetch(self.heap(), bucket.start, LINES);
        services::records(self.heap(), bucket).map_while(|record| record).find(|record| record.id() == id)
    }

    /// `hash` is the name's. A document that is here may be a grave.
    pub(crate) fn document(&self, hash: u64, key: &DocumentKey) -> Option<StoredDocument<'_>> {
        let bucket = Directory::new(self.documents_directory.octets()).bucket(hash)?;
        let stored = documents::documents(self.documents(), bucket).map_while(|octets| octets);
        stored.filter_map(codec::decode_document).find_map(|(name, document)| {
            (name == key.name() && document.kind.subject() == Some(key.subject())).then_some(document)
        })
    }

    /// Whether a value of a name of that hash may be here.
    #[inline]
    pub(crate) fn may_have(&self, probe: Probe) -> bool {
        self.filter.may_have(probe)
    }

    pub(crate) fn filter(&self) -> &Filter {
        &self.filter
    }

    pub(crate) fn seed(&self) -> u64 {
        self.mapped.header.seed
    }

    /// The hash of a host name or service id, as the file has it.
    #[inline]
    pub(crate) fn hash(&self, name: &[u8]) -> u64 {
        self.hasher.hash(name)
    }

    /// The number that the records have for a region.
    pub(crate) fn region(&self, name: &Region) -> Option<u64> {
        self.regions.iter().position(|known| known == name).map(|number| number as u64)
    }

    /// The file's parts by name.
    #[cfg(test)]
    pub(crate) fn sections(&self) -> Vec<(&'static str, Range<usize>)> {
        let columns = Columns::of(&self.mapped.header, self.mapped.body()).unwrap_or_default();
        let body = format::HEADER_OCTETS + self.mapped.body().len();
        let root = columns.filter.end.max(columns.index.end)..body;
        vec![
            ("header", 0..format::HEADER_OCTETS),
            ("heap", columns.heap),
            ("documents", columns.documents),
            ("directory", columns.directory),
            ("documents' directory", columns.documents_directory),
            ("index", columns.index),
            ("filter", columns.filter),
            ("regions and root", root),
            ("checksums", body..usize::try_from(self.octets()).unwrap_or(usize::MAX)),
        ]
    }

    #[inline]
    fn heap(&self) -> &[u8] {
        self.mapped.octets(&self.heap)
    }

    fn documents(&self) -> &[u8] {
        self.mapped.octets(&self.documents)
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

fn document_change(octets: Option<&[u8]>) -> Result<Change, String> {
    octets.and_then(codec::decode).ok_or_else(|| "a document does not parse".to_owned())
}

/// Opens the file, reads every record in it, and compares counts and digest with the header.
pub fn verify(path: &Path) -> Result<Header, OpenError> {
    let snapshot = Snapshot::open_any(path)?;
    let structure = |what| OpenError::Structure { path: path.to_owned(), what };
    let mut tally = Tally::default();
    for change in snapshot.changes() {
        let change = change.map_err(structure)?;
        tally.count(&change);
        // The digest knows nothing of graves: what is found must be this very value.
        let (key, probe) = (change.record.key(), Probe::new(snapshot.hash(change.record.name().as_bytes())));
        if snapshot.change(&key).as_ref() != Some(&change) || !snapshot.may_have(probe) {
            return Err(structure(format!("{key} is not found where it is looked up")));
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
