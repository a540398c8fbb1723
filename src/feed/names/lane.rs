//! Look-ups of one kind, shared out among the services that the names belong to. Pure.
//!
//! However many names a service has due, and however they are spelled, another waits for its services' turns and never for
//! its names:
//!
//! - A service takes another slot only while it has fewer look-ups under way than slots are free. One alone takes half of
//!   them, so that the next finds a slot at once.
//! - A free slot goes to whom has fewest under way; among those, to whom has waited longest for its turn.
//!
//! So a service that has a name due and nothing under way waits for one turn of each other service at the most, and as many
//! turns come as there are slots within the time that a look-up may take. With so many services in a lane, itself among them,
//! that is `⌈services / slots⌉ × LOOKUP_MS` (I-67).

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use ringway_state::id::{HostName, ServiceId};

/// When a name fell due, and which.
pub(super) type Due = (Duration, HostName);

#[derive(Debug)]
pub(super) struct Lane {
    slots: usize,
    under_way: usize,
    /// Those that have names due or under way.
    services: HashMap<ServiceId, Queue>,
    /// Those that have names due; the first is next.
    turns: BTreeSet<Turn>,
    /// Rises with each turn.
    clock: u64,
}

/// Look-ups under way, since when it waits for another, and whose.
type Turn = (usize, u64, ServiceId);

#[derive(Debug, Default)]
struct Queue {
    due: BTreeSet<Due>,
    under_way: usize,
    /// On the lane's clock: the last turn, or when the first of `due` came.
    since: u64,
}

impl Lane {
    pub(super) fn new(slots: usize) -> Lane {
        Lane { slots, under_way: 0, services: HashMap::new(), turns: BTreeSet::new(), clock: 0 }
    }

    pub(super) fn add(&mut self, service: &ServiceId, due: Due) {
        let now = self.tick();
        self.change(service, |queue| {
            if queue.due.is_empty() {
                queue.since = now;
            }
            queue.due.insert(due);
        });
    }

    pub(super) fn remove(&mut self, service: &ServiceId, due: &Due) {
        self.change(service, |queue| queue.due.remove(due));
    }

    /// The name to look up now, for which of its services; it is under way from then on, until [`Lane::done`]. `None` if
    /// nothing is due, or whoever waits has to wait.
    pub(super) fn take(&mut self) -> Option<(ServiceId, Due)> {
        let free = self.slots.saturating_sub(self.under_way);
        let (under_way, _, service) = self.turns.first()?;
        if *under_way >= free {
            return None;
        }
        let (service, now) = (service.clone(), self.tick());
        let due = self.change(&service, |queue| {
            queue.since = now;
            queue.under_way += 1;
            queue.due.pop_first()
        });
        self.under_way += 1;
        debug_assert!(self.under_way <= self.slots, "more look-ups are under way than may be");
        due.map(|due| (service, due))
    }

    pub(super) fn done(&mut self, service: &ServiceId) {
        self.under_way -= 1;
        self.change(service, |queue| queue.under_way -= 1);
    }

    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// Changes a service's queue, and its place among the others.
    fn change<T>(&mut self, service: &ServiceId, change: impl FnOnce(&mut Queue) -> T) -> T {
        let queue = self.services.entry(service.clone()).or_default();
        if !queue.due.is_empty() {
            let had_its_place = self.turns.remove(&queue.turn(service));
            debug_assert!(had_its_place, "a service with names due would never have its turn");
        }
        let what = change(queue);
        if !queue.due.is_empty() {
            self.turns.insert(queue.turn(service));
        } else if queue.under_way == 0 {
            self.services.remove(service);
        }
        what
    }
}

