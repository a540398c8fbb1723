//! A damaged file is refused, and says where; a forged one does no harm.

use std::{
    fs,
    hint::black_box,
    ops::Range,
    os::unix::fs::FileExt,
    path::Path,
    sync::{Arc, LazyLock},
};

use proptest::prelude::*;

use super::world;
use crate::{
    Forget, Outcome, Table, WorkError, forge,
    hash::splitmix64,
    id::{HostName, Reason, ServiceId},
    record::{Change, DocumentKey, HostValue, Key, Record, Subject, Version},
    snapshot::{self, BuildError, BuildOptions, OpenError, Snapshot},
};

const HEADER_OCTETS: u64 = 4096;
const BLOCK_OCTETS: u64 = 1 << 20;

fn world_changes() -> Vec<Change> {
    world::all_keys().map(|key| world::said(&key, Version::new(1, 1))).collect()
}

/// The file of all that.
static WORLD: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("base.snap");
    build(world_changes(), &path);
    fs::read(&path).unwrap()
});

fn build(changes: impl IntoIterator<Item = Change>, path: &Path) -> u64 {
    let options = BuildOptions { seed: Some(7), offsets: vec![1, 2, 3] };
    snapshot::build(changes, path, &options, &mut |_| ()).unwrap().file_octets
}

#[test]
fn any_octet_with_a_flipped_bit_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("base.snap");
    let octets = build(world_changes(), &path);
    let file = fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
    for at in 0..octets {
        let mut octet = [0];
        file.read_exact_at(&mut octet, at).unwrap();
        file.write_all_at(&[octet[0] ^ 1 << (at % 8)], at).unwrap();
        let error = Snapshot::open(&path).err().unwrap();
        match at {
            0..8 => assert!(matches!(error, OpenError::Foreign { .. }), "{at}: {error}"),
            8..HEADER_OCTETS => assert!(matches!(error, OpenError::Header { .. }), "{at}: {error}"),
            _ if at < octets - 4 => {
                assert!(matches!(error, OpenError::Block { block: 0, .. }), "{at}: {error}")
            }
            _ => assert!(matches!(error, OpenError::ChecksumTable { .. }), "{at}: {error}"),
        }
        file.write_all_at(&octet, at).unwrap();
    }
    assert!(Snapshot::open(&path).is_ok(), "all is as it was");
}

/// Of a base and of a level, both of several blocks, which threads verify together: of each a thousand bits anywhere, and
/// a hundred in each of its parts.
#[test]
fn any_of_a_thousand_flipped_bits_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().join("base.snap");
    build(many(0), &base);
    let base = Arc::new(Snapshot::open(&base).unwrap());
    let mut table = Table::with_base(Arc::clone(&base), &world::region(0));
    for change in many(1) {
        assert_eq!(table.apply(change), Outcome::Applied);
    }
    let work = table.flush(Vec::new()).unwrap();
    let level = Arc::clone(work.build(&folder.path().join("1.level"), &mut |_| ()).unwrap().file());
    drop(table);
    for (snapshot, open) in [(base, Snapshot::open as fn(&Path) -> _), (level, Snapshot::open_level)] {
        assert!(snapshot.octets() > 2 * BLOCK_OCTETS, "{} octets", snapshot.octets());
        let (path, sections) = (snapshot.path().to_owned(), snapshot.sections());
        let is_level = path.ends_with("1.level");
        // Nobody may have a file mapped that is written to.
        drop(snapshot);
        let whole = sections.first().unwrap().1.start..sections.last().unwrap().1.end;
        refuse_flips(&path, "file", &whole, 1_000, open);
        for (name, place) in &sections {
            assert_eq!(place.is_empty(), *name == "filter" && !is_level, "{name}");
            refuse_flips(&path, name, place, if place.is_empty() { 0 } else { 100 }, open);
        }
        assert!(open(&path).is_ok(), "all is as it was");
    }
}

/// Flips so many bits of a part of a file, one at a time.
fn refuse_flips(
    path: &Path,
    name: &str,
    place: &Range<usize>,
    count: u64,
    open: fn(&Path) -> Result<Snapshot, OpenError>,
) {
    let file = fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
    let mut random = 1;
    for _ in 0..count {
        let bit = splitmix64(&mut random) % (place.len() as u64 * 8);
        let (at, mut octet) = (place.start as u64 + bit / 8, [0]);
        file.read_exact_at(&mut octet, at).unwrap();
        file.write_all_at(&[octet[0] ^ 1 << (bit % 8)], at).unwrap();
        assert!(open(path).is_err(), "bit {bit} of the {name}");
        file.write_all_at(&octet, at).unwrap();
    }
}

/// Values of all kinds, 40,000 keys, a fifth of them removed.
fn many(epoch: u64) -> impl Iterator<Item = Change> {
    (0..10_000).flat_map(move |n| {
        let version = Version::new(epoch, n as u64);
        let service = ServiceId::parse(&format!("svc_{n}-of-some-length")).unwrap();
        let region = world::region(u8::try_from(n % 3).unwrap());
        let host = HostName::parse(&format!("{n:x}.a-name-of-some-length.example")).unwrap();
        let document = DocumentKey::parse(Subject::Policy, &format!("policy-{n}")).unwrap();
        let keys = [
            Key::Host(host),
            Key::Service(service.clone()),
            Key::Endpoints(service, region),
            Key::Document(document),
        ];
        keys.map(|key| world::said(&key, version))
    })
}

