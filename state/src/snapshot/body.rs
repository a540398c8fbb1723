//! Writes the body front to back: services' records with their host names behind them, host names without a
//! record, documents, directories, index, filter, root.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, BufWriter},
    path::Path,
};

use rkyv::rancor::BoxedError;

use super::{
    build::{PROGRESS_ITEMS, PROGRESS_OCTETS, Plan, Progress, Step},
    directory::Starts,
    documents,
    error::BuildError,
    format::{Body, Column, Counts, FORMAT, Header, Role},
    hosts, index, services,
    stage::Stage,
    writer::BlockWriter,
};
use crate::{
    digest::Digest,
    filter,
    hash::Hasher,
    id::Region,
    limits::SNAPSHOT_REGIONS_MAX,
    record::{Change, HostValue, Record},
};

pub(crate) struct BodyBuilder<'a> {
    seed: u64,
    hasher: Hasher,
    out: BlockWriter<BufWriter<&'a File>>,
    plan: &'a Plan<'a>,
    progress: &'a mut dyn FnMut(Progress),
    regions: Regions,
    tally: Tally,
    /// Hash and offset of each host name written.
    names: Vec<(u64, u32)>,
}

/// A host name on its way to its place: behind the record of the service of that hash.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Placed {
    service: u64,
    name: u64,
    /// In the hosts' stage.
    at: usize,
}

impl<'a> BodyBuilder<'a> {
    pub(crate) fn new(
        file: &'a File,
        path: &Path,
        seed: u64,
        plan: &'a Plan<'a>,
        progress: &'a mut dyn FnMut(Progress),
    ) -> Self {
        let out = BlockWriter::new(BufWriter::new(file), path);
        let (regions, tally) = (Regions::default(), Tally::default());
        let hasher = Hasher::new(seed);
        Self { seed, hasher, out, plan, progress, regions, tally, names: Vec::new() }
    }

    /// All of the body and its checksums. The header that comes back lacks the offset vector.
    pub(crate) fn write(
        mut self,
        hosts: &Stage,
        services: &Stage,
        documents: &Stage,
    ) -> Result<Header, BuildError> {
        // Nothing starts at 0, which the index has for none. Read as a host's entry, it is of an empty name.
        self.put(&[0; services::RECORD_ALIGNMENT])?;
        let (mapped, mut others) = self.newest_hosts(hosts);
        let directory = self.put_services(services, hosts, &mapped, &mut others)?;
        self.put_hosts_without_record(hosts, &others)?;
        let heap = self.out.column(self.out.position());
        let (documents_column, documents_directory) = self.put_documents(documents)?;
        let directory = self.put_column(&directory)?;
        let documents_directory = self.put_column(&documents_directory)?;
        self.names.sort_unstable();
        let index = index::pack(&self.names).ok_or(BuildError::Crowded { tried: 1 })?;
        let index = self.put_column(&index)?;
        let filter = match self.plan.role {
            Role::Base => Vec::new(),
            Role::Level { .. } => self.filter(services, documents),
        };
        let filter = self.put_column(&filter)?;
        let regions = self.regions.names()?;
        let body = Body {
            heap,
            directory,
            index,
            documents: documents_column,
            documents_directory,
            filter,
            regions,
        };
        self.end(&body)
    }

    fn end(self, body: &Body) -> Result<Header, BuildError> {
        let path = self.out.path().to_owned();
        let (body_octets, checksums_crc) = rkyv::api::high::to_bytes_in::<_, BoxedError>(body, self.out)
            .map_err(|error| BuildError::Io { action: "write", path, source: io::Error::other(error) })?
            .finish()?;
        let Tally { counts, digest, .. } = self.tally;
        let (role, offsets) = (self.plan.role, Vec::new());
        Ok(Header {
            counts,
            digest,
            offsets,
            role,
            format: FORMAT,
            seed: self.seed,
            body_octets,
            checksums_crc,
        })
    }

    /// Of all names that the file is asked for.
    fn filter(&self, services: &Stage, documents: &Stage) -> Vec<u8> {
        let keys = self.names.len() + services.hashes().count() + documents.hashes().count();
        let names = self.names.iter().map(|(hash, _)| *hash);
        filter::pack(keys, names.chain(services.hashes()).chain(documents.hashes()))
    }

    /// The documents' column, and its directory.
    fn put_documents(&mut self, stage: &Stage) -> Result<(Column, Vec<u8>), BuildError> {
        let column_at = self.out.position();
        let mut starts = Starts::new(stage.hashes().count());
        let mut octets = Vec::new();
        for (done, group) in (1..).zip(stage.groups()) {
            let Some(first) = group.first() else { continue };
            starts.start(first.hash, self.out.position() - column_at)?;
            octets.clear();
            for (_, change) in stage.newest(group) {
                if !(self.plan.forgotten)(&change) {
                    self.tally.count(&change);
                    documents::put_document(&mut octets, &change);
                }
            }
            self.put(&octets)?;
            report(self.progress, Step::Documents, done);
        }
        let directory = starts.end(self.out.position() - column_at)?;
        Ok((self.out.column(self.out.position() - column_at), directory))
    }

    /// The newest of each host name: those that are mapped, in the order of their services, and the others.
    fn newest_hosts(&mut self, stage: &Stage) -> (Vec<Placed>, Vec<Placed>) {
        let (mut mapped, mut others) = (Vec::new(), Vec::new());
        for (done, group) in (1..).zip(stage.groups()) {
            for (slot, change) in stage.newest(group) {
                if (self.plan.forgotten)(&change) {
                    continue;
                }
                self.tally.count(&change);
                match service_of(&change) {
                    Some(id) => {
                        let service = self.hasher.hash(id.as_bytes());
                        mapped.push(Placed { service, name: slot.hash, at: slot.at });
                    }
                    None => others.push(Placed { service: 0, name: slot.hash, at: slot.at }),
                }
            }
            report(self.progress, Step::Hosts, done);
        }
        mapped.sort_unstable();
        (mapped, others)
    }

