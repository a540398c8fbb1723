//! Against a plain model: whatever is held is applied in the end, and what is not held is what would have been.

use std::collections::HashMap;
use std::net::SocketAddr;

use proptest::prelude::*;
use ringway_state::id::{Region, ServiceId};
use ringway_state::record::{Endpoint, EndpointSet, Version};

use super::*;

fn change(service: usize, endpoints: u64, version: u64) -> Change {
    let endpoint = |n: u64| Endpoint {
        address: SocketAddr::from(([10, 0, (n >> 8) as u8, n as u8], 80)),
        state: EndpointState::Healthy,
    };
    let set = EndpointSet::new((0..endpoints).map(endpoint)).unwrap();
    let (service, region) =
        (ServiceId::parse(&format!("svc_{service}")).unwrap(), Region::parse("local").unwrap());
    Change { version: Version::new(1, version), record: Record::Endpoints(service, region, Some(set)) }
}

/// A table of sets: last writer wins, and no more.
#[derive(Default)]
struct Table(HashMap<Key, Change>);

impl Table {
    fn healthy(&self, key: &Key) -> u64 {
        self.0.get(key).map_or(0, |change| healthy(&change.record))
    }

    fn version(&self, key: &Key) -> Option<Version> {
        self.0.get(key).map(|change| change.version)
    }
}

/// Guards and the table that they guard, as the feed has them.
struct World {
    guards: Guards,
    table: Table,
    start: Instant,
    now: Instant,
    /// When a set lost its last healthy endpoint.
    emptied: Vec<Instant>,
}

impl World {
    fn new(sets: usize, endpoints: u64) -> World {
        let start = Instant::now();
        let mut world = World {
            guards: Guards::new(0, 1 << 18),
            table: Table::default(),
            start,
            now: start,
            emptied: Vec::new(),
        };
        world.guards.counted(0);
        (0..sets).for_each(|service| world.apply(change(service, endpoints, 1)));
        world
    }

    fn apply(&mut self, change: Change) {
        let key = change.record.key();
        if self.table.version(&key).is_some_and(|version| version >= change.version) {
            return;
        }
        let effect = Effect { before: self.table.healthy(&key), after: healthy(&change.record) };
        if effect.before > 0 && effect.after == 0 {
            self.emptied.push(self.now);
        }
        self.guards.applied(&key, effect, self.now);
        self.table.0.insert(key, change);
    }

    /// Takes a change as the feed does.
    fn offer(&mut self, change: Change) -> Option<Rule> {
        let key = change.record.key();
        if self.table.version(&key).is_some_and(|version| version >= change.version) {
            return None;
        }
        let effect = Effect { before: self.table.healthy(&key), after: healthy(&change.record) };
        match self.guards.judge(change, effect, self.now) {
            Judgement::Apply(change) | Judgement::LetGo(change, _) => {
                self.apply(change);
                None
            }
            Judgement::Held(rule) => Some(rule),
            Judgement::NoRoom(..) => panic!("there is room"),
        }
    }

    fn pass(&mut self, seconds: u64) {
        for _ in 0..seconds {
            self.now += Duration::from_secs(1);
            self.release();
        }
    }

    fn release(&mut self) {
        // Until everything was looked at and nothing found.
        let mut in_vain = 0;
        while in_vain < self.guards.held.len() / limits::GUARD_LOOK + 2 {
            let table = &self.table;
            match self.guards.release(self.now, |key| table.healthy(key)) {
                Some(change) => self.apply(Change::clone(&change)),
                None => in_vain += 1,
            }
        }
    }

    fn held(&self, rule: Rule) -> usize {
        self.guards.holdings(self.now)[rule as usize].held
    }
}

#[test]
fn a_bug_that_empties_every_set_takes_a_share_a_minute() {
    const SETS: usize = 20_000;
    let mut world = World::new(SETS, 2);
    let share = SETS as u64 / limits::GUARD_EMPTIED_PART;
    for service in 0..SETS / 3 {
        world.offer(change(service, 0, 2));
    }
    // The share shrinks with the sets.
    let first = world.emptied.len();
    assert!((share - share / 50..=share).contains(&(first as u64)), "{first}");
    assert_eq!(world.held(Rule::Emptied), SETS / 3 - first);
    world.pass(59);
    assert_eq!(world.emptied.len(), first);
    world.pass(60);
    assert!((first + 1..=2 * first).contains(&world.emptied.len()), "{}", world.emptied.len());
    // The sender is mended: newer values win over those that are held, and nothing of the bug comes after.
    for service in 0..SETS / 3 {
        assert_eq!(world.offer(change(service, 3, 3)), None);
    }
    assert_eq!((world.held(Rule::Emptied), world.guards.is_holding()), (0, false));
    let emptied = world.emptied.len();
    world.pass(120);
    assert_eq!(world.emptied.len(), emptied);
}

