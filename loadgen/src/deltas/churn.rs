//! Changes to the data set, one after the other, the same for the same seed: whoever knows the seed knows what is true
//! after each. Pure.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;

use ringway_state::hash::splitmix64;
use ringway_state::id::Reason;
use ringway_state::record::{Change, Class, HostValue, Version};

use crate::dataset::{Dataset, Zipf};

/// Services that one owner has: a name may move among them without a tombstone.
const OF_ONE_OWNER: u64 = 4;

/// What a change is about, by the numbers of the data set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// The host of this rank leads to this service from now on.
    Map { rank: u64, service: u64 },
    /// The host of this rank is in transfer: it answers 404.
    Tombstone { rank: u64 },
    /// The host of this rank is forgotten.
    Remove { rank: u64 },
    /// The service has these endpoints in the local region.
    Endpoints { service: u64, addresses: Vec<SocketAddr> },
}

/// An endless sequence of changes.
#[derive(Debug)]
pub struct Churn<'d> {
    data: &'d Dataset,
    random: u64,
    ranks: Zipf,
    /// Of the hosts that were changed: the service, or none.
    now: HashMap<u64, Option<u64>>,
    /// Hosts that lead nowhere, the first to go first.
    gone: VecDeque<u64>,
}

/// Of a hundred changes 45 move a host, 35 change endpoints, 7 put a host in transfer, 3 remove one, and 10 bring back what
/// is gone. Each bound is the sum of those before.
const MOVES: u64 = 45;
const BEFORE_TOMBSTONES: u64 = MOVES + 35;
const BEFORE_REMOVALS: u64 = BEFORE_TOMBSTONES + 7;
const BEFORE_RETURNS: u64 = BEFORE_REMOVALS + 3;

impl<'d> Churn<'d> {
    #[must_use]
    pub fn new(data: &'d Dataset, seed: u64) -> Self {
        let ranks = Zipf::new(data.hosts(), seed);
        Self { data, random: seed, ranks, now: HashMap::new(), gone: VecDeque::new() }
    }

    /// The service that a host leads to after the changes so far.
    fn service_of(&self, rank: u64) -> Option<u64> {
        self.now.get(&rank).copied().unwrap_or_else(|| Some(self.data.service_of(rank)))
    }

    fn below(&mut self, bound: u64) -> u64 {
        splitmix64(&mut self.random) % bound.max(1)
    }

    /// A host that leads somewhere, popular ones more often; none when a few draws find none.
    fn live_host(&mut self) -> Option<(u64, u64)> {
        (0..8).find_map(|_| {
            let rank = self.ranks.draw();
            self.service_of(rank).map(|service| (rank, service))
        })
    }

    fn put(&mut self, rank: u64, service: Option<u64>) {
        self.now.insert(rank, service);
        if service.is_none() {
            self.gone.push_back(rank);
        }
    }

    /// Another service of the same owner, if it has one.
    fn sibling(&mut self, service: u64) -> u64 {
        let first = service / OF_ONE_OWNER * OF_ONE_OWNER;
        let count = OF_ONE_OWNER.min(self.data.services() - first);
        first + (service - first + 1 + self.below(count.saturating_sub(1))) % count
    }

    fn endpoints(&mut self) -> Act {
        // A service whose name is asked for often is that of a popular host.
        let rank = self.ranks.draw();
        let service = self.service_of(rank).unwrap_or_else(|| self.data.service_of(rank));
        let addresses = self.data.some_origins(&mut self.random);
        Act::Endpoints { service, addresses }
    }

    fn moved(&mut self) -> Option<Act> {
        let (rank, service) = self.live_host()?;
        let service = self.sibling(service);
        self.put(rank, Some(service));
        Some(Act::Map { rank, service })
    }

    /// A host that leads nowhere from now on.
    fn left(&mut self) -> Option<u64> {
        let (rank, _) = self.live_host()?;
        self.put(rank, None);
        Some(rank)
    }

    fn returned(&mut self) -> Option<Act> {
        let rank = self.gone.pop_front()?;
        let service = match self.data.class(rank) {
            // A name of the platform's never changes its owner.
            Class::Platform => self.data.service_of(rank),
            Class::Custom => self.below(self.data.services()),
        };
        self.put(rank, Some(service));
        Some(Act::Map { rank, service })
    }
}

