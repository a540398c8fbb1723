//! Replicas agree, whatever order, duplicates, losses and restarts they went through.

use std::{collections::VecDeque, sync::Arc};

use proptest::prelude::*;

use super::world;
use crate::{
    Forget, Outcome, Refusal, Table, View, Work,
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
    /// Start again from the files that the table stands on, and what the log has since.
    Reopen,
    /// Take work, to be done later.
    Flush,
    Merge(usize, usize),
    Rebuild,
    /// Do the work that was taken first, and install what comes of it.
    Install,
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let operation = prop_oneof![
        20 => world::changes().prop_map(Operation::Apply),
        2 => Just(Operation::Publish),
        1 => Just(Operation::Restart),
        1 => Just(Operation::Reopen),
        3 => Just(Operation::Flush),
        1 => (0..4_usize, 2..5_usize).prop_map(|(from, count)| Operation::Merge(from, from + count)),
        1 => Just(Operation::Rebuild),
        5 => Just(Operation::Install),
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

/// A table, the model, and what is under way.
struct World {
    table: Table,
    model: Model,
    /// All changes so far, for who starts again.
    log: Vec<Change>,
    taken: VecDeque<Work>,
    folder: tempfile::TempDir,
    files: u64,
}

impl World {
    fn new() -> Self {
        let table = Table::new(&world::region(0));
        let folder = tempfile::tempdir().unwrap();
        Self { table, model: Model::default(), log: Vec::new(), taken: VecDeque::new(), folder, files: 0 }
    }

    fn go(&mut self, operation: Operation, seed: u64) {
        match operation {
            Operation::Apply(change) => self.apply(change),
            Operation::Publish => unreachable!("kept by the caller"),
            Operation::Restart => {
                self.table = restarted(&self.table.publish(), seed);
                self.taken.clear();
            }
            Operation::Reopen => self.reopen(),
            Operation::Flush => self.taken.extend(self.table.flush()),
            Operation::Merge(from, to) => self.taken.extend(self.table.merge(from..to)),
            Operation::Rebuild => self.taken.push_back(self.table.rebuild(Forget::Nothing)),
            Operation::Install => self.install(),
        }
    }

    fn apply(&mut self, change: Change) {
        let stored = self.model.change(&change.record.key()).map(|stored| stored.version);
        let wanted = match stored {
            Some(stored) if stored.epoch > change.version.epoch => Outcome::Fenced,
            Some(stored) if stored >= change.version => Outcome::Stale,
            _ => Outcome::Applied,
        };
        assert_eq!(self.model.apply(change.clone()), wanted == Outcome::Applied);
        assert_eq!(self.table.apply(change.clone()), wanted);
        self.log.push(change);
    }

    fn reopen(&mut self) {
        let view = self.table.publish();
        let levels = view.levels().to_vec();
        self.table = Table::with_layers(view.base().cloned(), levels, &world::region(0)).unwrap();
        self.taken.clear();
        for change in &self.log {
            self.table.apply(change.clone());
        }
    }

    fn install(&mut self) {
        let Some(work) = self.taken.pop_front() else { return };
        self.files += 1;
        let path = self.folder.path().join(format!("{}.snap", self.files));
        let built = work.build(&path, Vec::new(), &mut |_| ()).unwrap();
        match self.table.install(&built) {
            Ok(_) | Err(Refusal::Outdated | Refusal::Levels) => {}
            Err(refusal) => panic!("{refusal}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn base_levels_and_overlay_are_the_model(operations in operations(), seed: u64) {
        let mut world = World::new();
        let mut kept = Vec::new();
        for operation in operations {
            match operation {
                Operation::Publish => kept.push((world.table.publish(), world.model.clone())),
                other => world.go(other, seed),
            }
            prop_assert_eq!(world.table.digest(), world.model.digest());
        }
        kept.push((world.table.publish(), world.model));
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
