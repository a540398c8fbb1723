//! What one version wrote, the next reads: files of the format before are kept here.

use std::{fs, path::Path, sync::Arc};

use super::world;
use crate::{
    Table,
    change::{self, Meaning},
    model::Model,
    record::Change,
    snapshot::{self, BuildOptions, Snapshot},
};

/// Written by the version whose format was 1, and its state as the lines that it was made of.
const FORMAT_1: &str = "format-1";

fn kept(name: &str, end: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tests/data").join(format!("{name}.{end}"))
}

fn lines(name: &str) -> Model {
    let text = fs::read_to_string(kept(name, "jsonl")).unwrap();
    let mut model = Model::default();
    for line in text.lines() {
        match change::parse(line.as_bytes()).unwrap().meaning {
            Meaning::Change(change) => assert!(model.apply(change)),
            other => panic!("{other:?}"),
        }
    }
    model
}

#[test]
fn the_format_before_is_read() {
    let path = kept(FORMAT_1, "snap");
    let model = lines(FORMAT_1);
    let header = snapshot::verify(&path).unwrap();
    assert_eq!((header.digest, &header.offsets[..]), (model.digest(), &[1, 2, 3][..]));
    assert_eq!(snapshot::inspect(&path).unwrap(), header);
    assert!(header.counts.graves > 0);
    let base = Arc::new(Snapshot::open(&path).unwrap());
    let table = Table::with_base(Arc::clone(&base), &world::region(0));
    world::assert_equal(&table.publish(), &model);
}

/// A table goes on from a base of the format before: a flush, and a new base, are of this one.
#[test]
fn the_format_before_is_built_upon() {
    let folder = tempfile::tempdir().unwrap();
    let base = Arc::new(Snapshot::open(&kept(FORMAT_1, "snap")).unwrap());
    let mut model = lines(FORMAT_1);
    let mut table = Table::with_base(base, &world::region(0));
    let newer = |key| world::said(&key, crate::record::Version::new(2, 1));
    for change in world::all_keys().step_by(2).map(newer) {
        model.apply(change.clone());
        table.apply(change);
    }
    for (at, name) in ["level", "base"].into_iter().enumerate() {
        let work =
            if at == 0 { table.flush(Vec::new()).unwrap() } else { table.rebuild(crate::Forget::Nothing) };
        let built = work.build(&folder.path().join(name), &mut |_| ()).unwrap();
        table.install(&built).unwrap();
        world::assert_equal(&table.publish(), &model);
    }
    assert_eq!(table.publish().levels().len(), 0);
    assert!(snapshot::verify(&folder.path().join("base")).is_ok());
}

/// The file of format 1 is of that one: built again from its lines it is another, of equal state.
#[test]
fn the_format_has_changed_since() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("again.snap");
    let changes: Vec<Change> = lines(FORMAT_1).changes().cloned().collect();
    let options = BuildOptions { seed: Some(7), offsets: vec![1, 2, 3] };
    snapshot::build(changes, &path, &options, &mut |_| ()).unwrap();
    let formats = [&kept(FORMAT_1, "snap"), &path].map(|path| fs::read(path).unwrap()[8]);
    assert_eq!(formats, [1, 2]);
    let digests = [&kept(FORMAT_1, "snap"), &path].map(|path| snapshot::inspect(path).unwrap().digest);
    assert_eq!(digests[0], digests[1]);
}