#[test]
fn a_fleet_loses_no_more_than_half_before_somebody_says_so() {
    let mut world = World::new(1_000, 4);
    // Each loses one, then another: 50 % in all. One more is too many.
    for (version, left) in [(2, 3), (3, 2)] {
        (0..1_000).for_each(|service| assert_eq!(world.offer(change(service, left, version)), None));
    }
    assert_eq!(world.offer(change(7, 1, 4)), Some(Rule::Fleet));
    assert_eq!(world.offer(change(7, 5, 5)), None, "more is always welcome");
    assert_eq!(world.offer(change(8, 1, 4)), None, "which makes room");
    assert_eq!(world.held(Rule::Fleet), 0);
    for service in 10..500 {
        world.offer(change(service, 1, 4));
    }
    let held = world.held(Rule::Fleet);
    assert!(held > 480, "{held}");
    world.guards.acknowledge(Meant::Rule(Rule::Fleet), ACKNOWLEDGED, world.now);
    world.release();
    assert_eq!((world.held(Rule::Fleet), world.guards.is_holding()), (0, false));
    // What was meant is not held against what follows.
    (500..600).for_each(|service| assert_eq!(world.offer(change(service, 1, 4)), None));
    world.pass(limits::GUARD_ACKNOWLEDGED_MS / 1000 + 1);
    assert_eq!(world.offer(change(601, 1, 4)), None);
}

#[test]
fn a_large_set_loses_no_more_than_half_and_a_small_one_may() {
    let mut world = World::new(100, 100);
    assert_eq!(world.offer(change(1, 49, 2)), Some(Rule::Service));
    assert_eq!(world.offer(change(2, 60, 2)), None);
    // Step by step comes to the same.
    assert_eq!(world.offer(change(2, 50, 3)), None);
    assert_eq!(world.offer(change(2, 49, 4)), Some(Rule::Service));
    world.offer(change(200, 4, 1));
    assert_eq!(world.offer(change(200, 1, 2)), None);
    // Nobody says anything: it was meant.
    world.pass(limits::GUARD_EXPIRES_MS / 1000 - 1);
    assert_eq!(world.held(Rule::Service), 2);
    world.pass(1);
    assert!(!world.guards.is_holding());
    assert_eq!(world.table.healthy(&change(1, 0, 0).record.key()), 49);
}

/// 49 % may go, 51 % may not; with somebody's word they may.
#[test]
fn forty_nine_percent_go_and_fifty_one_do_not() {
    let lose = |world: &mut World, services: std::ops::Range<usize>| {
        services.filter_map(|service| world.offer(change(service, 0, 2))).collect::<Vec<_>>()
    };
    let mut world = World::new(1_000, 1);
    world.guards.acknowledge(Meant::Rule(Rule::Emptied), ACKNOWLEDGED, world.now);
    assert_eq!(lose(&mut world, 0..490), []);
    assert_eq!(lose(&mut world, 490..510), [Rule::Fleet; 10]);
    world.guards.acknowledge(Meant::Rule(Rule::Fleet), ACKNOWLEDGED, world.now);
    world.release();
    assert!(!world.guards.is_holding() && world.emptied.len() == 510);
}

/// However much is held, and for whatever reason: none of it is looked at for as long as none may go, and then the first goes
/// at the first look.
#[test]
fn what_may_not_go_is_not_looked_at() {
    let looks = std::cell::Cell::new(0);
    let release = |world: &mut World| {
        let table = &world.table;
        let before = |key: &Key| {
            looks.set(looks.get() + 1);
            table.healthy(key)
        };
        let released = world.guards.release(world.now, before);
        released.map(|change| world.apply(Change::clone(&change))).is_some()
    };
    let mut world = World::new(20_000, 2);
    (0..9_000).for_each(|service| {
        world.offer(change(service, 0, 2));
    });
    world.offer(change(20_000, 100, 1));
    assert_eq!(world.offer(change(20_000, 49, 2)), Some(Rule::Service));
    assert!(world.held(Rule::Emptied) > 8_000);
    assert!(!release(&mut world) && looks.get() == 0);
    world.now += Duration::from_secs(60);
    assert!(release(&mut world) && looks.get() == 1);
    let mut released = 1;
    while release(&mut world) {
        released += 1;
    }
    assert!(released > 100 && looks.get() == released, "{released} {}", looks.get());

    let mut world = World::new(10_000, 4);
    (0..10_000).for_each(|service| assert_eq!(world.offer(change(service, 2, 2)), None));
    (0..9_000).for_each(|service| assert_eq!(world.offer(change(service, 1, 3)), Some(Rule::Fleet)));
    looks.set(0);
    assert!(!release(&mut world) && looks.get() == 0);
    assert_eq!(world.offer(change(9_999, 3, 3)), None);
    assert!(release(&mut world) && looks.get() == 1, "there is room for one");
    assert!(!release(&mut world) && looks.get() == 1);
    world.now += EXPIRES;
    assert!(release(&mut world) && looks.get() == 2);
}

