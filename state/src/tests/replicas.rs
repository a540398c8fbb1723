//! Replicas agree, whatever order, duplicates and losses they went through.

use std::sync::Arc;

use proptest::prelude::*;

use super::world;
use crate::{
    Table,
    model::Model,
    snapshot::{self, BuildOptions, Snapshot},
};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

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
