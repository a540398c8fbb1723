//! The table is the model, whatever it goes through: random schedules of changes, flushes, merges, new bases,
//! publications and restarts.
//!
//! `RINGWAY_SOAK=20` tries a million. A schedule that fails names itself: `RINGWAY_SCHEDULE=7` runs that one alone.

use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use super::world;
use crate::{
    Forget, Outcome, Refusal, Table, View, Work,
    hash::splitmix64,
    model::Model,
    record::{Change, Key, Version},
    snapshot::Snapshot,
};

/// Of an ordinary run.
const SCHEDULES: u64 = 50_000;
/// They are dealt out to as many tests, which run side by side.
const PARTS: u64 = 2;

#[test]
fn even_schedules_are_the_model() {
    run_part(0);
}

#[test]
fn odd_schedules_are_the_model() {
    run_part(1);
}

fn run_part(part: u64) {
    let from_environment = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let folder = Folder::new();
    if let Some(one) = from_environment("RINGWAY_SCHEDULE") {
        return Schedule::new(one, &folder).run();
    }
    let schedules = SCHEDULES * from_environment("RINGWAY_SOAK").unwrap_or(1);
    for number in (part..schedules).step_by(usize::try_from(PARTS).unwrap()) {
        let run = || Schedule::new(number, &folder).run();
        assert!(catch_unwind(AssertUnwindSafe(run)).is_ok(), "in schedule {number}");
    }
}

/// Where files go: into memory where there is such a place, since millions are made.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        let in_memory = tempfile::Builder::new().tempdir_in("/dev/shm");
        Self(in_memory.or_else(|_| tempfile::tempdir()).unwrap())
    }
}

/// A table, the model, and what is under way.
struct Schedule<'a> {
    random: u64,
    table: Table,
    model: Model,
    /// Changes that were applied, for who starts again.
    log: Vec<Change>,
    /// Work that was taken and is not done.
    taken: VecDeque<Work>,
    /// Views as they were published, with the state that they must show for ever.
    kept: Vec<(View, Model)>,
    folder: &'a Folder,
    files: u64,
}

impl<'a> Schedule<'a> {
    fn new(number: u64, folder: &'a Folder) -> Self {
        let mut random = number;
        splitmix64(&mut random);
        Self {
            random,
            table: Table::new(&world::region(0)),
            model: Model::default(),
            log: Vec::new(),
            taken: VecDeque::new(),
            kept: Vec::new(),
            folder,
            files: 0,
        }
    }

    fn below(&mut self, bound: u64) -> u64 {
        splitmix64(&mut self.random) % bound
    }

    fn run(mut self) {
        // Few keys, so that changes of one meet; or all.
        let keys: Vec<Key> = world::all_keys().collect();
        let (from, count) =
            if self.below(2) == 0 { (self.below(keys.len() as u64), 6) } else { (0, keys.len()) };
        let keys: Vec<Key> =
            keys.iter().cycle().skip(usize::try_from(from).unwrap()).take(count).cloned().collect();
        for _ in 0..10 + self.below(60) {
            self.step(&keys);
            assert_eq!(self.table.digest(), self.model.digest());
        }
        self.kept.push((self.table.publish(), self.model.clone()));
        for (view, model) in std::mem::take(&mut self.kept) {
            world::assert_equal(&view, &model);
        }
        for file in 1..=self.files {
            std::fs::remove_file(self.path(file)).unwrap();
        }
    }

    fn step(&mut self, keys: &[Key]) {
        match self.below(40) {
            0..26 => self.apply(keys),
            26..28 => self.kept.push((self.table.publish(), self.model.clone())),
            28..32 => {
                let offsets = vec![self.log.len() as u64];
                self.taken.extend(self.table.flush(offsets));
            }
            32 => {
                let from = usize::try_from(self.below(3)).unwrap();
                let to = from + 2 + usize::try_from(self.below(2)).unwrap();
                self.take(|table| table.merge(from..to));
            }
            33 => self.take(|table| Ok(table.rebuild(Forget::Nothing))),
            34 => self.forget(),
            35 => self.restart(),
            _ => self.install(),
        }
    }

    fn take(&mut self, work: impl Fn(&Table) -> Result<Work, Refusal>) {
        self.taken.extend(work(&self.table));
    }

    /// New, stale, fenced or told again: few versions are drawn, in no order.
    fn apply(&mut self, keys: &[Key]) {
        let key = &keys[usize::try_from(self.below(keys.len() as u64)).unwrap()];
        let version = Version::new(self.below(3), self.below(6));
        let change = world::said(key, version);
        let wanted = match self.model.change(key).map(|stored| stored.version) {
            Some(stored) if stored.epoch > version.epoch => Outcome::Fenced,
            Some(stored) if stored >= version => Outcome::Stale,
            _ => Outcome::Applied,
        };
        assert_eq!(self.table.apply(change.clone()), wanted, "{key} {version}");
        if wanted == Outcome::Applied {
            assert!(self.model.apply(change.clone()));
            self.log.push(change);
        }
    }

    fn path(&self, file: u64) -> std::path::PathBuf {
        self.folder.0.path().join(file.to_string())
    }

    fn install(&mut self) {
        let Some(work) = self.taken.pop_front() else { return };
        self.files += 1;
        let built = work.build(&self.path(self.files), &mut |_| ()).unwrap();
        match self.table.install(&built) {
            Ok(_) | Err(Refusal::Outdated | Refusal::Levels) => {}
            Err(refusal) => panic!("{refusal}"),
        }
    }

    /// Makes the base anew without the graves that it had before.
    fn forget(&mut self) {
        let view = self.table.publish();
        let Some(base) = view.base().cloned() else { return };
        let work = self.table.rebuild(Forget::KnownTo(Arc::clone(&base)));
        self.files += 1;
        let built = work.build(&self.path(self.files), &mut |_| ()).unwrap();
        self.table.install(&built).unwrap();
        for grave in base.changes().map(Result::unwrap).filter(|change| change.record.is_grave()) {
            let key = grave.record.key();
            if self.model.change(&key) == Some(&grave) {
                self.model.forget(&key);
            }
        }
    }

    /// Starts again from the files that the table stands on, and what the log has behind them.
    fn restart(&mut self) {
        let view = self.table.publish();
        let base = view.base().map(|base| Arc::new(Snapshot::open(base.path()).unwrap()));
        let levels = view.levels().iter().map(|level| Arc::new(Snapshot::open_level(level.path()).unwrap()));
        let levels: Vec<_> = levels.collect();
        let newest = levels.first().or(base.as_ref());
        let offset = newest.and_then(|file| file.header().offsets.first().copied()).unwrap_or(0);
        self.table = Table::with_layers(base, levels, &world::region(0)).unwrap();
        self.taken.clear();
        for change in &self.log[usize::try_from(offset).unwrap()..] {
            self.table.apply(change.clone());
        }
    }
}
