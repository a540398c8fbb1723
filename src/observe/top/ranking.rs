//! Who has most of something, in bounded room: Space-Saving (Metwally, Agrawal, El Abbadi, 2005), with weights and with
//! ageing, so that it is about the last minutes. The sketches in crates know neither, nor series that go on counting.
//!
//! So many names are watched; a new one takes the place of the one with least, and its estimate with it, by which it may
//! be too high. Those with most are shown. What is shown is counted, not estimated: from when a name is shown, all that
//! came in for it. Everything else is counted with the others, so that nothing is lost or counted twice.

use crate::limits::{TOP_SHOWN, TOP_WATCHED};
use std::collections::HashMap;

#[derive(Debug, Default)]
pub(super) struct Ranking {
    places: HashMap<Box<str>, usize>,
    watched: Vec<Watched>,
    shown: usize,
    others: u64,
    displaced: u64,
}

#[derive(Debug)]
struct Watched {
    name: Box<str>,
    /// Of late, at most.
    estimate: u64,
    /// Of which this much may be another's.
    taken_over: u64,
    /// Since it is shown, if it is.
    counted: Option<u64>,
}

impl Watched {
    /// Of late, at least.
    fn solid(&self) -> u64 {
        self.estimate - self.taken_over
    }
}

/// A name that is shown.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Shown<'r> {
    pub(super) name: &'r str,
    pub(super) counted: u64,
    pub(super) of_late: u64,
}

impl Ranking {
    pub(super) fn add(&mut self, name: &str, weight: u64) {
        let at = self.places.get(name).copied().unwrap_or_else(|| self.watch(name));
        let watched = &mut self.watched[at];
        watched.estimate += weight;
        if watched.counted.is_none() && self.shown < TOP_SHOWN {
            watched.counted = Some(0);
            self.shown += 1;
        }
        match &mut watched.counted {
            Some(counted) => *counted += weight,
            None => self.others += weight,
        }
    }

    /// A place for a name that is new, if need be that of the name with least.
    fn watch(&mut self, name: &str) -> usize {
        let least = || self.watched.iter().enumerate().min_by_key(|(_, watched)| watched.estimate);
        let full = self.watched.len() >= TOP_WATCHED;
        let (at, estimate) = match full.then(least).flatten() {
            Some((at, least)) => (at, least.estimate),
            None => (self.watched.len(), 0),
        };
        let new = Watched { name: name.into(), estimate, taken_over: estimate, counted: None };
        match self.watched.get_mut(at) {
            None => self.watched.push(new),
            Some(place) => {
                let old = std::mem::replace(place, new);
                self.places.remove(&old.name);
                self.hidden(old.counted);
            }
        }
        self.places.insert(name.into(), at);
        at
    }

    /// A name is shown no more; what it had is with the others.
    fn hidden(&mut self, counted: Option<u64>) {
        if let Some(counted) = counted {
            self.others += counted;
            self.displaced += 1;
            self.shown -= 1;
        }
    }

    /// Shows names that have half as much again as one that is shown; those that are about equal do not take turns.
    pub(super) fn choose(&mut self) {
        for _ in 0..TOP_SHOWN {
            let place = |is_shown| {
                let names = self.watched.iter().enumerate();
                names.filter(move |(_, watched)| watched.counted.is_some() == is_shown)
            };
            let most = place(false).max_by_key(|(_, watched)| watched.solid());
            let least = place(true).min_by_key(|(_, watched)| watched.solid());
            let (Some((new, most)), Some((old, least))) = (most, least) else { return };
            if most.solid() <= least.solid() + least.solid() / 2 {
                return;
            }
            let counted = self.watched[old].counted.take();
            self.hidden(counted);
            self.watched[new].counted = Some(0);
            self.shown += 1;
        }
    }

    /// A minute ago counts half.
    pub(super) fn age(&mut self) {
        for watched in &mut self.watched {
            let solid = watched.solid();
            watched.taken_over /= 2;
            watched.estimate = watched.taken_over + solid / 2;
        }
    }

