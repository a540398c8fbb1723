//! Writes the body: services, then hosts, which point at them, then the root.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, BufWriter},
    path::Path,
};

use rkyv::rancor::BoxedError;

use super::{
    build::{PROGRESS_ITEMS, Progress, Step},
    error::BuildError,
    format::{Body, Column, Counts, Header, Section as BodySection},
    hosts::{self, Entry, Kind},
    section::{Section, bucket_of},
    services,
    stage::Stage,
    writer::BlockWriter,
};
use crate::{
    digest::Digest,
    hash::hash64,
    id::Region,
    limits::SNAPSHOT_REGIONS_MAX,
    record::{Change, Class, HostValue, Record},
};

/// More names in a bucket are more octets to fetch and to look through; fewer are a larger directory to keep in cache.
const NAMES_PER_BUCKET: usize = 6;

pub(crate) fn bucket_count(stage: &Stage) -> usize {
    stage.groups().count().div_ceil(NAMES_PER_BUCKET).max(1)
}

pub(crate) struct BodyBuilder<'a> {
    seed: u64,
    out: BlockWriter<BufWriter<&'a File>>,
    progress: &'a mut dyn FnMut(Progress),
    regions: Regions,
    tally: Tally,
}

impl<'a> BodyBuilder<'a> {
    pub(crate) fn new(file: &'a File, path: &Path, seed: u64, progress: &'a mut dyn FnMut(Progress)) -> Self {
        let out = BlockWriter::new(BufWriter::new(file), path);
        Self { seed, out, progress, regions: Regions::default(), tally: Tally::default() }
    }

    /// All of the body and its checksums. The header that comes back lacks the offset vector.
    pub(crate) fn write(mut self, services: &Stage, hosts: &Stage) -> Result<Header, BuildError> {
        let (heap, directory) = self.pack_services(services)?;
        self.out.put(&heap)?;
        let services = self.put_directory(self.out.column(heap.len()), &directory)?;
        let hosts = self.put_hosts(hosts, Section::new(&heap, &directory))?;
        let body = Body { services, hosts, regions: self.regions.names()? };
        let path = self.out.path().to_owned();
        let (body_octets, checksums_crc) = rkyv::api::high::to_bytes_in::<_, BoxedError>(&body, self.out)
            .map_err(|error| BuildError::Io { action: "write", path, source: io::Error::other(error) })?
            .finish()?;
        let Tally { counts, digest, .. } = self.tally;
        Ok(Header { counts, digest, offsets: Vec::new(), seed: self.seed, body_octets, checksums_crc })
    }

    /// In memory, since the hosts' values are looked up in it.
    fn pack_services(&mut self, stage: &Stage) -> Result<(Vec<u8>, Vec<u8>), BuildError> {
        let mut heap = Vec::new();
        let mut directory = Directory::new("services", bucket_count(stage));
        let mut newest = Vec::new();
        for (done, group) in (1..).zip(stage.groups()) {
            stage.newest(group, &mut newest);
            let Some(first) = group.first() else { continue };
            directory.start(bucket_of(first.hash, directory.buckets), heap.len())?;
            for changes in newest.chunk_by(|a, b| service_id(a) == service_id(b)) {
                self.tally.count(changes);
                let number = &mut |region: &Region| self.regions.number(region);
                services::put_record(&mut heap, changes.first().map_or("", service_id), changes, number);
            }
            report(self.progress, Step::Services, done);
        }
        let directory = directory.end(heap.len())?;
        Ok((heap, directory))
    }

    fn put_hosts(&mut self, stage: &Stage, services: Section<'_>) -> Result<BodySection, BuildError> {
        let start = self.out.position();
        let mut bucket = HostBucket::new(bucket_count(stage));
        let mut newest = Vec::new();
        for (done, group) in (1..).zip(stage.groups()) {
            stage.newest(group, &mut newest);
            let Some(first) = group.first() else { continue };
            if bucket.is_left_by(first.hash) {
                self.out.put(bucket.pack())?;
            }
            bucket.open(first.hash, self.out.position() - start)?;
            self.tally.count(&newest);
            bucket
                .entries
                .extend(newest.drain(..).filter_map(|change| entry(first.hash, change, self.seed, services)));
            report(self.progress, Step::Hosts, done);
        }
        self.out.put(bucket.pack())?;
        let directory = bucket.directory.end(self.out.position() - start)?;
        let heap = self.out.column(self.out.position() - start);
        self.put_directory(heap, &directory)
    }

    fn put_directory(&mut self, heap: Column, directory: &[u8]) -> Result<BodySection, BuildError> {
        self.out.put(directory)?;
        Ok(BodySection { heap, directory: self.out.column(directory.len()) })
    }
}

