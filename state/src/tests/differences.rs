//! Two snapshots told apart, and one written as lines.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::world;
use crate::{
    change::{self, Meaning},
    model::Model,
    record::{Change, Key, Kind},
    snapshot::{self, BuildOptions, Difference, Snapshot},
};

fn built(changes: &[Change], seed: u64, folder: &tempfile::TempDir) -> Snapshot {
    let path = folder.path().join(seed.to_string());
    let options = BuildOptions { seed: Some(seed), offsets: Vec::new() };
    snapshot::build(changes.to_vec(), &path, &options, &mut |_| ()).unwrap();
    Snapshot::open(&path).unwrap()
}

fn modelled(changes: &[Change]) -> Model {
    let mut model = Model::default();
    changes.iter().cloned().for_each(|change| {
        model.apply(change);
    });
    model
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn each_difference_is_told_once(
        shared in proptest::collection::vec(world::changes(), 0..60),
        before in proptest::collection::vec(world::changes(), 0..20),
        after in proptest::collection::vec(world::changes(), 0..20),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let (before, after) = ([shared.clone(), before].concat(), [shared, after].concat());
        let (old, new) = (modelled(&before), modelled(&after));
        let (before, after) = (built(&before, 1, &folder), built(&after, 2, &folder));
        let mut looked = 0;
        let mut look = || looked += 1;
        let told: Vec<Difference> = snapshot::diff(&before, &after, &mut look).map(Result::unwrap).collect();
        prop_assert_eq!(looked, before.changes().chain(after.changes()).count());
        let mut wanted = BTreeMap::new();
        for key in world::all_keys() {
            let sides = (old.change(&key).cloned(), new.change(&key).cloned());
            if sides.0 != sides.1 {
                wanted.insert(key, sides);
            }
        }
        prop_assert_eq!(told.len(), wanted.len());
        for Difference { key, before, after } in &told {
            prop_assert_eq!(wanted.get(key), Some(&(before.clone(), after.clone())));
        }
        let seen = told.iter().filter(|difference| difference.is_seen()).count();
        let live = |model: &Model, key: &Key| {
            model.change(key).filter(|change| !change.record.is_grave()).map(|change| change.record.clone())
        };
        let wanted = world::all_keys().filter(|key| live(&old, key) != live(&new, key)).count();
        prop_assert_eq!(seen, wanted);
    }

    #[test]
    fn what_is_exported_is_all(changes in proptest::collection::vec(world::changes(), 0..60)) {
        let folder = tempfile::tempdir().unwrap();
        let snapshot = built(&changes, 1, &folder);
        let mut lines = Vec::new();
        let count = snapshot::export(&snapshot, None, &mut lines).unwrap();
        let mut kind_by_kind = 0;
        for kind in Kind::ALL {
            let mut of_kind = Vec::new();
            kind_by_kind += snapshot::export(&snapshot, Some(kind), &mut of_kind).unwrap();
            for line in of_kind.split_inclusive(|&octet| octet == b'\n') {
                prop_assert!(lines.split_inclusive(|&octet| octet == b'\n').any(|known| known == line));
                let begin = format!("{{\"kind\":\"{kind}\",");
                prop_assert!(line.starts_with(begin.as_bytes()));
            }
        }
        prop_assert_eq!(kind_by_kind, count);
        let mut again = Model::default();
        for line in lines.split(|&octet| octet == b'\n').filter(|line| !line.is_empty()) {
            match change::parse(line).unwrap().meaning {
                Meaning::Change(change) => prop_assert!(again.apply(change)),
                other => panic!("{other:?}"),
            }
        }
        prop_assert_eq!(again.changes().count() as u64, count);
        prop_assert_eq!(again, modelled(&changes));
    }
}

#[test]
fn a_writer_that_fails_is_told() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("full"))
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let key = world::all_keys().next().unwrap();
    let snapshot = built(&[world::said(&key, crate::record::Version::new(1, 1))], 1, &folder);
    assert!(matches!(snapshot::export(&snapshot, None, &mut Full), Err(snapshot::ExportError::Io(_))));
}
