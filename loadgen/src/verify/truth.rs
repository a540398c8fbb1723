//! What a router may answer: at each moment the value of each key before a change, or after it, while the change is on its
//! way, and never a third. Pure.

use std::collections::HashMap;
use std::net::SocketAddr;

use crate::dataset::Dataset;
use crate::deltas::churn::{Act, Churn};
use crate::deltas::known::Mark;
use crate::limits;

/// What was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// The endpoint at this address.
    Endpoint(SocketAddr),
    /// 404: the name leads nowhere.
    Nowhere,
    /// The answer to something else that was asked, or not of an origin at all; in words.
    Strange(String),
    /// No answer, or one that says nothing of where the name leads: why, in words.
    Failed(String),
}

/// One question and its answer. Times are nanoseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    pub rank: u64,
    pub asked: u64,
    pub answered: u64,
    pub seen: Seen,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// What a router that is up to date may say.
    Right,
    /// What it may still say: how long before it was asked the change may have been seen, in nanoseconds.
    Old { ns: u64 },
    Wrong {
        /// All that would have been right, in words.
        allowed: Vec<String>,
    },
    /// Nothing to judge.
    Failed,
}

/// A value and when it came.
#[derive(Clone, Debug)]
struct Dated<T> {
    /// From then on it may be seen.
    may: u64,
    /// From then on nothing older may be seen; not known before its change has been written.
    must: u64,
    value: T,
}

type History<T> = Vec<Dated<T>>;

/// The data set and all changes that were announced so far.
pub struct Truth<'d> {
    data: &'d Dataset,
    churn: Churn<'d>,
    /// How long a change may be on its way once it is written, in nanoseconds.
    window: u64,
    /// The service that a host leads to.
    hosts: HashMap<u64, History<Option<u64>>>,
    /// The endpoints of a service.
    sets: HashMap<u64, History<Vec<SocketAddr>>>,
    announced: u64,
    /// Keys of changes that are announced and not yet written, with their numbers.
    on_their_way: Vec<(u64, Key)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    Host(u64),
    Set(u64),
}

impl<'d> Truth<'d> {
    #[must_use]
    pub fn new(data: &'d Dataset, window: u64) -> Self {
        Self {
            data,
            churn: Churn::new(data, data.seed()),
            window,
            hosts: HashMap::new(),
            sets: HashMap::new(),
            announced: 0,
            on_their_way: Vec::new(),
        }
    }

    /// Takes a mark; returns the ranks of hosts that a change concerns.
    pub fn take(&mut self, mark: Mark) -> Vec<u64> {
        match mark {
            Mark::Begin { .. } => Vec::new(),
            Mark::Writing { until, ns } => {
                let count = until.saturating_sub(self.announced).min(limits::CHANGES_TOGETHER_MAX);
                (0..count).filter_map(|_| self.announce(ns)).collect()
            }
            Mark::Written { until, ns } => {
                let must = ns.saturating_add(self.window);
                let (written, waiting) = self.on_their_way.iter().partition(|(number, _)| *number < until);
                self.on_their_way = waiting;
                let written: Vec<(u64, Key)> = written;
                for (_, key) in written {
                    match key {
                        Key::Host(rank) => settle(self.hosts.get_mut(&rank), must),
                        Key::Set(service) => settle(self.sets.get_mut(&service), must),
                    }
                }
                Vec::new()
            }
        }
    }

    fn announce(&mut self, may: u64) -> Option<u64> {
        let act = self.churn.next()?;
        let (key, rank) = match act {
            Act::Map { rank, service } => (self.put_host(rank, Some(service), may), rank),
            Act::Tombstone { rank } | Act::Remove { rank } => (self.put_host(rank, None, may), rank),
            Act::Endpoints { service, addresses } => {
                let first = || first_set(self.data, service);
                let history = self.sets.entry(service).or_insert_with(|| vec![always(first())]);
                push(history, addresses, may);
                // Each service has the host of its own number, unless that has moved.
                (Key::Set(service), service)
            }
        };
        self.on_their_way.push((self.announced, key));
        self.announced += 1;
        Some(rank)
    }

