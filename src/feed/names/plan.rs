//! Which names to look up, when, and what is known of them. Pure; times count from any one moment.
//!
//! A name waits until its time is over, is due, and is asked for when it is its turn. Those that failed last have slots of
//! their own, so that names which nobody answers never stand before others: see [`lane`](super::lane) for how services share
//! them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use ringway_state::id::{HostName, ServiceId};

use super::lane::{Due, Lane};
use crate::config::{is_nobodys, is_stand_in};
use crate::limits;

/// The addresses of names as last heard, in ascending order.
pub type Known = HashMap<HostName, Vec<IpAddr>>;

/// The names that are wanted, each with its services: at least one.
pub(super) type Wanted = BTreeMap<HostName, BTreeSet<ServiceId>>;

const LEAST: Duration = Duration::from_millis(limits::NAME_LEAST_MS);
const MOST: Duration = Duration::from_millis(limits::NAME_MOST_MS);
const RETRY_MOST: Duration = Duration::from_millis(limits::NAME_RETRY_MOST_MS);

#[derive(Debug)]
pub(super) struct Plan {
    entries: HashMap<HostName, Entry>,
    /// Those that are not due yet, by when they are.
    waiting: BTreeSet<Due>,
    lanes: Lanes,
    counts: Counts,
}

/// How many names there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) names: usize,
    /// Of which the last look-up failed.
    pub(super) failing: usize,
    /// Due, and not asked for yet since others are.
    pub(super) due: usize,
}

#[derive(Debug)]
struct Lanes {
    /// Of names that were never asked for, or were answered last.
    hopeful: Lane,
    failing: Lane,
}

#[derive(Debug)]
struct Entry {
    services: BTreeSet<ServiceId>,
    addresses: Vec<IpAddr>,
    /// When to ask next, or since when it has been due.
    next: Duration,
    stage: Stage,
    /// In a row.
    failures: u32,
}

#[derive(Debug)]
enum Stage {
    Waiting,
    Due,
    /// In that service's turn.
    Asking(ServiceId),
}

/// What an answer or a failure is, beside what was before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Same,
    /// Other addresses than before.
    Changed,
    /// The first failure after an answer, or the first of all.
    Failing,
}

impl Plan {
    pub(super) fn new() -> Plan {
        let failing = limits::LOOKUPS_FAILING;
        let lanes =
            Lanes { hopeful: Lane::new(limits::LOOKUPS_AT_A_TIME - failing), failing: Lane::new(failing) };
        Plan { entries: HashMap::new(), waiting: BTreeSet::new(), lanes, counts: Counts::default() }
    }

    /// These names are wanted from now on, and no others: look-ups of others that are under way are to be given up. What is
    /// known of those that were wanted before stays; the others are returned.
    pub(super) fn want(&mut self, wanted: &Wanted, now: Duration) -> BTreeSet<HostName> {
        let gone = self.entries.keys().filter(|name| !wanted.contains_key(*name));
        for name in gone.cloned().collect::<Vec<_>>() {
            self.forget(&name);
        }
        let mut new = BTreeSet::new();
        for (name, services) in wanted {
            match self.entries.get_mut(name) {
                None => {
                    self.begin(name, services, now);
                    new.insert(name.clone());
                }
                Some(entry) if entry.services != *services => {
                    if let Stage::Due = entry.stage {
                        let (lane, due) = (self.lanes.of(entry.failures), (entry.next, name.clone()));
                        entry.services.difference(services).for_each(|left| lane.remove(left, &due));
                        services.difference(&entry.services).for_each(|came| lane.add(came, due.clone()));
                    }
                    entry.services.clone_from(services);
                }
                Some(_) => {}
            }
        }
        new
    }

    fn begin(&mut self, name: &HostName, services: &BTreeSet<ServiceId>, now: Duration) {
        let entry = Entry {
            services: services.clone(),
            addresses: Vec::new(),
            next: now,
            stage: Stage::Waiting,
            failures: 0,
        };
        self.entries.insert(name.clone(), entry);
        self.waiting.insert((now, name.clone()));
    }

    fn forget(&mut self, name: &HostName) {
        let Some(mut entry) = self.entries.remove(name) else { return };
        self.counts.failing -= usize::from(entry.failures > 0);
        match std::mem::replace(&mut entry.stage, Stage::Waiting) {
            Stage::Waiting => {
                self.waiting.remove(&(entry.next, name.clone()));
            }
            Stage::Due => {
                let (lane, due) = (self.lanes.of(entry.failures), (entry.next, name.clone()));
                entry.services.iter().for_each(|service| lane.remove(service, &due));
                self.counts.due -= 1;
            }
            Stage::Asking(service) => self.lanes.of(entry.failures).done(&service),
        }
    }