    /// Those with most of late first.
    pub(super) fn shown(&self) -> Vec<Shown<'_>> {
        let shown = self.watched.iter().filter_map(|watched| {
            let counted = watched.counted?;
            Some(Shown { name: &watched.name, counted, of_late: watched.solid() })
        });
        let mut shown: Vec<Shown<'_>> = shown.collect();
        shown.sort_unstable_by(|a, b| b.of_late.cmp(&a.of_late).then(a.name.cmp(b.name)));
        shown
    }

    pub(super) fn others(&self) -> u64 {
        self.others
    }

    pub(super) fn displaced(&self) -> u64 {
        self.displaced
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn total(ranking: &Ranking) -> u64 {
        ranking.shown().iter().map(|shown| shown.counted).sum::<u64>() + ranking.others()
    }

    fn counted(ranking: &Ranking, name: &str) -> Option<u64> {
        ranking.shown().iter().find(|shown| shown.name == name).map(|shown| shown.counted)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        /// Nothing is lost or counted twice, no series of a name that stays goes down, and there is no more room than there is.
        #[test]
        fn everything_is_counted_once(
            rounds in prop::collection::vec(
                (prop::collection::vec((0..3 * TOP_WATCHED, 1_u64..1_000), 0..2_000), any::<bool>()), 1..8)
        ) {
            let (mut ranking, mut added) = (Ranking::default(), 0);
            for (names, ages) in rounds {
                let before = ranking.others();
                for (name, weight) in names {
                    // Some have far more than others.
                    let name = format!("h{}.test", name * name / (3 * TOP_WATCHED));
                    let had = counted(&ranking, &name);
                    ranking.add(&name, weight);
                    added += weight;
                    prop_assert!(had.is_none_or(|had| counted(&ranking, &name) == Some(had + weight)));
                }
                ranking.choose();
                if ages {
                    ranking.age();
                }
                prop_assert_eq!(total(&ranking), added);
                prop_assert!(ranking.others() >= before);
                prop_assert!(ranking.watched.len() <= TOP_WATCHED && ranking.places.len() == ranking.watched.len());
                prop_assert_eq!(ranking.shown().len(), ranking.shown.min(TOP_SHOWN));
                prop_assert!(ranking.places.iter().all(|(name, at)| ranking.watched[*at].name == *name));
            }
        }
    }

    /// By Zipf's law over more names than are watched, those with most are found.
    #[test]
    fn those_with_most_are_shown_whoever_comes_by() {
        const NAMES: usize = 200_000;
        let mut random = fastrand::Rng::with_seed(7);
        let mut ranking = Ranking::default();
        let weights: Vec<f64> = (1..=NAMES).map(|rank| 1.0 / rank as f64).collect();
        let sums: Vec<f64> = weights
            .iter()
            .scan(0.0, |sum, weight| {
                *sum += weight;
                Some(*sum)
            })
            .collect();
        for round in 0..200_000 {
            let at = random.f64() * sums[NAMES - 1];
            let rank = sums.partition_point(|sum| *sum < at);
            ranking.add(&format!("h{rank}.test"), 32);
            if round % 2_000 == 0 {
                ranking.choose();
            }
            if round % 50_000 == 0 {
                ranking.age();
            }
        }
        let shown = ranking.shown();
        assert_eq!((shown[0].name, shown[1].name), ("h0.test", "h1.test"));
        for rank in 0..TOP_SHOWN * 3 / 5 {
            let name = format!("h{rank}.test");
            assert!(shown.iter().any(|shown| shown.name == name), "{name} is not among {shown:?}");
        }
        assert!(ranking.displaced() < 1_000, "{} series came and went", ranking.displaced());
    }

    #[test]
    fn one_that_was_busy_makes_room_in_time() {
        let mut ranking = Ranking::default();
        (0..TOP_SHOWN).for_each(|n| ranking.add(&format!("h{n}.test"), 1_000));
        ranking.add("new.test", 1_500);
        ranking.choose();
        assert_eq!(
            (counted(&ranking, "new.test"), ranking.others()),
            (None, 1_500),
            "not half as much again"
        );
        ranking.age();
        ranking.add("new.test", 10);
        ranking.choose();
        ranking.add("new.test", 5);
        assert_eq!((counted(&ranking, "new.test"), ranking.others()), (Some(5), 2_510));
        assert_eq!((ranking.displaced(), ranking.shown().len()), (1, TOP_SHOWN));
        assert_eq!(ranking.shown()[0], Shown { name: "new.test", counted: 5, of_late: 765 });
    }
}
