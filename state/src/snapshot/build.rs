//! Builds a snapshot from changes in any order: reads them all, sorts by hash, then writes the file front to
//! back.
//!
//! Memory: the packed changes, 16 octets for each, and the services' heap. Time: a sort of hashes; all else
//! is linear.

use std::{
    hash::{BuildHasher, RandomState},
    path::Path,
};

use super::{
    body::BodyBuilder,
    directory::{bucket_count, bucket_of},
    error::BuildError,
    file::Partial,
    format::{Counts, Header, Role},
    index,
    stage::Stage,
};
use crate::{
    digest::Digest,
    limits::{BUCKET_NAMES_MAX, PARTITIONS_MAX, SEEDS_TRIED_MAX},
    record::{Change, Record},
};

/// Between two calls of the progress callback.
pub(crate) const PROGRESS_ITEMS: u64 = 1 << 16;
/// The same, of octets written: a caller who writes at a bounded rate waits in between.
pub(crate) const PROGRESS_OCTETS: usize = 1 << 16;

#[derive(Debug, Clone, Default)]
pub struct BuildOptions {
    /// Of the file's hash; random unless given. Given, equal changes make equal files.
    pub seed: Option<u64>,
    /// The next offset to read, for each partition of the log; at most 256.
    pub offsets: Vec<u64>,
}

/// How far a build is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    pub step: Step,
    /// Changes read, names looked through, or octets written.
    pub done: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Read,
    Services,
    Hosts,
    Documents,
    /// Told beside the others: each 64 KiB of the body.
    Write,
}

/// What was built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stats {
    pub counts: Counts,
    pub digest: Digest,
    pub file_octets: u64,
    /// Changes read, stale ones included.
    pub changes: u64,
}

/// Writes the newest of each key in `changes` to `out`. The file appears whole: it is written beside, synced
/// and renamed.
pub fn build(
    changes: impl IntoIterator<Item = Change>,
    out: &Path,
    options: &BuildOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<Stats, BuildError> {
    build_as(&Plan::default(), changes.into_iter().map(Ok), out, options, progress)
}

/// What a file is to be, other than all of a state.
pub(crate) struct Plan<'a> {
    pub(crate) role: Role,
    /// Of the newest values, those that are left out.
    pub(crate) forgotten: &'a dyn Fn(&Change) -> bool,
    /// What the digest must be, where that is known.
    pub(crate) digest: Option<Digest>,
}

impl Default for Plan<'_> {
    fn default() -> Self {
        Self { role: Role::Base, forgotten: &|_| false, digest: None }
    }
}

pub(crate) fn build_as(
    plan: &Plan<'_>,
    changes: impl IntoIterator<Item = Result<Change, BuildError>>,
    out: &Path,
    options: &BuildOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<Stats, BuildError> {
    if options.offsets.len() > PARTITIONS_MAX {
        return Err(BuildError::Partitions { found: options.offsets.len(), max: PARTITIONS_MAX });
    }
    let mut staged = Staged::read(changes, progress)?;
    let seed = staged.arrange(options.seed)?;
    let file = Partial::create(out)?;
    let body = BodyBuilder::new(file.body(), out, seed, plan, progress);
    let written = body.write(&staged.hosts, &staged.services, &staged.documents)?;
    let header = Header { offsets: options.offsets.clone(), ..written };
    if plan.digest.is_some_and(|wanted| wanted != header.digest) {
        return Err(BuildError::State { path: out.to_owned() });
    }
    file.commit(&header)?;
    let Header { counts, digest, .. } = header;
    Ok(Stats { counts, digest, file_octets: header.file_octets(), changes: staged.changes })
}

/// All changes, by section.
struct Staged {
    hosts: Stage,
    services: Stage,
    documents: Stage,
    changes: u64,
}

impl Staged {
    fn read(
        changes: impl IntoIterator<Item = Result<Change, BuildError>>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Self, BuildError> {
        let mut staged = Self {
            hosts: Stage::default(),
            services: Stage::default(),
            documents: Stage::default(),
            changes: 0,
        };
        for change in changes {
            let change = change?;
            match change.record {
                Record::Host(..) => staged.hosts.push(&change),
                Record::Service(..) | Record::Endpoints(..) => staged.services.push(&change),
                Record::Document(..) => staged.documents.push(&change),
            }
            staged.changes += 1;
            if staged.changes.is_multiple_of(PROGRESS_ITEMS) {
                progress(Progress { step: Step::Read, done: staged.changes });
            }
        }
        Ok(staged)
    }

    /// Sorts under a seed that spreads the names well, and gives it.
    fn arrange(&mut self, seed: Option<u64>) -> Result<u64, BuildError> {
        let first = seed.unwrap_or_else(|| RandomState::new().hash_one(0));
        for attempt in 0..SEEDS_TRIED_MAX {
            let seed = first.wrapping_add(u64::from(attempt));
            self.hosts.arrange(seed);
            self.services.arrange(seed);
            self.documents.arrange(seed);
            if self.has_room() {
                return Ok(seed);
            }
        }
        Err(BuildError::Crowded { tried: SEEDS_TRIED_MAX })
    }

    /// Whether no part of the file is crowded.
    fn has_room(&self) -> bool {
        fullest_bucket(&self.services) <= BUCKET_NAMES_MAX
            && fullest_bucket(&self.documents) <= BUCKET_NAMES_MAX
            && index::has_room(self.hosts.hashes().count(), self.hosts.hashes())
    }
}

fn fullest_bucket(stage: &Stage) -> usize {
    let buckets = bucket_count(stage.hashes().count());
    let mut longest = Run::default();
    stage.hashes().for_each(|hash| longest.meet(bucket_of(hash, buckets)));
    longest.most
}

/// The longest run of equal numbers.
#[derive(Default)]
struct Run {
    number: usize,
    length: usize,
    most: usize,
}

impl Run {
    fn meet(&mut self, number: usize) {
        self.length = if number == self.number { self.length + 1 } else { 1 };
        self.number = number;
        self.most = self.most.max(self.length);
    }
}
