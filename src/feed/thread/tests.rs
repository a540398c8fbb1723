//! The whole thread, with a core that takes up at once what it is given.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};

use ringway_state::id::{Region, ServiceId};
use ringway_state::record::Key;
use ringway_state::{HostHit, View};

use super::*;
use crate::feed::guards::{Meant, Rule, healthy};
use crate::feed::publish::Publication;

/// What guards may hold, far less than there is to hold.
const HELD: usize = 10;
const SERVICES: usize = 300;
/// So many may be emptied in a minute.
const SHARE: usize = limits::GUARD_EMPTIED_LEAST as usize;
const SECOND: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(60);

struct World {
    dir: tempfile::TempDir,
    desk: Arc<GuardDesk>,
    stats: Arc<FeedStats>,
    published: Receiver<Publication>,
    _thread: FeedThread,
}

/// A feed's thread on its own.
pub(super) struct Running {
    pub(super) desk: Arc<GuardDesk>,
    stats: Arc<FeedStats>,
    pub(super) readiness: Arc<Readiness>,
    /// What it began with.
    pub(super) view: View,
    pub(super) published: Receiver<Publication>,
    thread: FeedThread,
}

/// Begins to read a file, with what a folder has of it.
pub(super) fn run(path: &Path, state: &Path, flush_every: Duration) -> Running {
    let state = StateDir::at(state);
    let region = Region::parse("local").unwrap();
    let stored =
        crate::feed::store::open(state.path(), path, &region, || Ok::<_, crate::feed::StoreError>(None))
            .unwrap();
    let view = stored.table.publish();
    let core = Arc::new(Taken::new(Instant::now()));
    let (taken, (give, published)) = (Arc::clone(&core), channel());
    let take = move |publication: &Publication| {
        core.take(publication.sequence, Instant::now());
        core.cut(publication.sequence, Instant::now());
        let _ = give.send(publication.clone());
    };
    let (desk, stats) = (Arc::<GuardDesk>::default(), Arc::<FeedStats>::default());
    let readiness = Arc::<Readiness>::default();
    let parts = FeedParts {
        path: path.to_owned(),
        dir: state,
        stored,
        cores: vec![taken],
        give: Box::new(take),
        show: Box::new(|_| ()),
        desk: Arc::clone(&desk),
        held: HELD,
        flush_every,
        stats: Arc::clone(&stats),
        readiness: Arc::clone(&readiness),
        caught_up: Box::new(|| ()),
    };
    Running { desk, stats, readiness, view, published, thread: FeedThread::start(parts).unwrap() }
}

pub(super) fn set(service: usize, endpoints: usize, version: u64) -> String {
    let endpoint = |n| format!(r#"{{"ip":"10.0.0.{}","port":80,"state":"healthy"}}"#, n + 1);
    let all: Vec<String> = (0..endpoints).map(endpoint).collect();
    format!(
        r#"{{"kind":"endpoint_set","service":"svc_{service}","region":"local","endpoints":[{}],"version":[1,{version}]}}
"#,
        all.join(",")
    )
}

fn host(service: usize) -> String {
    format!(
        r#"{{"kind":"domain_map","hostname":"h{service}.test","service":"svc_{service}","class":"custom","version":[1,1]}}
"#
    )
}

fn tombstone(service: usize) -> String {
    format!(
        r#"{{"kind":"tombstone","hostname":"h{service}.test","reason":"transfer","version":[1,2]}}
"#
    )
}

fn emptied(services: std::ops::Range<usize>) -> String {
    services.map(|service| set(service, 0, 2)).collect()
}

impl World {
    /// A feed of services with an endpoint each, all of which has been read.
    fn new() -> World {
        World::flushing(Duration::from_secs(3_600))
    }

    /// What was read is in memory alone for so long at most.
    fn flushing(flush_every: Duration) -> World {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("changes.jsonl");
        fs::write(&path, (0..SERVICES).map(|n| host(n) + &set(n, 1, 1)).collect::<String>()).unwrap();
        let Running { desk, stats, readiness, published, thread, .. } =
            run(&path, &dir.path().join("state"), flush_every);
        let world = World { dir, desk, stats, published, _thread: thread };
        wait_until("the feed was read", || readiness.is_ready());
        world
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("changes.jsonl")
    }

    fn append(&self, text: &str) {
        append(&self.path(), text);
    }

    fn replace(&self, text: &str) {
        let new = self.dir.path().join("new");
        fs::write(&new, text).unwrap();
        fs::rename(new, self.path()).unwrap();
    }

    /// The first publication that is wanted.
    fn wait(&self, what: &str, within: Duration, is_it: impl Fn(&Publication) -> bool) {
        let deadline = Instant::now() + within;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.published.recv_timeout(left) {
                Ok(publication) if is_it(&publication) => return,
                Ok(_) => {}
                Err(_) => panic!("not within {within:?}: {what}"),
            }
        }
    }

    fn wait_for(&self, what: &str, is_it: impl Fn(&FeedStats) -> bool) {
        wait_until(what, || is_it(&self.stats));
    }

    fn acknowledge_all(&self) {
        for rule in Rule::ALL {
            self.desk.acknowledge(Meant::Rule(rule)).unwrap();
        }
    }
}