#[test]
fn one_service_may_be_meant_and_no_other() {
    let mut world = World::new(20, 100);
    for service in 0..10 {
        assert_eq!(world.offer(change(service, 49, 2)), Some(Rule::Service));
    }
    world.guards.acknowledge(Meant::Service(ServiceId::parse("svc_3").unwrap()), ACKNOWLEDGED, world.now);
    world.release();
    assert_eq!((world.held(Rule::Service), world.table.healthy(&change(3, 0, 0).record.key())), (9, 49));
    // For a while.
    assert_eq!(world.offer(change(3, 2, 3)), None);
    assert_eq!(world.offer(change(4, 2, 3)), Some(Rule::Service));
    world.pass(limits::GUARD_ACKNOWLEDGED_MS / 1000 + 1);
    assert_eq!(world.offer(change(3, 100, 4)), None);
    assert_eq!(world.offer(change(3, 2, 5)), Some(Rule::Service));
}

/// What a service loses that is meant to is not held against the fleet.
#[test]
fn what_is_meant_of_one_service_leaves_the_others_their_part() {
    let mut world = World::new(9, 100);
    world.offer(change(9, 900, 1));
    world.guards.acknowledge(Meant::Service(ServiceId::parse("svc_9").unwrap()), ACKNOWLEDGED, world.now);
    assert_eq!(world.offer(change(9, 0, 2)), None);
    let fall = |world: &mut World, service| world.offer(change(service, 50, 2));
    assert_eq!((0..9).filter_map(|service| fall(&mut world, service)).collect::<Vec<_>>(), []);
    assert_eq!(world.offer(change(0, 1, 3)), Some(Rule::Service));
}

/// Before the fleet was counted, it is taken for a small one.
#[test]
fn a_fall_before_the_count_waits_for_it() {
    let start = Instant::now();
    let mut world = World {
        guards: Guards::new(0, 1_000),
        table: Table::default(),
        start,
        now: start,
        emptied: Vec::new(),
    };
    world.guards.begin(start);
    // There since before the start.
    for service in 0..1_000 {
        let change = change(service, 5, 1);
        world.table.0.insert(change.record.key(), change);
    }
    let (few, half) = (limits::GUARD_FLEET_LEAST as usize / 2, 300);
    for service in 0..half {
        let may = if service < few { None } else { Some(Rule::Fleet) };
        assert_eq!(world.offer(change(service, 4, 2)), may, "{service}");
    }
    world.release();
    assert_eq!(world.held(Rule::Fleet), half - few);
    world.guards.counted(5_000);
    world.release();
    assert!(!world.guards.is_holding());
    // Those count that went before it.
    for (version, left) in [(3, 3), (4, 2), (5, 1)] {
        for service in 0..1_000 {
            world.offer(change(service, left, version));
        }
    }
    let left: u64 = world.table.0.values().map(|change| healthy(&change.record)).sum();
    assert_eq!(left, 2_500);
}

#[test]
fn small_fleets_are_left_alone() {
    let mut world = World::new(50, 3);
    (0..50).for_each(|service| assert_eq!(world.offer(change(service, 0, 2)), None));
}

#[derive(Clone, Debug)]
enum Step {
    Offer { service: usize, endpoints: u64, version: u64 },
    Pass(u64),
    Acknowledge(Rule),
}

fn step() -> impl Strategy<Value = Step> {
    // A version has one value.
    let endpoints = |service: usize, version: u64| (service as u64 * 31 + version * 17) % 80;
    let offer = (0_usize..300, 1_u64..60).prop_map(move |(service, version)| {
        let endpoints = Some(endpoints(service, version)).filter(|endpoints| *endpoints < 40);
        Step::Offer { service, endpoints: endpoints.unwrap_or(0), version }
    });
    prop_oneof![
        60 => offer,
        2 => (1_u64..90).prop_map(Step::Pass),
        1 => prop::sample::select(Rule::ALL.to_vec()).prop_map(Step::Acknowledge),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn nothing_is_lost_and_the_newest_wins(steps in prop::collection::vec(step(), 0..600)) {
        let mut world = World::new(300, 3);
        let mut model: HashMap<Key, Change> = world.table.0.clone();
        let mut acknowledged = false;
        for step in steps {
            match step {
                Step::Offer { service, endpoints, version } => {
                    let change = change(service, endpoints, version);
                    let newest = model.entry(change.record.key()).or_insert_with(|| change.clone());
                    if newest.version < change.version {
                        *newest = change.clone();
                    }
                    world.offer(change);
                }
                Step::Pass(seconds) => world.pass(seconds),
                Step::Acknowledge(rule) => {
                    acknowledged |= rule == Rule::Emptied;
                    world.guards.acknowledge(Meant::Rule(rule), ACKNOWLEDGED, world.now);
                    world.release();
                }
            }
            for (key, change) in &world.table.0 {
                prop_assert!(model[key].version >= change.version);
            }
        }
        if !acknowledged {
            for at in &world.emptied {
                let minute = world.emptied.iter().filter(|other| **other >= *at && **other < *at + Duration::from_secs(60));
                prop_assert!(minute.count() as u64 <= limits::GUARD_EMPTIED_LEAST);
            }
        }
        // Whatever is held goes in the end, without anybody's word.
        for _ in 0..20 {
            world.now += EXPIRES / 2;
            world.release();
        }
        prop_assert!(!world.guards.is_holding(), "{} are held after {:?}", world.guards.held.len(), world.now - world.start);
        prop_assert_eq!(&world.table.0, &model);
    }
}
