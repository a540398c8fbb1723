//! Which names to look up, when, and what is known of them. Pure; times count from any one moment.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use ringway_state::id::HostName;

use crate::config::{is_nobodys, is_stand_in};
use crate::limits;

/// The addresses of names as last heard, in ascending order.
pub type Known = HashMap<HostName, Vec<IpAddr>>;

const LEAST: Duration = Duration::from_millis(limits::NAME_LEAST_MS);
const MOST: Duration = Duration::from_millis(limits::NAME_MOST_MS);
const RETRY_MOST: Duration = Duration::from_millis(limits::NAME_RETRY_MOST_MS);

/// The names that are wanted.
#[derive(Debug, Default)]
pub(super) struct Plan(BTreeMap<HostName, Entry>);

#[derive(Debug, Default)]
struct Entry {
    addresses: Vec<IpAddr>,
    /// When to ask next.
    next: Duration,
    asking: bool,
    /// Asked at least once, with whatever outcome.
    tried: bool,
    /// In a row.
    failures: u32,
}

/// What an answer or a failure is, beside what was before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    Nothing,
    /// Other addresses than before.
    Changed,
    /// The first failure after an answer, or the first of all.
    Failing,
}

impl Plan {
    /// These names are wanted from now on, and no others. What is known of those that were wanted before stays.
    pub(super) fn want(&mut self, names: &BTreeSet<HostName>) {
        self.0.retain(|name, _| names.contains(name));
        for name in names {
            self.0.entry(name.clone()).or_default();
        }
    }

    /// Names to look up now; so many may be under way at a time.
    pub(super) fn due(&mut self, now: Duration, most: usize) -> Vec<HostName> {
        let room = self.room(most);
        let due = self.0.iter_mut().filter(|(_, entry)| !entry.asking && entry.next <= now);
        let ask = |(name, entry): (&HostName, &mut Entry)| {
            entry.asking = true;
            name.clone()
        };
        due.take(room).map(ask).collect()
    }

    fn room(&self, most: usize) -> usize {
        most.saturating_sub(self.0.values().filter(|entry| entry.asking).count())
    }

    /// When the next name is due; `None` if nothing can be asked before an answer comes.
    pub(super) fn next(&self, most: usize) -> Option<Duration> {
        let waiting = self.0.values().filter(|entry| !entry.asking).map(|entry| entry.next);
        waiting.min().filter(|_| self.room(most) > 0)
    }

    /// The name has these addresses, for so long.
    pub(super) fn answered(
        &mut self,
        name: &HostName,
        addresses: Vec<IpAddr>,
        ttl: Duration,
        now: Duration,
    ) -> News {
        let usable: BTreeSet<IpAddr> = addresses.into_iter().filter(|ip| is_usable(*ip)).collect();
        if usable.is_empty() {
            return self.failed(name, now);
        }
        let Some(entry) = self.0.get_mut(name) else { return News::Nothing };
        let addresses: Vec<IpAddr> = usable.into_iter().take(limits::ADDRESSES_PER_NAME).collect();
        let changed = entry.addresses != addresses;
        let next = now + ttl.clamp(LEAST, MOST);
        *entry = Entry { addresses, next, asking: false, tried: true, failures: 0 };
        if changed { News::Changed } else { News::Nothing }
    }

    /// The name could not be looked up, or has no address: what is known of it stays, for an endpoint may be stale without
    /// bound (design S6).
    pub(super) fn failed(&mut self, name: &HostName, now: Duration) -> News {
        let Some(entry) = self.0.get_mut(name) else { return News::Nothing };
        let doubled = LEAST.saturating_mul(1 << entry.failures.min(16));
        entry.failures = entry.failures.saturating_add(1);
        (entry.next, entry.asking, entry.tried) = (now + doubled.min(RETRY_MOST), false, true);
        if entry.failures == 1 { News::Failing } else { News::Nothing }
    }

    /// Each name was asked for at least once.
    pub(super) fn is_tried(&self) -> bool {
        self.0.values().all(|entry| entry.tried)
    }

    pub(super) fn known(&self) -> Known {
        let known = self.0.iter().filter(|(_, entry)| !entry.addresses.is_empty());
        known.map(|(name, entry)| (name.clone(), entry.addresses.clone())).collect()
    }

    pub(super) fn is_failing(&self, name: &HostName) -> bool {
        self.0.get(name).is_some_and(|entry| entry.failures > 0)
    }

    /// Names that are wanted, and those of them that fail.
    pub(super) fn counts(&self) -> (u64, u64) {
        let failing = self.0.values().filter(|entry| entry.failures > 0).count();
        (self.0.len() as u64, failing as u64)
    }
}