    /// Names to look up now. Each is under way until it is answered, has failed or is no longer wanted.
    pub(super) fn due(&mut self, now: Duration) -> Vec<HostName> {
        while self.waiting.first().is_some_and(|(next, _)| *next <= now) {
            let Some(due) = self.waiting.pop_first() else { break };
            let Some(entry) = self.entries.get_mut(&due.1) else { continue };
            let lane = self.lanes.of(entry.failures);
            entry.services.iter().for_each(|service| lane.add(service, due.clone()));
            entry.stage = Stage::Due;
            self.counts.due += 1;
        }
        let mut asked = Vec::new();
        for lane in [&mut self.lanes.hopeful, &mut self.lanes.failing] {
            while let Some((service, due)) = lane.take() {
                let Some(entry) = self.entries.get_mut(&due.1) else { continue };
                let others = entry.services.iter().filter(|other| **other != service);
                others.for_each(|other| lane.remove(other, &due));
                entry.stage = Stage::Asking(service);
                self.counts.due -= 1;
                asked.push(due.1);
            }
        }
        asked
    }

    /// When the next name falls due; `None` if none does before an answer comes.
    pub(super) fn next(&self) -> Option<Duration> {
        self.waiting.first().map(|(next, _)| *next)
    }

    /// The name that is under way has these addresses, for so long.
    pub(super) fn answered(
        &mut self,
        name: &HostName,
        addresses: Vec<IpAddr>,
        ttl: Duration,
        now: Duration,
    ) -> Outcome {
        let usable: BTreeSet<IpAddr> = addresses.into_iter().filter(|ip| is_usable(*ip)).collect();
        if usable.is_empty() {
            return self.failed(name, now);
        }
        let addresses: Vec<IpAddr> = usable.into_iter().take(limits::ADDRESSES_PER_NAME).collect();
        let Some(entry) = self.ended(name, now + ttl.clamp(LEAST, MOST), |_| 0) else { return Outcome::Same };
        match entry.addresses == addresses {
            true => Outcome::Same,
            false => {
                entry.addresses = addresses;
                Outcome::Changed
            }
        }
    }

    /// The name that is under way could not be looked up, or has no address: what is known of it stays, for an endpoint may
    /// be stale without bound (design S6).
    pub(super) fn failed(&mut self, name: &HostName, now: Duration) -> Outcome {
        let failures = self.entries.get(name).map_or(0, |entry| entry.failures);
        let doubled = LEAST.saturating_mul(1 << failures.min(16));
        let entry = self.ended(name, now + doubled.min(RETRY_MOST), |failures| failures.saturating_add(1));
        match entry.map(|entry| entry.failures) {
            Some(1) => Outcome::Failing,
            _ => Outcome::Same,
        }
    }

    /// A look-up has ended. `None` if none was under way.
    fn ended(
        &mut self,
        name: &HostName,
        next: Duration,
        failures: impl FnOnce(u32) -> u32,
    ) -> Option<&mut Entry> {
        let entry = self.entries.get_mut(name)?;
        let Stage::Asking(service) = &entry.stage else { return None };
        self.lanes.of(entry.failures).done(service);
        self.counts.failing -= usize::from(entry.failures > 0);
        (entry.next, entry.stage, entry.failures) = (next, Stage::Waiting, failures(entry.failures));
        self.counts.failing += usize::from(entry.failures > 0);
        self.waiting.insert((next, name.clone()));
        Some(entry)
    }

    pub(super) fn known(&self) -> Known {
        let known = self.entries.iter().filter(|(_, entry)| !entry.addresses.is_empty());
        known.map(|(name, entry)| (name.clone(), entry.addresses.clone())).collect()
    }

    pub(super) fn is_failing(&self, name: &HostName) -> bool {
        self.entries.get(name).is_some_and(|entry| entry.failures > 0)
    }

    pub(super) fn counts(&self) -> Counts {
        Counts { names: self.entries.len(), ..self.counts }
    }
}

impl Lanes {
    /// The one of a name with so many failures in a row.
    fn of(&mut self, failures: u32) -> &mut Lane {
        if failures == 0 { &mut self.hopeful } else { &mut self.failing }
    }
}

/// One host's address; not one of those that stand for Unix sockets here.
fn is_usable(ip: IpAddr) -> bool {
    !is_nobodys(ip) && !is_stand_in(SocketAddr::new(ip, 1))
}

#[cfg(test)]
mod tests;