    fn put_host(&mut self, rank: u64, value: Option<u64>, may: u64) -> Key {
        let first = self.data.service_of(rank);
        push(self.hosts.entry(rank).or_insert_with(|| vec![always(Some(first))]), value, may);
        Key::Host(rank)
    }

    /// Judges an answer. All changes that were written by the time of the answer must have been taken.
    #[must_use]
    pub fn judge(&self, asked: &Asked) -> Verdict {
        let mut allowed = Vec::new();
        // The least age of a value that explains the answer: none, if one that is not superseded does.
        let mut age: Option<u64> = None;
        for (host_age, service) in self.services(asked) {
            let Some(service) = service else {
                allowed.push("404".to_owned());
                if asked.seen == Seen::Nowhere {
                    age = Some(age.map_or(host_age, |age| age.min(host_age)));
                }
                continue;
            };
            for (set_age, set) in self.endpoints(service, asked) {
                let addresses: Vec<String> = set.iter().map(ToString::to_string).collect();
                allowed.push(format!("{} at {}", self.data.service_id(service), addresses.join(" or ")));
                if matches!(asked.seen, Seen::Endpoint(seen) if set.contains(&seen)) {
                    let older = host_age.max(set_age);
                    age = Some(age.map_or(older, |age| age.min(older)));
                }
            }
        }
        match (&asked.seen, age) {
            (Seen::Failed(_), _) => Verdict::Failed,
            (_, Some(0)) => Verdict::Right,
            (_, Some(ns)) => Verdict::Old { ns },
            (_, None) => Verdict::Wrong { allowed },
        }
    }

    fn services(&self, asked: &Asked) -> Vec<(u64, Option<u64>)> {
        match self.hosts.get(&asked.rank) {
            Some(history) => within(history, asked).map(|(age, service)| (age, *service)).collect(),
            None => vec![(0, Some(self.data.service_of(asked.rank)))],
        }
    }

    fn endpoints(&self, service: u64, asked: &Asked) -> Vec<(u64, Vec<SocketAddr>)> {
        match self.sets.get(&service) {
            Some(history) => within(history, asked).map(|(age, set)| (age, set.clone())).collect(),
            None => vec![(0, first_set(self.data, service))],
        }
    }

    /// Forgets what nobody who asks from `now` on may be told.
    pub fn forget_before(&mut self, now: u64) {
        self.hosts.values_mut().for_each(|history| forget(history, now));
        self.sets.values_mut().for_each(|history| forget(history, now));
    }
}

fn first_set(data: &Dataset, service: u64) -> Vec<SocketAddr> {
    // The local region is the first.
    data.endpoints(service).into_iter().next().map(|(_, set)| set).unwrap_or_default()
}

fn always<T>(value: T) -> Dated<T> {
    Dated { may: 0, must: 0, value }
}

fn push<T>(history: &mut History<T>, value: T, may: u64) {
    history.push(Dated { may, must: u64::MAX, value });
}

/// The oldest that is on its way has been written: changes of a key are written in order.
fn settle<T>(history: Option<&mut History<T>>, must: u64) {
    let waiting = history.and_then(|history| history.iter_mut().find(|dated| dated.must == u64::MAX));
    if let Some(dated) = waiting {
        dated.must = must;
    }
}

fn forget<T>(history: &mut History<T>, now: u64) {
    let kept = history.iter().rposition(|dated| dated.must <= now).unwrap_or(0);
    history.drain(..kept);
}

/// The values that may be seen by who asks and is answered at these times, and how old each was when asked: for how long
/// a newer one might have been seen.
fn within<'h, T>(history: &'h History<T>, asked: &Asked) -> impl Iterator<Item = (u64, &'h T)> {
    let (asked, answered) = (asked.asked, asked.answered);
    let from = history.iter().rposition(|dated| dated.must <= asked).unwrap_or(0);
    let kept = history.iter().enumerate().skip(from).filter(move |(_, dated)| dated.may <= answered);
    kept.map(move |(at, dated)| {
        let newer = history.get(at + 1).map_or(u64::MAX, |newer| newer.may);
        (asked.saturating_sub(newer), &dated.value)
    })
}
