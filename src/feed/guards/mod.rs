//! Guards against bad state: a sender that empties the endpoint sets of a fleet by mistake must not take it down (R-126,
//! Pure; `now` is given.
//!
//! Only changes of endpoint sets are judged: an endpoint may be stale without bound, a host name's owner may not (design S6),
//! so tombstones and takedowns are never held. What is held waits with the newest value of its key, and is applied later:
//!
//! | Rule | Holds a change that | Until |
//! |---|---|---|
//! | `emptied` | takes the last healthy endpoint of a set, beyond a share of all sets in a minute | a later minute has room for it |
//! | `fleet` | takes healthy endpoints, if all sets together would have less than half of what they lately had; or more than a few, before that was counted | acknowledged, expired, or counted |
//! | `service` | leaves a large set less than half of the healthy endpoints that it lately had | acknowledged, or expired |

#[cfg(test)]
mod tests;
mod windows;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ringway_state::id::ServiceId;
use ringway_state::record::{Change, EndpointState, Key, Record, Version};

use crate::limits;
use windows::{Emptied, Fleet, Services};

/// Why changes are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    Emptied,
    Fleet,
    Service,
}

impl Rule {
    pub const ALL: [Rule; 3] = [Rule::Emptied, Rule::Fleet, Rule::Service];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Rule::Emptied => "emptied",
            Rule::Fleet => "fleet",
            Rule::Service => "service",
        }
    }

    #[must_use]
    pub fn parse(name: &str) -> Option<Rule> {
        Rule::ALL.into_iter().find(|rule| rule.as_str() == name)
    }
}

/// What is to become of a change.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Judgement {
    Apply(Change),
    /// It would be held, had nobody said that such is meant: it is applied once it is on record that it was let go.
    LetGo(Change, Rule),
    Held(Rule),
    /// It would be held, and there is no room for it now.
    NoRoom(Change, Rule),
}

/// Healthy endpoints of a set before and after a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Effect {
    pub(super) before: u64,
    pub(super) after: u64,
}

/// What a rule holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holding {
    pub rule: Rule,
    pub held: usize,
    /// Of what is held longest.
    pub since: Option<Duration>,
    /// Until the first of it goes by itself; none if it goes whenever there is room.
    pub expires: Option<Duration>,
    /// Some of the keys.
    pub keys: Vec<String>,
    /// For so long it holds nothing more.
    pub acknowledged: Option<Duration>,
}

pub(super) struct Guards {
    held: HashMap<Key, Held>,
    /// At most so many.
    most: usize,
    /// Keys by the rule that holds them, in the order in which they were first held.
    order: [BTreeMap<u64, Key>; Rule::ALL.len()],
    next: u64,
    /// Up to where it was looked whether something may go, and whether all that is held by a rule is to be looked at once.
    looked: [u64; Rule::ALL.len()],
    is_pressed: [bool; Rule::ALL.len()],
    emptied: Emptied,
    fleet: Fleet,
    services: Services,
    /// Until when each rule holds nothing more, and none holds anything of a service.
    acknowledged: [Option<Instant>; Rule::ALL.len()],
    meant: HashMap<ServiceId, Instant>,
}

/// What somebody says is meant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Meant {
    /// Whatever a rule holds.
    Rule(Rule),
    /// What any rule holds of a service.
    Service(ServiceId),
}

struct Held {
    change: Arc<Change>,
    rule: Rule,
    order: u64,
    since: Instant,
}

impl Held {
    fn has_expired(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.since) >= EXPIRES
    }
}

const EXPIRES: Duration = Duration::from_millis(limits::GUARD_EXPIRES_MS);
/// How long nothing more is held that somebody has said is meant.
pub(super) const ACKNOWLEDGED: Duration = Duration::from_millis(limits::GUARD_ACKNOWLEDGED_MS);

/// Healthy endpoints of a record: none of one that is no set, or a grave.
pub(super) fn healthy(record: &Record) -> u64 {
    let Record::Endpoints(_, _, Some(set)) = record else { return 0 };
    set.as_slice().iter().filter(|endpoint| endpoint.state == EndpointState::Healthy).count() as u64
}

