//! Building: deterministic, whole or not at all, told about as it goes.

use std::{fs, path::Path};

use super::world;
use crate::{
    id::HostName,
    limits::PARTITIONS_MAX,
    record::{Change, Record, Version},
    snapshot::{self, BuildError, BuildOptions, Counts, Progress, Snapshot, Step},
};

fn changes() -> impl Iterator<Item = Change> {
    world::all_keys().map(|key| world::said(&key, Version::new(2, 1)))
}

fn seeded() -> BuildOptions {
    BuildOptions { seed: Some(3), offsets: vec![10, 20] }
}

fn build(changes: impl Iterator<Item = Change>, path: &Path) -> snapshot::Stats {
    snapshot::build(changes, path, &seeded(), &mut |_| ()).unwrap()
}

#[test]
fn equal_changes_make_equal_files_in_any_order() {
    let folder = tempfile::tempdir().unwrap();
    let (forth, back) = (folder.path().join("forth"), folder.path().join("back"));
    build(changes(), &forth);
    let mut reversed: Vec<Change> = changes().collect();
    reversed.reverse();
    build(reversed.into_iter().chain(changes()), &back);
    assert_eq!(fs::read(&forth).unwrap(), fs::read(&back).unwrap());
}

#[test]
fn the_header_says_what_is_within() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("base.snap");
    let stats = build(changes(), &path);
    let mut counts = Counts::default();
    for change in changes() {
        *match &change.record {
            record if record.is_grave() => &mut counts.graves,
            Record::Host(..) => &mut counts.hosts,
            Record::Service(..) => &mut counts.services,
            Record::Endpoints(..) => &mut counts.endpoint_sets,
            Record::Document(..) => &mut counts.documents,
        } += 1;
        counts.wildcards += u64::from(matches!(change.record, Record::Host(name, _) if name.is_wildcard()));
    }
    assert!(counts.graves > 0 && counts.hosts > 0);
    assert_eq!(stats.counts, counts);
    let header = snapshot::inspect(&path).unwrap();
    assert_eq!((header.counts, header.digest, &header.offsets[..]), (counts, stats.digest, &[10, 20][..]));
    assert_eq!(snapshot::verify(&path).unwrap(), header);
    assert_eq!(fs::metadata(&path).unwrap().len(), stats.file_octets);
}

#[test]
fn an_empty_snapshot_is_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("base.snap");
    let stats = build(std::iter::empty(), &path);
    assert_eq!(stats.counts, Counts::default());
    let snapshot = Snapshot::open(&path).unwrap();
    assert_eq!(snapshot.changes().count(), 0);
    assert!(snapshot.host(b"a.example").is_none());
}

#[test]
fn a_failed_build_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing").join("base.snap");
    let error = snapshot::build(changes(), &missing, &seeded(), &mut |_| ()).unwrap_err();
    assert!(matches!(error, BuildError::Io { action: "create", .. }), "{error}");

    let place = folder.path().join("base.snap");
    fs::create_dir(&place).unwrap();
    let error = snapshot::build(changes(), &place, &seeded(), &mut |_| ()).unwrap_err();
    assert!(matches!(error, BuildError::Io { action: "put in place", .. }), "{error}");

    let offsets = vec![0; PARTITIONS_MAX + 1];
    let options = BuildOptions { seed: None, offsets };
    let error = snapshot::build(changes(), &folder.path().join("other"), &options, &mut |_| ()).unwrap_err();
    assert!(matches!(error, BuildError::Partitions { found: 257, max: 256 }), "{error}");

    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(left, [place]);
}

#[test]
fn progress_is_told_by_step() {
    let folder = tempfile::tempdir().unwrap();
    let graves = (0..70_000).map(|n| {
        let name = HostName::parse(&format!("{n}.example")).unwrap();
        Change { version: Version::new(0, 1), record: Record::Host(name, None) }
    });
    let mut told = Vec::new();
    snapshot::build(graves, &folder.path().join("base.snap"), &seeded(), &mut |progress| told.push(progress))
        .unwrap();
    let (written, read): (Vec<_>, Vec<_>) = told.into_iter().partition(|told| told.step == Step::Write);
    assert_eq!(read, [Step::Read, Step::Hosts].map(|step| Progress { step, done: 65_536 }));
    let octets: Vec<u64> = written.iter().map(|told| told.done).collect();
    assert_eq!(octets, (1..=octets.len() as u64).map(|count| count << 16).collect::<Vec<_>>());
    let in_file = fs::metadata(folder.path().join("base.snap")).unwrap().len();
    assert!(
        (in_file - 4096 - (octets.len() as u64) * 65_536) < 65_536 + 4_096,
        "of {in_file}, all but a rest is told"
    );
}
