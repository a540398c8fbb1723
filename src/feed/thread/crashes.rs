//! A feed's thread that is killed at any moment: what it serves after that is what it would have served, and nothing that
//! guards let go of is held again.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ringway_state::View;
use ringway_state::id::{Region, ServiceId};
use ringway_state::record::{Key, Version};

use super::tests::{Running, append, run, set, wait_until};
use crate::feed::guards::{Meant, healthy};
use crate::limits;

/// All endpoints together are too few for the rule of the fleet, so that the rule of large sets alone holds something: when,
/// the model knows.
const SERVICES: usize = 7;
const LARGE: std::ops::RangeInclusive<usize> = 20..=28;
const SMALL: usize = 1;

const _: () = assert!((SERVICES * *LARGE.end()) < limits::GUARD_FLEET_LEAST as usize);
const _: () = assert!(*LARGE.start() as u64 >= limits::GUARD_SERVICE_LEAST);

/// What would be served had nobody been killed.
#[derive(Default)]
struct Model {
    /// The last version of each set, the endpoints that it has, and those that are held.
    versions: HashMap<usize, u64>,
    table: HashMap<usize, (u64, usize)>,
    held: HashMap<usize, (u64, usize)>,
    meant: HashSet<usize>,
}

impl Model {
    fn write(&mut self, service: usize, endpoints: usize, is_history: bool) -> String {
        let version = self.versions.entry(service).or_default();
        *version += 1;
        let before = self.table.get(&service).map_or(0, |(_, endpoints)| *endpoints);
        let falls = LARGE.contains(&before) && endpoints == SMALL;
        if falls && !is_history && !self.meant.contains(&service) {
            self.held.insert(service, (*version, endpoints));
        } else {
            self.held.remove(&service);
            self.table.insert(service, (*version, endpoints));
        }
        set(service, endpoints, *version)
    }

    fn acknowledge(&mut self, service: usize) {
        self.meant.insert(service);
        if let Some(held) = self.held.remove(&service) {
            self.table.insert(service, held);
        }
    }

    /// A file that has all that is to hold.
    fn all(&self) -> String {
        let lines = |of: &HashMap<usize, (u64, usize)>| {
            of.iter().map(|(service, (version, endpoints))| set(*service, *endpoints, *version)).collect()
        };
        let (table, held): (String, String) = (lines(&self.table), lines(&self.held));
        table + &held
    }
}

struct World {
    dir: tempfile::TempDir,
    seed: u64,
    random: fastrand::Rng,
    model: Model,
    /// The folder has a new name after each crash: what the killed one still wanted to do finds nothing.
    crashes: usize,
    running: Option<Running>,
    view: View,
}

impl World {
    fn new(seed: u64) -> World {
        let dir = tempfile::tempdir().unwrap();
        let mut model = Model::default();
        let mut begins: String = (0..SERVICES).map(|service| model.write(service, 24, true)).collect();
        // History is not judged, however often it is read.
        begins += &model.write(SERVICES - 1, SMALL, true);
        fs::write(dir.path().join("changes.jsonl"), begins).unwrap();
        let random = fastrand::Rng::with_seed(seed);
        let (running, view) = start(&dir, 0, Duration::from_millis(20));
        World { dir, seed, random, model, crashes: 0, running: Some(running), view }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("changes.jsonl")
    }

    fn running(&self) -> &Running {
        self.running.as_ref().unwrap()
    }

    fn look(&mut self) {
        if let Some(last) = self.running().published.try_iter().last() {
            self.view = last.view;
        }
    }

    /// Endpoints of a set, and its version.
    fn served(&self, service: usize) -> (Version, u64) {
        let id = ServiceId::parse(&format!("svc_{service}")).unwrap();
        let stored = self.view.change(&Key::Endpoints(id, Region::parse("local").unwrap()));
        stored.map_or((Version::default(), 0), |change| (change.version, healthy(&change.record)))
    }

    fn wait_ready(&mut self) {
        let readiness = Arc::clone(&self.running().readiness);
        wait_until("the feed was read", || readiness.is_ready());
    }