/// One host's address; not one of those that stand for Unix sockets here.
fn is_usable(ip: IpAddr) -> bool {
    !is_nobodys(ip) && !is_stand_in(SocketAddr::new(ip, 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn name(text: &str) -> HostName {
        HostName::parse(text).unwrap()
    }

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn wanting(names: &[&str]) -> Plan {
        let mut plan = Plan::default();
        plan.want(&names.iter().map(|text| name(text)).collect());
        plan
    }

    fn ips(texts: &[&str]) -> Vec<IpAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn a_name_is_asked_for_again_when_its_time_is_over() {
        let (mut plan, a) = (wanting(&["a.test"]), name("a.test"));
        assert_eq!((plan.due(ms(0), 9), plan.due(ms(0), 9)), (vec![a.clone()], vec![]));
        assert!(!plan.is_tried() && plan.next(1).is_none());
        assert_eq!(plan.answered(&a, ips(&["10.0.0.2", "10.0.0.1"]), ms(5_000), ms(100)), News::Changed);
        assert_eq!(plan.known()[&a], ips(&["10.0.0.1", "10.0.0.2"]));
        assert_eq!((plan.is_tried(), plan.next(1)), (true, Some(ms(5_100))));
        assert_eq!((plan.due(ms(5_099), 9), plan.due(ms(5_100), 9)), (vec![], vec![a.clone()]));
        // Another order is nothing new; a day is too long, and no time at all too short.
        assert_eq!(
            plan.answered(&a, ips(&["10.0.0.1", "10.0.0.2"]), ms(86_400_000), ms(6_000)),
            News::Nothing
        );
        assert_eq!(plan.next(1), Some(ms(6_000) + MOST));
        plan.answered(&a, ips(&["10.0.0.1"]), ms(0), ms(7_000));
        assert_eq!(plan.next(1), Some(ms(7_000) + LEAST));
    }

    #[test]
    fn what_is_known_outlives_failures() {
        let (mut plan, a) = (wanting(&["a.test"]), name("a.test"));
        assert_eq!(plan.failed(&a, ms(0)), News::Failing);
        assert!(plan.is_tried() && plan.known().is_empty());
        plan.answered(&a, ips(&["10.0.0.1"]), ms(1_000), ms(0));
        let mut now = ms(1_000);
        for (nth, wait) in [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000].into_iter().enumerate() {
            let news =
                if nth % 2 == 0 { plan.failed(&a, now) } else { plan.answered(&a, vec![], ms(9), now) };
            assert_eq!(news, if nth == 0 { News::Failing } else { News::Nothing });
            assert_eq!(plan.next(1), Some(now + ms(wait)));
            now += ms(wait);
        }
        assert_eq!((plan.known()[&a].len(), plan.counts()), (1, (1, 1)));
        assert_eq!(plan.answered(&a, ips(&["10.0.0.1"]), ms(1_000), now), News::Nothing);
        assert_eq!(plan.counts(), (1, 0));
    }

    #[test]
    fn addresses_of_nobody_are_left_out() {
        let (mut plan, a) = (wanting(&["a.test"]), name("a.test"));
        let all =
            ["0.0.0.0", "::", "224.0.0.1", "ff02::1", "255.255.255.255", "100::1", "::ffff:0.0.0.0", "::1"];
        plan.answered(&a, ips(&all), ms(1_000), ms(0));
        assert_eq!(plan.known()[&a], ips(&["::1"]));
    }

    #[test]
    fn so_many_are_under_way_and_those_not_wanted_are_forgotten() {
        let mut plan = wanting(&["a.test", "b.test", "c.test"]);
        assert_eq!(plan.next(2), Some(ms(0)));
        assert_eq!(plan.due(ms(0), 2), [name("a.test"), name("b.test")]);
        assert_eq!(plan.next(2), None, "the third waits for an answer, not for a time");
        plan.answered(&name("a.test"), ips(&["10.0.0.1"]), ms(1_000), ms(0));
        assert_eq!(plan.due(ms(0), 2), [name("c.test")]);
        plan.want(&[name("a.test"), name("d.test")].into());
        assert_eq!(plan.answered(&name("b.test"), ips(&["10.0.0.1"]), ms(1_000), ms(0)), News::Nothing);
        assert_eq!(plan.known().into_keys().collect::<Vec<_>>(), [name("a.test")]);
        assert_eq!(plan.due(ms(0), 2), [name("d.test")]);
    }

    proptest! {
        /// Whatever is answered and fails, every name is asked for again within the bound.
        #[test]
        fn every_name_is_asked_for_again(events in prop::collection::vec((any::<bool>(), 0u64..1_000_000), 0..40)) {
            let (mut plan, a) = (wanting(&["a.test"]), name("a.test"));
            let mut now = ms(0);
            for (answers, ttl) in events {
                prop_assert_eq!(plan.due(now, 1).len(), 1);
                if answers {
                    plan.answered(&a, ips(&["10.0.0.1"]), ms(ttl), now);
                } else {
                    plan.failed(&a, now);
                }
                let next = plan.next(1).unwrap();
                prop_assert!(next >= now + LEAST && next <= now + MOST);
                now = next;
            }
        }
    }
}