impl Queue {
    fn turn(&self, service: &ServiceId) -> Turn {
        (self.under_way, self.since, service.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn due(ms: u64, name: &str) -> Due {
        (Duration::from_millis(ms), HostName::parse(name).unwrap())
    }

    fn service(id: &str) -> ServiceId {
        ServiceId::parse(id).unwrap()
    }

    /// Services of what is taken until nothing can be.
    fn taken(lane: &mut Lane) -> Vec<String> {
        std::iter::from_fn(|| lane.take()).map(|(service, _)| service.as_str().to_owned()).collect()
    }

    #[test]
    fn a_service_alone_takes_half_and_the_next_finds_a_slot() {
        let mut lane = Lane::new(8);
        (0..100).for_each(|n| lane.add(&service("svc_a"), due(0, &format!("a{n}.test"))));
        assert_eq!(taken(&mut lane), ["svc_a"; 4]);
        lane.add(&service("svc_z"), due(9, "z.test"));
        assert_eq!(taken(&mut lane), ["svc_z"]);
        lane.done(&service("svc_z"));
        // Whoever has one back takes one again, no more.
        lane.done(&service("svc_a"));
        assert_eq!(taken(&mut lane), ["svc_a"]);
    }

    #[test]
    fn a_slot_goes_to_whom_has_fewest_and_then_to_whom_has_waited_longest() {
        let mut lane = Lane::new(2);
        for id in ["svc_c", "svc_b", "svc_a"] {
            (0..3).for_each(|n| lane.add(&service(id), due(0, &format!("n{n}.test"))));
        }
        assert_eq!(taken(&mut lane), ["svc_c", "svc_b"]);
        lane.done(&service("svc_c"));
        assert_eq!(taken(&mut lane), ["svc_a"]);
        lane.done(&service("svc_a"));
        assert_eq!(taken(&mut lane), ["svc_c"]);
    }

    #[test]
    fn within_a_service_those_that_are_due_longest_come_first() {
        let mut lane = Lane::new(9);
        let a = service("svc_a");
        for name in [due(7, "a.test"), due(3, "z.test"), due(5, "m.test")] {
            lane.add(&a, name);
        }
        lane.remove(&a, &due(5, "m.test"));
        assert_eq!(lane.take(), Some((a.clone(), due(3, "z.test"))));
        assert_eq!(lane.take(), Some((a.clone(), due(7, "a.test"))));
        assert_eq!(lane.take(), None);
        (0..2).for_each(|_| lane.done(&a));
        assert!(lane.services.is_empty() && lane.turns.is_empty(), "{lane:?}");
    }

    #[derive(Clone, Debug)]
    enum Step {
        /// A name of that service falls due.
        Add(usize),
        /// One of the look-ups ends.
        End(prop::sample::Index),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            // One service has most of them, and is the first by its spelling.
            2 => Just(Step::Add(0)),
            2 => (0usize..12).prop_map(Step::Add),
            3 => any::<prop::sample::Index>().prop_map(Step::End),
        ]
    }

    proptest! {
        /// While a service has a name due and none under way, no other has more than one turn; and no slot is free.
        #[test]
        fn nobody_has_two_turns_before_one_who_waits(
            slots in 1usize..6,
            steps in prop::collection::vec(step(), 0..400),
        ) {
            let id = |n: usize| service(&format!("svc_{n:02}"));
            let (mut lane, mut under_way) = (Lane::new(slots), Vec::<ServiceId>::new());
            let mut left: HashMap<ServiceId, usize> = HashMap::new();
            // By who waits: whose turn it was since.
            let mut waits: HashMap<ServiceId, Vec<ServiceId>> = HashMap::new();
            for (nth, step) in steps.into_iter().enumerate() {
                match step {
                    Step::Add(n) => {
                        lane.add(&id(n), due(nth as u64, "n.test"));
                        *left.entry(id(n)).or_default() += 1;
                    }
                    Step::End(_) if under_way.is_empty() => {}
                    Step::End(which) => lane.done(&under_way.swap_remove(which.index(under_way.len()))),
                }
                while let Some((whose, _)) = lane.take() {
                    prop_assert!(under_way.iter().filter(|other| **other == whose).count() < slots - under_way.len());
                    waits.remove(&whose);
                    for (waiter, turns) in &mut waits {
                        prop_assert!(!turns.contains(&whose), "{whose} had two turns while {waiter} waited");
                        turns.push(whose.clone());
                    }
                    *left.get_mut(&whose).expect("it had a name due") -= 1;
                    under_way.push(whose);
                }
                for (service, left) in &left {
                    if *left > 0 && !under_way.contains(service) {
                        prop_assert_eq!(under_way.len(), slots, "{} could be served", service);
                        waits.entry(service.clone()).or_default();
                    }
                }
            }
        }
    }
}