    fn wait_same(&mut self, when: &str) {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            self.look();
            let expected = |service| {
                let (version, endpoints) = self.model.table[&service];
                (Version::new(1, version), endpoints as u64)
            };
            let all = 0..SERVICES;
            let others: Vec<_> = all.filter(|service| self.served(*service) != expected(*service)).collect();
            if others.is_empty() {
                return;
            }
            let shown = others.iter().map(|service| (service, self.served(*service), expected(*service)));
            assert!(
                Instant::now() < deadline,
                "{when}, with seed {}, it serves other than it should: {:?}",
                self.seed,
                shown.collect::<Vec<_>>()
            );
            std::thread::park_timeout(Duration::from_millis(1));
        }
    }

    /// The process is gone, and comes back when nobody's word holds any longer: what it was given for still does.
    fn crash_for_long(&mut self) {
        self.wait_same("before it is gone for long");
        // Everything before it is on record then.
        let nobody = Meant::Service(ServiceId::parse("svc_none").unwrap());
        let ticket = self.running().desk.acknowledge(nobody).unwrap();
        self.wait_on_record(ticket);
        self.model.meant.clear();
        self.crash(true);
    }

    /// The process is gone between any two of its steps, on whichever thread.
    fn crash(&mut self, is_long: bool) {
        let pause = Duration::from_micros(self.random.u64(..3_000));
        std::thread::park_timeout(pause);
        let name = |crashes| format!("state{crashes}");
        let (from, to) = (self.dir.path().join(name(self.crashes)), name(self.crashes + 1));
        fs::rename(from, self.dir.path().join(to)).unwrap();
        self.look();
        let before: Vec<_> = (0..SERVICES).map(|service| self.served(service)).collect();
        drop(self.running.take());
        self.crashes += 1;
        if is_long {
            forget_words(&self.dir.path().join(name(self.crashes)));
        }
        let flush_every = Duration::from_millis(self.random.choice([1, 20, 3_600_000]).unwrap());
        let (running, view) = start(&self.dir, self.crashes, flush_every);
        (self.running, self.view) = (Some(running), view);
        if self.random.bool() {
            // Clients are let in from then on.
            self.wait_ready();
            self.look();
            for (service, before) in before.into_iter().enumerate() {
                let now = self.served(service);
                assert!(
                    now.0 >= before.0,
                    "svc_{service} goes back from {before:?} to {now:?} with seed {}",
                    self.seed
                );
            }
        }
    }

    fn acknowledge(&mut self) {
        let service = self.random.usize(..SERVICES);
        let meant = Meant::Service(ServiceId::parse(&format!("svc_{service}")).unwrap());
        self.model.acknowledge(service);
        let mut ticket = self.running().desk.acknowledge(meant.clone()).unwrap();
        if self.random.bool() {
            // Nobody was told that it is on record, and says so again.
            self.crash(false);
            ticket = self.running().desk.acknowledge(meant).unwrap();
        }
        self.wait_on_record(ticket);
    }

    fn wait_on_record(&self, ticket: u64) {
        let desk = Arc::clone(&self.running().desk);
        wait_until("it is on record", || desk.has_on_record(ticket));
    }

    fn step(&mut self) {
        match self.random.u8(..10) {
            0..=4 => {
                let service = self.random.usize(..SERVICES);
                let endpoints = match self.random.bool() {
                    true => SMALL,
                    false => self.random.usize(LARGE),
                };
                append(&self.path(), &self.model.write(service, endpoints, false));
            }
            5 => self.acknowledge(),
            6 => {
                let new = self.dir.path().join("new");
                fs::write(&new, self.model.all()).unwrap();
                fs::rename(new, self.path()).unwrap();
            }
            7 => self.wait_same("while it runs"),
            8 => self.crash_for_long(),
            _ => self.crash(false),
        }
    }
}

/// As if what somebody said had been ten minutes ago.
fn forget_words(state: &Path) {
    for file in fs::read_dir(state).unwrap().map(|entry| entry.unwrap().path()) {
        if file.extension().is_some_and(|kind| kind == "judged") {
            let text = fs::read_to_string(&file).unwrap();
            let kept = text.split_inclusive('\n').filter(|line| !line.contains("\"until\":"));
            fs::write(&file, kept.collect::<String>()).unwrap();
        }
    }
}

fn start(dir: &tempfile::TempDir, crashes: usize, flush_every: Duration) -> (Running, View) {
    let running =
        run(&dir.path().join("changes.jsonl"), &dir.path().join(format!("state{crashes}")), flush_every);
    let view = running.view.clone();
    (running, view)
}

#[test]
fn killed_at_any_step_it_serves_what_it_would_have_served() {
    for _ in 0..40 {
        let seed = fastrand::u64(..);
        let mut world = World::new(seed);
        match world.random.bool() {
            true => world.wait_ready(),
            false => world.crash(false),
        }
        world.wait_ready();
        for _ in 0..30 {
            world.step();
        }
        world.crash(false);
        world.wait_same("in the end");
    }
}

/// The file that took the place of another has the last value of a set only, and it came while nobody was there.
#[test]
fn what_follows_on_what_was_let_go_is_no_fall_though_the_line_of_that_is_gone() {
    let mut world = World::new(0);
    let manifest = world.dir.path().join("state0/manifest.json");
    wait_until("a file of the table is on record", || {
        fs::read_to_string(&manifest).is_ok_and(|text| text.contains(".snap"))
    });
    let again = |world: &mut World| {
        drop(world.running.take());
        forget_words(&world.dir.path().join("state0"));
        let (running, view) = start(&world.dir, 0, Duration::from_secs(3_600));
        (world.running, world.view) = (Some(running), view);
        world.wait_ready();
    };
    again(&mut world);
    append(&world.path(), &world.model.write(0, SMALL, false));
    world.model.acknowledge(0);
    let meant = Meant::Service(ServiceId::parse("svc_0").unwrap());
    let ticket = world.running().desk.acknowledge(meant).unwrap();
    world.wait_on_record(ticket);
    world.wait_same("before");
    drop(world.running.take());
    world.model.meant.clear();
    world.model.write(0, SMALL, false);
    world.model.write(1, SMALL, false);
    fs::write(world.path(), world.model.all()).unwrap();
    again(&mut world);
    world.wait_same("after");
}
