//! Bounds of the levels, and work that comes too late.

use std::sync::Arc;

use super::world;
use crate::{
    Built, Due, Forget, HostHit, Layer, Outcome, Refusal, Table, Work,
    id::{HostName, Reason},
    limits::{LEVELS_MAX, OVERLAY_FLUSH_KEYS, OVERLAY_KEYS_MAX},
    record::{Change, HostValue, Key, Record, Version},
    snapshot::{self, OpenError, Snapshot},
};

/// A table, and a folder for its files.
struct Place {
    table: Table,
    folder: tempfile::TempDir,
    files: usize,
}

impl Place {
    fn new() -> Self {
        Self { table: Table::new(&world::region(0)), folder: tempfile::tempdir().unwrap(), files: 0 }
    }

    fn build(&mut self, work: Work) -> Built {
        self.files += 1;
        work.build(&self.folder.path().join(self.files.to_string()), &mut |_| ()).unwrap()
    }

    fn apply(&mut self, number: usize, counter: u64) {
        assert_eq!(self.table.apply(tombstone(number, counter)), Outcome::Applied);
    }

    fn flush(&mut self) {
        let work = self.table.flush(Vec::new()).unwrap();
        let built = self.build(work);
        self.table.install(&built).unwrap();
    }

    fn layer(&self, number: usize) -> Option<Layer> {
        self.table.publish().stored(&Key::Host(name(number))).map(|stored| stored.layer)
    }
}

fn name(number: usize) -> HostName {
    HostName::parse(&format!("host-{number}.example")).unwrap()
}

fn tombstone(number: usize, counter: u64) -> Change {
    let value = HostValue::Tombstone { reason: Reason::parse("takedown").unwrap() };
    Change { version: Version::new(1, counter), record: Record::Host(name(number), Some(value)) }
}

#[test]
fn as_many_levels_as_the_bound_says() {
    let mut place = Place::new();
    place.apply(0, 1);
    let early = place.table.flush(Vec::new()).unwrap();
    let early = place.build(early);
    for number in 0..LEVELS_MAX {
        place.apply(number, 2);
        place.flush();
    }
    place.apply(0, 3);
    assert_eq!(place.table.flush(Vec::new()).err(), Some(Refusal::Levels));
    assert_eq!(place.table.install(&early).err(), Some(Refusal::Levels));
    assert_eq!(place.table.merge(3..5).err(), Some(Refusal::NoSuchLevels));
    assert_eq!(place.table.merge(1..2).err(), Some(Refusal::NoSuchLevels));
    let merge = place.table.merge(0..LEVELS_MAX).unwrap();
    let merged = place.build(merge);
    assert_eq!(place.table.install(&merged).unwrap().files.len(), LEVELS_MAX);
    assert_eq!(place.layer(0), Some(Layer::Overlay), "nothing of what was refused is lost");
    assert_eq!(place.layer(LEVELS_MAX - 1), Some(Layer::Level(0)));
}

#[test]
fn work_that_is_outdated_changes_nothing() {
    let mut place = Place::new();
    place.apply(0, 1);
    let first = place.table.flush(vec![1]).unwrap();
    place.apply(1, 1);
    let second = place.table.flush(vec![2]).unwrap();
    let (first, second) = (place.build(first), place.build(second));
    place.table.install(&second).unwrap();
    assert_eq!(place.table.publish().levels()[0].header().offsets, [1], "it was the first again");
    assert_eq!((place.layer(0), place.layer(1)), (Some(Layer::Level(0)), Some(Layer::Overlay)));
    assert_eq!(place.table.install(&first).err(), Some(Refusal::Outdated), "it is there already");
    place.flush();
    place.apply(2, 1);
    place.flush();
    let (merge, rebuild) = (place.table.merge(0..3).unwrap(), place.table.rebuild(Forget::Nothing));
    let (merged, rebuilt) = (place.build(merge), place.build(rebuild));
    place.table.install(&rebuilt).unwrap();
    let digest = place.table.digest();
    for late in [&merged, &rebuilt] {
        assert_eq!(place.table.install(late).err(), Some(Refusal::Outdated));
    }
    assert_eq!((place.table.digest(), place.table.publish().levels().len()), (digest, 0));
    assert_eq!([0, 1, 2].map(|number| place.layer(number)), [Some(Layer::Base); 3]);
}

#[test]
fn a_level_takes_over_what_was_flushed_and_no_more() {
    let mut place = Place::new();
    (0..OVERLAY_FLUSH_KEYS).for_each(|number| place.apply(number, 1));
    assert_eq!(place.table.due(), Some(Due::Flush));
    let work = place.table.flush(Vec::new()).unwrap();
    (0..10).for_each(|number| place.apply(number, 2));
    let built = place.build(work);
    place.table.install(&built).unwrap();
    assert_eq!((place.table.overlay_size().0, place.table.due()), (10, None));
    assert_eq!(place.layer(9), Some(Layer::Overlay));
    assert_eq!(place.layer(10), Some(Layer::Level(0)));
    let view = place.table.publish();
    assert_eq!(view.stored(&Key::Host(name(9))).unwrap().change, tombstone(9, 2));
    assert!((0..OVERLAY_FLUSH_KEYS).all(|number| view.host(name(number).as_str().as_bytes()).is_some()));
    assert_eq!(view.changes().count(), OVERLAY_FLUSH_KEYS);
}

