//! The table is the model, whatever it goes through: random schedules of changes, flushes, merges, new bases,
//! publications and restarts.
//!
//! `RINGWAY_SOAK=20` tries a million. A schedule that fails names itself: `RINGWAY_SCHEDULE=7` runs that one alone. How many
//! there were, and how many steps, is printed as they go (`--nocapture`).
#![allow(clippy::print_stdout)] // that

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use super::world;
use crate::{
    Forget, Outcome, Refusal, Table, View, Work,
    hash::splitmix64,
    model::Model,
    record::{Change, Key, Version},
    snapshot::{Role, Snapshot},
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
        Schedule::new(one, &folder).run();
        return;
    }
    let schedules = SCHEDULES * from_environment("RINGWAY_SOAK").unwrap_or(1);
    let mut done = Done::default();
    for number in (part..schedules).step_by(usize::try_from(PARTS).unwrap()) {
        let run = || Schedule::new(number, &folder).run();
        let Ok(one) = catch_unwind(AssertUnwindSafe(run)) else { panic!("in schedule {number}") };
        done.add(&one);
        if done.schedules.is_multiple_of(SCHEDULES / PARTS) {
            println!("part {part} of {PARTS}: {done:?}");
        }
    }
}

/// What was gone through.
#[derive(Debug, Default)]
struct Done {
    schedules: u64,
    steps: u64,
    applied: u64,
    flushed: u64,
    merged: u64,
    rebuilt: u64,
    restarts: u64,
    views: u64,
}

impl Done {
    fn add(&mut self, one: &Self) {
        let Self { schedules, steps, applied, flushed, merged, rebuilt, restarts, views } = one;
        let sums = [
            (&mut self.schedules, schedules),
            (&mut self.steps, steps),
            (&mut self.applied, applied),
            (&mut self.flushed, flushed),
            (&mut self.merged, merged),
            (&mut self.rebuilt, rebuilt),
            (&mut self.restarts, restarts),
            (&mut self.views, views),
        ];
        sums.into_iter().for_each(|(sum, one)| *sum += one);
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
    taken: Vec<Work>,
    /// Views as they were published, with the state that they must show for ever.
    kept: Vec<(View, Model)>,
    folder: &'a Folder,
    files: u64,
    done: Done,
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
            taken: Vec::new(),
            kept: Vec::new(),
            folder,
            files: 0,
            done: Done { schedules: 1, ..Done::default() },
        }
    }

    fn below(&mut self, bound: u64) -> u64 {
        splitmix64(&mut self.random) % bound
    }

    fn run(mut self) -> Done {
        // Few keys, so that changes of one meet; or all.
        let keys: Vec<Key> = world::all_keys().collect();
        let (from, count) =
            if self.below(2) == 0 { (self.below(keys.len() as u64), 6) } else { (0, keys.len()) };
        let keys: Vec<Key> =
            keys.iter().cycle().skip(usize::try_from(from).unwrap()).take(count).cloned().collect();
        for _ in 0..10 + self.below(60) {
            self.step(&keys);
            self.done.steps += 1;
            assert_eq!(self.table.digest(), self.model.digest());
        }
        self.kept.push((self.table.publish(), self.model.clone()));
        for (view, model) in std::mem::take(&mut self.kept) {
            world::assert_equal(&view, &model);
            self.done.views += 1;
        }
        for file in 1..=self.files {
            std::fs::remove_file(self.path(file)).unwrap();
        }
        self.done
    }

    fn step(&mut self, keys: &[Key]) {
        match self.below(40) {
            0..24 => self.apply(keys),
            24..26 => self.kept.push((self.table.publish(), self.model.clone())),
            26..30 => {
                let offsets = vec![self.log.len() as u64];
                self.taken.extend(self.table.flush(offsets));
            }
            30..33 => self.merge(),
            33 if self.below(2) == 0 => self.taken.push(self.table.rebuild(Forget::Nothing)),
            33 => self.forget(),
            34 if self.below(2) == 0 => self.restart(),
            _ => self.install(),
        }
    }

    /// Takes neighbours, if there are any.
    fn merge(&mut self) {
        let levels = self.table.publish().levels().len() as u64;
        let Some(pairs) = levels.checked_sub(1).filter(|&pairs| pairs > 0) else { return };
        let from = self.below(pairs);
        let to = from + 2 + self.below(levels - from - 1);
        let range = usize::try_from(from).unwrap()..usize::try_from(to).unwrap();
        self.taken.push(self.table.merge(range).unwrap());
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
            self.done.applied += 1;
        }
    }

    fn path(&self, file: u64) -> std::path::PathBuf {
        self.folder.0.path().join(file.to_string())
    }

    /// Work is done in any order, and may never be: then it is taken again, and what came of it is not installed twice.
    fn install(&mut self) {
        if self.taken.is_empty() {
            return;
        }
        let at = self.below(self.taken.len() as u64);
        let work = self.taken.swap_remove(usize::try_from(at).unwrap());
        self.files += 1;
        let built = work.build(&self.path(self.files), &mut |_| ()).unwrap();
        match self.table.install(&built) {
            Ok(retired) => {
                let is_level = matches!(built.file().header().role, Role::Level { .. });
                let count = match (is_level, retired.files.is_empty()) {
                    (true, true) => &mut self.done.flushed,
                    (true, false) => &mut self.done.merged,
                    (false, _) => &mut self.done.rebuilt,
                };
                *count += 1;
            }
            Err(Refusal::Outdated | Refusal::Levels) => {}
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
        self.done.rebuilt += 1;
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
        self.done.restarts += 1;
        for change in &self.log[usize::try_from(offset).unwrap()..] {
            self.table.apply(change.clone());
        }
    }
}