fn report(progress: &mut dyn FnMut(Progress), step: Step, done: u64) {
    if done.is_multiple_of(PROGRESS_ITEMS) {
        progress(Progress { step, done });
    }
}

fn service_id(change: &Change) -> &str {
    match &change.record {
        Record::Service(id, _) | Record::Endpoints(id, _, _) => id.as_str(),
        Record::Host(..) => "",
    }
}

/// Resolves a host's service to the offset of its record. `None` only for a change that is no host's.
fn entry(hash: u64, change: Change, seed: u64, services: Section<'_>) -> Option<Entry> {
    let Record::Host(name, value) = change.record else { return None };
    let (kind, offset, text) = match value {
        None => (Kind::Grave, 0, None),
        Some(HostValue::Tombstone { reason }) => (Kind::Tombstone, 0, Some(reason.to_string())),
        Some(HostValue::Mapped { service, class }) => {
            let found = services::find(services, hash64(seed, service.as_str().as_bytes()), service.as_str());
            match (found.and_then(|(at, _)| u32::try_from(at).ok()), class) {
                (Some(at), Class::Platform) => (Kind::Platform, at, None),
                (Some(at), Class::Custom) => (Kind::Custom, at, None),
                (None, Class::Platform) => (Kind::PlatformUnbound, 0, Some(service.to_string())),
                (None, Class::Custom) => (Kind::CustomUnbound, 0, Some(service.to_string())),
            }
        }
    };
    Some(Entry { hash, name, version: change.version, value: offset | kind as u32, text })
}

/// The bucket that is being filled.
struct HostBucket {
    directory: Directory,
    number: usize,
    entries: Vec<Entry>,
    packed: Vec<u8>,
}

impl HostBucket {
    fn new(buckets: usize) -> Self {
        Self {
            directory: Directory::new("host names", buckets),
            number: 0,
            entries: Vec::new(),
            packed: Vec::new(),
        }
    }

    fn is_left_by(&self, hash: u64) -> bool {
        bucket_of(hash, self.directory.buckets) != self.number
    }

    fn open(&mut self, hash: u64, at: usize) -> Result<(), BuildError> {
        self.number = bucket_of(hash, self.directory.buckets);
        if self.entries.is_empty() { self.directory.start(self.number, at) } else { Ok(()) }
    }

    /// Its octets; it is empty then.
    fn pack(&mut self) -> &[u8] {
        self.packed.clear();
        if !self.entries.is_empty() {
            hosts::put_bucket(&mut self.packed, &self.entries);
            self.entries.clear();
        }
        &self.packed
    }
}

/// Where each bucket starts, as the file has it.
struct Directory {
    section: &'static str,
    buckets: usize,
    starts: Vec<u8>,
}

impl Directory {
    fn new(section: &'static str, buckets: usize) -> Self {
        Self { section, buckets, starts: Vec::with_capacity((buckets + 1) * size_of::<u32>()) }
    }

    /// The heap is at `at` when `bucket`, and all before it that are still missing, start.
    fn start(&mut self, bucket: usize, at: usize) -> Result<(), BuildError> {
        let at = u32::try_from(at).map_err(|_| BuildError::TooLarge { section: self.section })?;
        while self.starts.len() <= bucket * size_of::<u32>() {
            self.starts.extend_from_slice(&at.to_le_bytes());
        }
        Ok(())
    }

    fn end(mut self, at: usize) -> Result<Vec<u8>, BuildError> {
        self.start(self.buckets, at)?;
        Ok(self.starts)
    }
}

/// Numbers for regions, as they are met.
#[derive(Default)]
struct Regions {
    numbers: BTreeMap<Region, u64>,
    names: Vec<String>,
}

impl Regions {
    fn number(&mut self, region: &Region) -> u64 {
        if let Some(&number) = self.numbers.get(region) {
            return number;
        }
        let number = self.names.len() as u64;
        self.names.push(region.to_string());
        self.numbers.insert(region.clone(), number);
        number
    }

    fn names(&mut self) -> Result<Vec<String>, BuildError> {
        match self.names.len() {
            0..=SNAPSHOT_REGIONS_MAX => Ok(std::mem::take(&mut self.names)),
            found => Err(BuildError::Regions { found, max: SNAPSHOT_REGIONS_MAX }),
        }
    }
}

/// What the header says of the body.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) counts: Counts,
    pub(crate) digest: Digest,
    scratch: Vec<u8>,
}

impl Tally {
    pub(crate) fn count(&mut self, changes: &[Change]) {
        for change in changes {
            self.digest.add(change, &mut self.scratch);
            *match &change.record {
                record if record.is_grave() => &mut self.counts.graves,
                Record::Host(..) => &mut self.counts.hosts,
                Record::Service(..) => &mut self.counts.services,
                Record::Endpoints(..) => &mut self.counts.endpoint_sets,
            } += 1;
        }
    }
}