/// A full overlay takes changes again as soon as its level is there.
#[test]
fn a_level_makes_room() {
    let mut place = Place::new();
    (0..OVERLAY_KEYS_MAX).for_each(|number| place.apply(number, 1));
    let refused = tombstone(OVERLAY_KEYS_MAX, 1);
    assert_eq!(place.table.apply(refused.clone()), Outcome::Refused(Refusal::OverlayKeys));
    place.flush();
    assert_eq!(place.table.apply(refused), Outcome::Applied);
    assert_eq!(place.table.overlay_size().0, 1);
}

#[test]
fn merges_are_due_by_size() {
    let mut place = Place::new();
    for (level, keys) in [10_000, 100, 100].into_iter().enumerate() {
        assert_eq!(place.table.due(), None);
        (0..keys).for_each(|number| place.apply(number, level as u64 + 1));
        place.flush();
    }
    assert_eq!(place.table.due(), Some(Due::Merge(0..2)), "the oldest is large, and left alone");
    (0..10_000).for_each(|number| place.apply(number, 4));
    place.flush();
    assert_eq!(place.table.due(), Some(Due::Merge(0..4)));
}

#[test]
fn levels_are_not_misplaced() {
    let mut place = Place::new();
    for number in 0..3 {
        place.apply(number, 1);
        place.flush();
    }
    let levels = place.table.publish().levels().to_vec();
    let open = |levels: &[usize]| {
        let chosen = levels.iter().map(|&at| {
            let path = place.table.publish().levels()[at].path().to_owned();
            Arc::new(Snapshot::open_level(&path).unwrap())
        });
        Table::with_layers(None, chosen.collect(), &world::region(0)).map(|table| table.digest())
    };
    assert_eq!(open(&[0, 1, 2]), Ok(place.table.digest()));
    assert!(open(&[1, 2]).is_ok(), "an older state is one too");
    assert_eq!(open(&[0, 2]), Err(Refusal::Misplaced(0)));
    assert_eq!(open(&[0, 1]), Err(Refusal::Misplaced(1)));
    assert_eq!(open(&[1, 0, 2]), Err(Refusal::Misplaced(1)));
    let five = vec![Arc::clone(&levels[0]); LEVELS_MAX + 1];
    assert_eq!(Table::with_layers(None, five, &world::region(0)).err(), Some(Refusal::Levels));
    assert!(matches!(Snapshot::open(levels[0].path()), Err(OpenError::Level { .. })));
    let base = place.folder.path().join("base");
    snapshot::build([tombstone(0, 1)], &base, &snapshot::BuildOptions::default(), &mut |_| ()).unwrap();
    assert!(matches!(Snapshot::open_level(&base), Err(OpenError::Base { .. })));
}

/// Files of unlike seeds, as when a crowded one had to take another.
#[test]
fn layers_of_unlike_seeds_answer_alike() {
    let mut place = Place::new();
    let options = |seed| snapshot::BuildOptions { seed: Some(seed), offsets: Vec::new() };
    let path = place.folder.path().join("base");
    let of = |counter| world::all_keys().map(move |key| world::said(&key, Version::new(1, counter)));
    snapshot::build(of(1), &path, &options(1), &mut |_| ()).unwrap();
    let base = Arc::new(Snapshot::open(&path).unwrap());
    place.table = Table::with_base(base, &world::region(0));
    let mut model = crate::model::Model::default();
    of(1).for_each(|change| assert!(model.apply(change)));
    for counter in 2..4 {
        for change in of(counter).step_by(usize::try_from(counter).unwrap()) {
            place.table.apply(change.clone());
            model.apply(change);
        }
        let mut work = place.table.flush(Vec::new()).unwrap();
        work.seed = counter;
        let built = place.build(work);
        place.table.install(&built).unwrap();
        let view = place.table.publish();
        world::all_keys().for_each(|key| view.expect_more(view.expect(key.name().as_bytes())));
        world::assert_equal(&view, &model);
    }
}

#[test]
fn a_wildcard_is_asked_last() {
    let mut table = Table::new(&world::region(0));
    let mut say = |name: &str, counter, value: Option<&str>| {
        let value = value.map(|reason| HostValue::Tombstone { reason: Reason::parse(reason).unwrap() });
        let record = Record::Host(HostName::parse_pattern(name).unwrap(), value);
        assert_eq!(table.apply(Change { version: Version::new(1, counter), record }), Outcome::Applied);
        let view = table.publish();
        move |name: &str| match view.host(name.as_bytes()) {
            Some(HostHit::Tombstone { reason }) => reason.to_owned(),
            Some(HostHit::Service(_)) => "a service".to_owned(),
            None => "nothing".to_owned(),
        }
    };
    let _ = say("*.apps.example", 1, Some("wild"));
    let answers = say("one.apps.example", 1, Some("own"));
    assert_eq!(answers("one.apps.example"), "own");
    assert_eq!(answers("two.apps.example"), "wild");
    for other in ["apps.example", "a.two.apps.example", ".apps.example", "*.apps.example", "two.apps.exampl"]
    {
        assert_eq!(answers(other), "nothing", "{other}");
    }
    let answers = say("one.apps.example", 2, None);
    assert_eq!(answers("one.apps.example"), "wild", "a removed name falls to the wildcard");
    let answers = say("*.apps.example", 2, None);
    assert_eq!(answers("two.apps.example"), "nothing");
}