impl Guards {
    /// Of a table with about so many sets that have a healthy endpoint. At most so many changes are held.
    pub(super) fn new(sets: u64, most: usize) -> Guards {
        Guards {
            held: HashMap::new(),
            most,
            order: Default::default(),
            next: 0,
            looked: Default::default(),
            is_pressed: Default::default(),
            emptied: Emptied::new(sets),
            fleet: Fleet::default(),
            services: Services::default(),
            acknowledged: [None; Rule::ALL.len()],
            meant: HashMap::new(),
        }
    }

    /// So many endpoints of all sets were healthy before the first change that was applied.
    pub(super) fn counted(&mut self, healthy: u64) {
        self.fleet.counted(healthy);
        self.press();
    }

    /// Everything that is held is looked at once: what holds for all of it is another.
    fn press(&mut self) {
        self.looked = Default::default();
        self.is_pressed = Rule::ALL.map(|rule| !self.order[rule as usize].is_empty());
    }

    /// Changes are judged from now on: what was applied before is no fall.
    pub(super) fn begin(&mut self, now: Instant) {
        self.fleet.begin_anew(now);
        self.services.forget();
    }

    /// Judges a change of a set. A newer value than the one that is held takes its place, or its turn.
    pub(super) fn judge(&mut self, change: Change, effect: Effect, now: Instant) -> Judgement {
        let key = change.record.key();
        let held = self.held.get(&key).map(|held| held.change.version);
        if held.is_some_and(|held| held >= change.version) {
            // The held one comes after it, and wins then: whatever this one does, it does no harm that the other would not.
            return match self.broken(&key, effect, now) {
                None => self.passed(&key, change, effect, now),
                Some(rule) => Judgement::Held(rule),
            };
        }
        match self.broken(&key, effect, now) {
            None => {
                self.let_go(&key);
                self.passed(&key, change, effect, now)
            }
            Some(rule) if held.is_none() && !self.has_room() => Judgement::NoRoom(change, rule),
            Some(rule) => {
                self.hold(key, change, rule, now);
                Judgement::Held(rule)
            }
        }
    }

    /// No rule holds it; but one would, had nobody said otherwise.
    fn passed(&self, key: &Key, change: Change, effect: Effect, now: Instant) -> Judgement {
        match self.stands_against(key, effect, now, |_| true) {
            None => Judgement::Apply(change),
            Some(rule) => Judgement::LetGo(change, rule),
        }
    }

    /// Notes that a change is applied that was judged before a restart. It is not held against what follows: that was judged
    /// after it.
    pub(super) fn judged_before(&mut self, key: &Key, version: Version, effect: Effect, now: Instant) {
        if self.held.get(key).is_some_and(|held| held.change.version <= version) {
            self.let_go(key);
        }
        self.emptied.moved(effect);
        self.fleet.applied(effect, now);
        self.fleet.begin_anew(now);
        self.services.forgive(key);
    }

    /// Notes that a change was applied.
    pub(super) fn applied(&mut self, key: &Key, effect: Effect, now: Instant) {
        self.emptied.applied(effect, now);
        self.fleet.applied(effect, now);
        self.services.applied(key, effect, now);
        if self.is_meant(key, now) {
            self.fleet.forgive(effect);
            self.services.forgive(key);
        }
        // What is meant is not held against what follows.
        if !self.holds(Rule::Fleet, now) {
            self.fleet.begin_anew(now);
        }
        if !self.holds(Rule::Service, now) {
            self.services.forget();
        }
    }

    /// A change that need not be held any longer, if one is found: it is to be applied. Looks at a few of each rule's at a time,
    /// and at none if none may go; `before` tells the healthy endpoints of a set.
    pub(super) fn release(&mut self, now: Instant, before: impl Fn(&Key) -> u64) -> Option<Arc<Change>> {
        for rule in Rule::ALL {
            for _ in 0..limits::GUARD_LOOK {
                let Some(key) = self.next_to_look_at(rule, now) else { break };
                if self.is_free(&key, before(&key), now) {
                    return self.let_go(&key);
                }
            }
        }
        None
    }