pub(super) fn wait_until(what: &str, mut is_it: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_it() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::park_timeout(Duration::from_millis(2));
    }
}

pub(super) fn append(path: &Path, text: &str) {
    File::options().append(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

fn endpoints(publication: &Publication, service: usize) -> u64 {
    let id = ServiceId::parse(&format!("svc_{service}")).unwrap();
    let key = Key::Endpoints(id, Region::parse("local").unwrap());
    publication.view.change(&key).map_or(0, |change| healthy(&change.record))
}

fn is_tombstone(publication: &Publication, service: usize) -> bool {
    let hit = publication.view.host(format!("h{service}.test").as_bytes());
    matches!(hit, Some(HostHit::Tombstone { .. }))
}

#[test]
fn no_tombstone_waits_for_what_guards_have_no_room_for_and_nothing_of_it_is_lost() {
    let world = World::new();
    world.append(&(emptied(0..200) + &tombstone(250)));
    world.wait("the tombstone is published, and cuts", SECOND, |publication| {
        let cuts = publication.cut.iter().flat_map(|hosts| hosts.iter());
        is_tombstone(publication, 250) && cuts.map(ToString::to_string).eq(["h250.test"])
    });
    world.wait_for("as many are passed over as there is no room for", |stats| {
        stats.passed.get() == (200 - SHARE - HELD) as u64
    });
    // A newer value wins over what was passed over, and what comes in between is taken.
    world.append(&(set(199, 7, 3) + &set(299, 5, 2)));
    world.wait("they are published", PATIENCE, |publication| {
        (endpoints(publication, 199), endpoints(publication, 299)) == (7, 5)
    });
    world.wait_for("it is shown", |stats| stats.arrears.get() > 0);
    assert!(world.desk.shown().1 > 0);
    world.acknowledge_all();
    world.wait("all is applied", PATIENCE, |publication| {
        (0..199).all(|service| endpoints(publication, service) == 0) && endpoints(publication, 199) == 7
    });
    world.wait_for("nothing is left", |stats| {
        stats.arrears.get() == 0 && Rule::ALL.iter().all(|rule| stats.holding(*rule).get() == 0)
    });
    assert_eq!(world.stats.let_through.get(), 0);
}

#[test]
fn what_was_passed_over_outlives_its_file() {
    let world = World::new();
    world.append(&emptied(0..200));
    world.wait_for("some are passed over", |stats| stats.passed.get() == (200 - SHARE - HELD) as u64);
    world.replace(&(emptied(200..240) + &tombstone(250)));
    world.wait("the tombstone is published", SECOND, |publication| is_tombstone(publication, 250));
    world.wait_for("more are passed over", |stats| stats.passed.get() == (240 - SHARE - HELD) as u64);
    world.acknowledge_all();
    world.wait("all is applied", PATIENCE, |publication| {
        (0..SERVICES).all(|service| endpoints(publication, service) == u64::from(service >= 240))
    });
}

#[test]
fn what_cannot_be_read_again_is_let_through_and_nothing_waits() {
    let world = World::new();
    world.append(&emptied(0..SHARE + HELD));
    world.wait_for("guards are full", |stats| stats.holding(Rule::Emptied).get() == HELD as u64);
    for n in 0..=limits::GUARD_SPANS {
        let (service, first) = (150 + n, world.stats.passed.get() + world.stats.let_through.get());
        world.replace(&set(service, 0, 2));
        world.wait_for("the file is read", |stats| stats.passed.get() + stats.let_through.get() > first);
    }
    world.wait("the last one is applied", PATIENCE, |publication| {
        endpoints(publication, 150 + limits::GUARD_SPANS) == 0
    });
    assert_eq!((world.stats.passed.get(), world.stats.let_through.get()), (limits::GUARD_SPANS as u64, 1));
}

/// The same keys again and again never fill the overlay, but what a restart has to read must not grow with them.
#[test]
fn what_was_read_comes_on_record_in_time_however_few_keys_it_has() {
    let world = World::flushing(Duration::from_millis(50));
    let line = |world: &World| {
        let record = fs::read(world.dir.path().join("state/manifest.json")).ok()?;
        serde_json::from_slice::<serde_json::Value>(&record).ok()?["feed"]["line"].as_u64()
    };
    let mut version = 2;
    for _ in 0..3 {
        let before = line(&world).unwrap_or_default();
        wait_until("its place is on record", || {
            version += 1;
            world.append(&set(0, 1, version));
            line(&world).is_some_and(|line| line > before + 1)
        });
    }
}