    /// Records and the host names mapped to them; those of `mapped` that have no record are added to
    /// `others`.
    fn put_services(
        &mut self,
        stage: &Stage,
        hosts: &Stage,
        mapped: &[Placed],
        others: &mut Vec<Placed>,
    ) -> Result<Vec<u8>, BuildError> {
        let mut starts = Starts::new(stage.hashes().count());
        let mut mapped = mapped;
        for (done, group) in (1..).zip(stage.groups()) {
            let Some(first) = group.first() else { continue };
            others.extend(take_while(&mut mapped, |placed| placed.service < first.hash));
            let mine = take_while(&mut mapped, |placed| placed.service == first.hash);
            let mut mine: Vec<(Placed, Change)> =
                mine.iter().filter_map(|placed| Some((*placed, hosts.change(placed.at)?))).collect();
            starts.start(first.hash, self.out.position())?;
            let newest = stage.newest(group).into_iter().map(|(_, change)| change);
            let newest: Vec<Change> = newest.filter(|change| !(self.plan.forgotten)(change)).collect();
            for changes in newest.chunk_by(|a, b| subject(a) == subject(b)) {
                self.put_service(changes, &mut mine)?;
            }
            // Of a service whose id only has the same hash.
            others.extend(mine.into_iter().map(|(placed, _)| placed));
            report(self.progress, Step::Services, done);
        }
        others.extend(mapped);
        starts.end(self.out.position())
    }

    /// The record of one service and its host names, which it takes out of `hosts`.
    fn put_service(
        &mut self,
        changes: &[Change],
        hosts: &mut Vec<(Placed, Change)>,
    ) -> Result<(), BuildError> {
        changes.iter().for_each(|change| self.tally.count(change));
        let start = self.out.position();
        let id = changes.first().map_or("", subject);
        let mut octets = Vec::with_capacity(256);
        services::put_record(&mut octets, id, changes, &mut |region| self.regions.number(region));
        let hosts_at = octets.len();
        for (placed, change) in hosts.extract_if(.., |(_, change)| service_of(change) == Some(id)) {
            self.names.push((placed.name, offset(start + octets.len())?));
            put_host(&mut octets, &change, Some(offset(start)?));
        }
        services::end_record(&mut octets, hosts_at);
        self.put(&octets)
    }

    fn put_hosts_without_record(&mut self, stage: &Stage, others: &[Placed]) -> Result<(), BuildError> {
        let mut octets = Vec::new();
        for placed in others {
            let Some(change) = stage.change(placed.at) else { continue };
            self.names.push((placed.name, offset(self.out.position())?));
            octets.clear();
            put_host(&mut octets, &change, None);
            self.put(&octets)?;
        }
        Ok(())
    }

    /// Writes, and tells of each [`PROGRESS_OCTETS`].
    fn put(&mut self, mut octets: &[u8]) -> Result<(), BuildError> {
        loop {
            let room = PROGRESS_OCTETS - self.out.position() % PROGRESS_OCTETS;
            if octets.len() < room {
                return self.out.put(octets);
            }
            let (now, later) = octets.split_at(room);
            self.out.put(now)?;
            (self.progress)(Progress { step: Step::Write, done: self.out.position() as u64 });
            octets = later;
        }
    }

    fn put_column(&mut self, octets: &[u8]) -> Result<Column, BuildError> {
        self.put(octets)?;
        Ok(self.out.column(octets.len()))
    }
}

fn report(progress: &mut dyn FnMut(Progress), step: Step, done: u64) {
    if done.is_multiple_of(PROGRESS_ITEMS) {
        progress(Progress { step, done });
    }
}

/// The first of `rest` that hold, taken off.
fn take_while<'s>(rest: &mut &'s [Placed], holds: impl Fn(&Placed) -> bool) -> &'s [Placed] {
    let (taken, left) = rest.split_at(rest.iter().take_while(|placed| holds(placed)).count());
    *rest = left;
    taken
}

fn offset(at: usize) -> Result<u32, BuildError> {
    u32::try_from(at).map_err(|_| BuildError::TooLarge)
}

/// The service that a change is about.
fn subject(change: &Change) -> &str {
    match &change.record {
        Record::Service(id, _) | Record::Endpoints(id, _, _) => id.as_str(),
        Record::Host(..) | Record::Document(..) => "",
    }
}

/// The service that a host name is mapped to.
fn service_of(change: &Change) -> Option<&str> {
    match &change.record {
        Record::Host(_, Some(HostValue::Mapped { service, .. })) => Some(service.as_str()),
        _ => None,
    }
}

fn put_host(out: &mut Vec<u8>, change: &Change, service: Option<u32>) {
    if let Record::Host(name, value) = &change.record {
        hosts::put_entry(out, name, change.version, value.as_ref(), service);
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
    pub(crate) fn count(&mut self, change: &Change) {
        self.digest.add(change, &mut self.scratch);
        *match &change.record {
            record if record.is_grave() => &mut self.counts.graves,
            Record::Host(..) => &mut self.counts.hosts,
            Record::Service(..) => &mut self.counts.services,
            Record::Endpoints(..) => &mut self.counts.endpoint_sets,
            Record::Document(..) => &mut self.counts.documents,
        } += 1;
        if let Record::Host(name, _) = &change.record
            && name.is_wildcard()
        {
            self.counts.wildcards += 1;
        }
    }
}