/// They take several blocks.
fn tombstones() -> impl Iterator<Item = Change> {
    (0..100_000).map(|n| {
        let name = HostName::parse(&format!("{n:x}.a-name-of-some-length.example")).unwrap();
        let reason = Reason::parse("takedown").unwrap();
        let record = Record::Host(name, Some(HostValue::Tombstone { reason }));
        Change { version: Version::new(0, 1), record }
    })
}

#[test]
fn the_damaged_block_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("base.snap");
    let octets = build(tombstones(), &path);
    let blocks = (octets - HEADER_OCTETS).div_ceil(BLOCK_OCTETS + 4);
    assert!(blocks > 3, "{octets} octets");
    let file = fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
    for damaged in 0..blocks {
        let at = HEADER_OCTETS + damaged * BLOCK_OCTETS + damaged;
        let mut octet = [0];
        file.read_exact_at(&mut octet, at).unwrap();
        file.write_all_at(&[!octet[0]], at).unwrap();
        match Snapshot::open(&path) {
            Err(OpenError::Block { block, from, to, .. }) => {
                assert_eq!(block as u64, damaged);
                assert!((from..to).contains(&at), "{at} in {from}..{to}");
            }
            other => panic!("block {damaged}: {:?}", other.err()),
        }
        file.write_all_at(&octet, at).unwrap();
    }
}

#[test]
fn a_file_of_another_length_or_kind_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("base.snap");
    let octets = usize::try_from(build(world_changes(), &path)).unwrap();
    let whole = fs::read(&path).unwrap();
    let opened = |octets: &[u8]| {
        fs::write(&path, octets).unwrap();
        Snapshot::open(&path).err()
    };
    for length in [0, 7, 4095] {
        assert!(matches!(opened(&whole[..length]), Some(OpenError::Foreign { .. })), "{length}");
    }
    for length in [4096, 4097, octets - 4, octets - 1] {
        assert!(matches!(opened(&whole[..length]), Some(OpenError::Length { .. })), "{length}");
    }
    assert!(matches!(opened(&[&whole[..], &[0]].concat()), Some(OpenError::Length { .. })));
    assert!(matches!(opened(&vec![b'{'; octets]), Some(OpenError::Foreign { .. })));
    assert!(matches!(Snapshot::open(&folder.path().join("none")), Err(OpenError::Io { action: "open", .. })));
    assert!(opened(&whole).is_none());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    /// Whoever can forge checksums can make wrong answers, but neither panics nor wrong memory; and `verify`
    /// sees it.
    #[test]
    fn a_forged_body_is_harmless(
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut octets = WORLD.clone();
        let body = usize::try_from(HEADER_OCTETS).unwrap()..octets.len() - 4;
        for (at, octet) in damage {
            octets[body.start + at.index(body.len())] = octet;
        }
        forge::reseal(&mut octets);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("base.snap");
        fs::write(&path, &octets).unwrap();

        let verified = snapshot::verify(&path).is_ok();
        let Ok(snapshot) = Snapshot::open(&path) else { return Ok(()) };
        prop_assert!(snapshot.changes().count() < 10_000);
        let view = Table::with_base(Arc::new(snapshot), &world::region(0)).publish();
        if verified {
            for wanted in world_changes() {
                // The digest does not cover graves.
                let live = |change: &Change| !change.record.is_grave();
                prop_assert_eq!(view.change(&wanted.record.key()).filter(live), Some(wanted).filter(live));
            }
        } else {
            ask_everything(&view);
        }
    }
}

/// A file whose checksums hold and whose records make no sense makes no other file.
#[test]
fn what_makes_no_sense_is_not_passed_on() {
    let folder = tempfile::tempdir().unwrap();
    let (path, out) = (folder.path().join("base.snap"), folder.path().join("new.snap"));
    let mut forged = 0;
    for at in (usize::try_from(HEADER_OCTETS).unwrap() + 8..).take(400) {
        let mut octets = WORLD.clone();
        octets[at] ^= 0xff;
        forge::reseal(&mut octets);
        fs::write(&path, &octets).unwrap();
        let Ok(snapshot) = Snapshot::open(&path) else { continue };
        let makes_sense = snapshot.changes().all(|change| change.is_ok());
        let table = Table::with_base(Arc::new(snapshot), &world::region(0));
        let built = table.rebuild(Forget::Nothing).build(&out, &mut |_| ());
        if let Err(error) = built {
            let is_told =
                matches!(&error, WorkError::Build(BuildError::Source { .. } | BuildError::State { .. }));
            assert!(is_told && (!makes_sense || error.to_string().contains("state")), "{at}: {error}");
            forged += 1;
            let left: Vec<_> =
                fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
            assert_eq!(left, std::slice::from_ref(&path), "{at}");
        } else {
            assert!(makes_sense, "{at}");
            fs::remove_file(&out).unwrap();
        }
    }
    assert!(forged > 100, "{forged}");
}

/// Only that it returns.
fn ask_everything(view: &crate::View) {
    for key in world::all_keys() {
        let change = view.change(&key);
        assert!(change.is_none_or(|change| change.record.key() == key));
        view.expect_more(view.expect(key.name().as_bytes()));
        if let crate::record::Key::Host(name) = &key
            && let Some(crate::HostHit::Service(service)) = view.host(name.as_str().as_bytes())
        {
            let endpoints = service.endpoints(view.local());
            assert!(endpoints.iter().count() <= endpoints.len());
            black_box(service.is_known());
        }
    }
}