impl Iterator for Churn<'_> {
    type Item = Act;

    fn next(&mut self) -> Option<Act> {
        let act = match self.below(100) {
            ..MOVES => self.moved(),
            MOVES..BEFORE_TOMBSTONES => None,
            BEFORE_TOMBSTONES..BEFORE_REMOVALS => self.left().map(|rank| Act::Tombstone { rank }),
            BEFORE_REMOVALS..BEFORE_RETURNS => self.left().map(|rank| Act::Remove { rank }),
            _ => self.returned(),
        };
        // What cannot be done now gives way to what always can.
        Some(act.unwrap_or_else(|| self.endpoints()))
    }
}

/// The change that is the `number`-th of the churn, newer than the data set and all before it.
#[must_use]
pub fn change(data: &Dataset, number: u64, act: &Act) -> Change {
    let record = match act {
        Act::Map { rank, service } => data.mapped(*rank, *service),
        Act::Tombstone { rank } => {
            let reason = Reason::parse("transfer").expect("a well-formed reason");
            data.host_record(*rank, Some(HostValue::Tombstone { reason }))
        }
        Act::Remove { rank } => data.host_record(*rank, None),
        Act::Endpoints { service, addresses } => data.endpoint_set(*service, data.local().clone(), addresses),
    };
    Change { version: Version::new(1, number + 2), record }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a failed unwrap is a failed test
    use super::*;
    use crate::dataset::standard_origins;
    use proptest::prelude::*;
    use ringway_state::id::Region;

    fn data(hosts: u64, services: u64) -> Dataset {
        Dataset::new(hosts, services, Region::parse("local").unwrap(), standard_origins())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        /// Names of the platform's keep their owner, and those of tenants change it by way of nowhere; what is gone is
        /// not lost, and everything is repeatable.
        #[test]
        fn changes_obey_the_world(hosts in 1u64..300, more in 0u64..300, seed: u64) {
            let data = data(hosts + more, hosts);
            let mut now: HashMap<u64, Option<u64>> = HashMap::new();
            let acts: Vec<Act> = Churn::new(&data, seed).take(2_000).collect();
            for act in &acts {
                let before = |rank: &u64| now.get(rank).copied().unwrap_or(Some(data.service_of(*rank)));
                match act {
                    Act::Map { rank, service } => {
                        prop_assert!(*service < data.services());
                        if let Some(old) = before(rank) {
                            prop_assert_eq!(old / OF_ONE_OWNER, service / OF_ONE_OWNER, "same owner");
                        }
                        if data.class(*rank) == Class::Platform {
                            prop_assert_eq!(data.service_of(*rank) / OF_ONE_OWNER, service / OF_ONE_OWNER);
                        }
                        now.insert(*rank, Some(*service));
                    }
                    Act::Tombstone { rank } | Act::Remove { rank } => {
                        prop_assert!(before(rank).is_some());
                        now.insert(*rank, None);
                    }
                    Act::Endpoints { service, addresses } => {
                        prop_assert!(*service < data.services());
                        prop_assert!((1..=4).contains(&addresses.len()));
                    }
                }
            }
            prop_assert!(Churn::new(&data, seed).take(2_000).eq(acts));
        }
    }

    #[test]
    fn kinds_come_in_their_shares_and_what_goes_comes_back() {
        let data = data(10_000, 2_500);
        let acts: Vec<Act> = Churn::new(&data, 1).take(20_000).collect();
        let share = |of: fn(&Act) -> bool| acts.iter().filter(|act| of(act)).count() as f64 / 20_000.0;
        let near = |found: f64, meant: f64| assert!((found - meant).abs() < 0.02, "{found} {meant}");
        near(share(|act| matches!(act, Act::Map { .. })), 0.55);
        near(share(|act| matches!(act, Act::Endpoints { .. })), 0.35);
        near(share(|act| matches!(act, Act::Tombstone { .. })), 0.07);
        near(share(|act| matches!(act, Act::Remove { .. })), 0.03);
    }
}
