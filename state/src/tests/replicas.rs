//! Replicas agree, whatever order, duplicates, losses and restarts they went through.

use std::sync::Arc;

use proptest::prelude::*;

use super::world;
use crate::{
    Outcome, Table, View,
    model::Model,
    record::Change,
    snapshot::{self, BuildOptions, Snapshot},
};

#[derive(Debug, Clone)]
enum Operation {
    Apply(Change),
    /// Keep a view, and look at it again at the end.
    Publish,
    /// Start again from a snapshot of everything.
    Restart,
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let operation = prop_oneof![
        20 => world::changes().prop_map(Operation::Apply),
        2 => Just(Operation::Publish),
        1 => Just(Operation::Restart),
    ];
    proptest::collection::vec(operation, 0..120)
}

/// A table over a snapshot of all that `view` knows.
fn restarted(view: &View, seed: u64) -> Table {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("base.snap");
    let options = BuildOptions { seed: Some(seed), offsets: vec![seed] };
    let stats = snapshot::build(view.changes().map(Result::unwrap), &path, &options, &mut |_| ()).unwrap();
    assert_eq!(snapshot::verify(&path).unwrap().digest, stats.digest);
    let base = Snapshot::open(&path).unwrap();
    assert_eq!(base.header().offsets, [seed]);
    Table::with_base(Arc::new(base), &world::region(0))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn base_and_overlay_are_the_model(operations in operations(), seed: u64) {
        let mut table = Table::new(&world::region(0));
        let mut model = Model::default();
        let mut kept = Vec::new();
        for operation in operations {
            match operation {
                Operation::Apply(change) => {
                    let wanted = if model.apply(change.clone()) { Outcome::Applied } else { Outcome::Stale };
                    prop_assert_eq!(table.apply(change), wanted);
                }
                Operation::Publish => kept.push((table.publish(), model.clone())),
                Operation::Restart => table = restarted(&table.publish(), seed),
            }
            prop_assert_eq!(table.digest(), model.digest());
        }
        kept.push((table.publish(), model));
        for (view, model) in kept {
            world::assert_equal(&view, &model);
        }
    }

    /// A snapshot of a log is a replica too: stale and repeated changes in it do no harm.
    #[test]
    fn a_snapshot_of_a_raw_log_is_the_model(
        log in proptest::collection::vec(world::changes(), 0..200),
        seed: u64,
    ) {
        let mut model = Model::default();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("base.snap");
        let options = BuildOptions { seed: Some(seed), offsets: Vec::new() };
        let stats = snapshot::build(log.iter().cloned(), &path, &options, &mut |_| ()).unwrap();
        log.iter().cloned().for_each(|change| { model.apply(change); });
        prop_assert_eq!(stats.digest, model.digest());
        prop_assert_eq!(stats.changes, log.len() as u64);
        let table = Table::with_base(Arc::new(Snapshot::open(&path).unwrap()), &world::region(0));
        world::assert_equal(&table.publish(), &model);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    /// drop, duplicate and reorder, then deliver the last of each key.
    #[test]
    fn schedules_converge(
        log in proptest::collection::vec(world::changes(), 1..24),
        picks: Vec<prop::sample::Index>,
    ) {
        let mut model = Model::default();
        log.iter().cloned().for_each(|change| { model.apply(change); });
        let mut table = Table::new(&world::region(0));
        let schedule = picks.iter().map(|pick| pick.get(&log)).chain(model.changes());
        schedule.cloned().for_each(|change| { table.apply(change); });
        let view = table.publish();
        for wanted in model.changes() {
            let known = view.change(&wanted.record.key());
            prop_assert_eq!(known.as_ref(), Some(wanted));
        }
        prop_assert_eq!(table.digest(), model.digest());
        prop_assert_eq!(table.overlay_size().0, model.changes().count());
    }
}