    /// The next that a rule holds; none at the end, from which it goes back to the first.
    fn next_to_look_at(&mut self, rule: Rule, now: Instant) -> Option<Key> {
        let at = rule as usize;
        let next = match self.is_pressed[at] || self.may_some_go(rule, now) {
            true => self.order[at].range(self.looked[at]..).next(),
            false => None,
        };
        if let Some((order, key)) = next {
            self.looked[at] = order + 1;
            return Some(key.clone());
        }
        (self.looked[at], self.is_pressed[at]) = (0, false);
        None
    }

    /// Whether a look at what a rule holds could find one that it need not hold: else as many as there are would be looked at
    /// in vain, again and again.
    fn may_some_go(&self, rule: Rule, now: Instant) -> bool {
        let least = Effect { before: 1, after: 0 };
        let stands = self.holds(rule, now)
            && match rule {
                Rule::Emptied => !self.emptied.has_room(now),
                Rule::Fleet => self.fleet.would_fall(least, now),
                // A large set may lately have had so many for longer than a change is held.
                Rule::Service => true,
            };
        !stands || (rule != Rule::Emptied && self.has_one_expired(rule, now))
    }

    /// Those that were held first expire first.
    fn has_one_expired(&self, rule: Rule, now: Instant) -> bool {
        let first = self.order[rule as usize].values().next().and_then(|key| self.held.get(key));
        first.is_some_and(|held| held.has_expired(now))
    }

    /// Whether a change need not be held any longer; else the rule that holds it now, which may be another than before.
    fn is_free(&mut self, key: &Key, before: u64, now: Instant) -> bool {
        let Some(held) = self.held.get(key) else { return false };
        let has_expired = held.has_expired(now);
        let effect = Effect { before, after: healthy(&held.change.record) };
        let Some(rule) = self.broken(key, effect, now) else { return true };
        let has_expired = rule != Rule::Emptied && has_expired;
        if has_expired && (effect.after > 0 || self.emptied.has_room(now)) {
            return true;
        }
        if let Some(held) = self.held.get_mut(key) {
            let before = std::mem::replace(&mut held.rule, rule);
            self.order[before as usize].remove(&held.order);
            self.order[rule as usize].insert(held.order, key.clone());
        }
        false
    }

    /// Something is meant: it goes, and nothing more is held for that reason for so long.
    pub(super) fn acknowledge(&mut self, meant: Meant, lasts: Duration, now: Instant) {
        match meant {
            Meant::Rule(rule) => {
                self.acknowledged[rule as usize] = Some(now + lasts);
                match rule {
                    Rule::Emptied => {}
                    Rule::Fleet => self.fleet.begin_anew(now),
                    Rule::Service => self.services.forget(),
                }
            }
            Meant::Service(service) => {
                if self.meant.len() >= limits::GUARD_MEANT {
                    self.meant.retain(|_, until| *until > now);
                }
                if self.meant.len() < limits::GUARD_MEANT || self.meant.contains_key(&service) {
                    self.meant.insert(service, now + lasts);
                }
            }
        }
        self.press();
    }

    /// What is meant, and for how long.
    pub(super) fn meant(&self, now: Instant) -> impl Iterator<Item = (Meant, Duration)> {
        let left =
            move |until: Instant| Some(until.saturating_duration_since(now)).filter(|left| !left.is_zero());
        let rules = Rule::ALL.into_iter().filter_map(move |rule| {
            self.acknowledged[rule as usize].and_then(left).map(|left| (Meant::Rule(rule), left))
        });
        let services = self.meant.iter().filter_map(move |(service, until)| {
            left(*until).map(|left| (Meant::Service(service.clone()), left))
        });
        rules.chain(services)
    }

    /// Whether [`release`](Self::release) is to be asked at once, again and again.
    pub(super) fn is_pressed(&self) -> bool {
        self.is_pressed.contains(&true) && self.is_holding()
    }

    /// What each rule holds.
    pub(super) fn holdings(&self, now: Instant) -> Vec<Holding> {
        Rule::ALL.into_iter().map(|rule| self.holding(rule, now)).collect()
    }

    fn holding(&self, rule: Rule, now: Instant) -> Holding {
        let order = &self.order[rule as usize];
        let oldest = order.values().next().and_then(|key| self.held.get(key));
        let since = oldest.map(|held| now.saturating_duration_since(held.since));
        Holding {
            rule,
            held: order.len(),
            since,
            expires: since.filter(|_| rule != Rule::Emptied).map(|since| EXPIRES.saturating_sub(since)),
            keys: order.values().take(limits::GUARD_SHOWN).map(ToString::to_string).collect(),
            acknowledged: self.acknowledged[rule as usize]
                .map(|until| until.saturating_duration_since(now))
                .filter(|left| !left.is_zero()),
        }
    }

    /// How many each rule holds.
    pub(super) fn counts(&self) -> [usize; Rule::ALL.len()] {
        Rule::ALL.map(|rule| self.order[rule as usize].len())
    }

    /// Whether something of a service is held. Looks at all that is held.
    pub(super) fn holds_of(&self, service: &ServiceId) -> bool {
        self.held.keys().any(|key| matches!(key, Key::Endpoints(of, _) if of == service))
    }

    /// Holds what was held before a restart, until it is looked at.
    pub(super) fn restore(&mut self, changes: Vec<Change>, now: Instant) {
        for change in changes {
            self.hold(change.record.key(), change, Rule::Emptied, now);
        }
        self.press();
    }

    pub(super) fn has_room(&self) -> bool {
        self.held.len() < self.most
    }

    /// Everything that is held.
    pub(super) fn held(&self) -> impl Iterator<Item = &Arc<Change>> {
        self.held.values().map(|held| &held.change)
    }

    pub(super) fn is_holding(&self) -> bool {
        !self.held.is_empty()
    }

    /// The rule that stands against a change.
    fn broken(&self, key: &Key, effect: Effect, now: Instant) -> Option<Rule> {
        if self.is_meant(key, now) {
            return None;
        }
        self.stands_against(key, effect, now, |rule| self.holds(rule, now))
    }

    /// The first of some rules that would hold a change.
    fn stands_against(
        &self,
        key: &Key,
        effect: Effect,
        now: Instant,
        holds: impl Fn(Rule) -> bool,
    ) -> Option<Rule> {
        if effect.after >= effect.before {
            return None;
        }
        if holds(Rule::Service) && self.services.would_fall(key, effect, now) {
            return Some(Rule::Service);
        }
        if holds(Rule::Fleet) && self.fleet.would_fall(effect, now) {
            return Some(Rule::Fleet);
        }
        let is_one_too_many = effect.after == 0 && holds(Rule::Emptied) && !self.emptied.has_room(now);
        is_one_too_many.then_some(Rule::Emptied)
    }

    fn holds(&self, rule: Rule, now: Instant) -> bool {
        self.acknowledged[rule as usize].is_none_or(|until| until <= now)
    }

    fn is_meant(&self, key: &Key, now: Instant) -> bool {
        let Key::Endpoints(service, _) = key else { return false };
        self.meant.get(service).is_some_and(|until| *until > now)
    }

    fn hold(&mut self, key: Key, change: Change, rule: Rule, now: Instant) {
        assert!(matches!(key, Key::Endpoints(..)), "only endpoints may be stale, so {key} is not held");
        // A newer value takes the place in the row of the one before, and has waited as long.
        let (order, since) = match self.held.get(&key) {
            Some(held) => {
                self.order[held.rule as usize].remove(&held.order);
                (held.order, held.since)
            }
            None => {
                self.next += 1;
                (self.next, now)
            }
        };
        self.order[rule as usize].insert(order, key.clone());
        self.held.insert(key, Held { change: Arc::new(change), rule, order, since });
    }

    fn let_go(&mut self, key: &Key) -> Option<Arc<Change>> {
        let held = self.held.remove(key)?;
        self.order[held.rule as usize].remove(&held.order);
        Some(held.change)
    }
}
