//! From a line to the table, and what was made of it.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ringway_state::change::{self, ChangeError, Meaning};
use ringway_state::id::{HostName, ServiceId};
use ringway_state::limits::{OVERLAY_KEYS_MAX, OVERLAY_OCTETS_MAX};
use ringway_state::record::{Change, HostValue, Key, Record, Version};
use ringway_state::{HostHit, Outcome, Refusal, Table, View};

use super::file::Text;
use super::guards::{ACKNOWLEDGED, Effect, Guards, Judgement, Meant, Rule, healthy};
use super::leaving::Leaving;
use super::notes::Notes;
use super::store::{Fact, Judged, LetGo};
use crate::causes::with_causes;
use crate::limits::GUARD_PAUSE_MS;
use crate::observe::FeedStats;
use crate::runtime::millis;

/// The table, and what comes into it. The only writer there is.
pub(super) struct Intake {
    table: Table,
    /// Host names that have lost the service that they had, since this was asked last.
    cut: Vec<HostName>,
    guards: Guards,
    /// They may hold something.
    is_guarded: bool,
    /// When it was looked in vain whether they may let something go.
    looked: Option<Instant>,
    /// A change that there was no room for.
    waiting: Option<Change>,
    leaving: Leaving,
    notes: Notes,
    /// What was let go of before a restart: it is not judged again.
    let_go: LetGo,
    stats: Arc<FeedStats>,
}

/// What became of a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The table is another.
    Applied,
    /// It says nothing new, or nothing that this version understands.
    Nothing,
    /// It is refused whole. Its sender's fault.
    Refused(Bad),
    /// A guard holds it.
    Held(Rule),
    /// A guard would hold it, and holds as much as it may. What is to become of it?
    NoRoom(Box<Change>, Rule),
    /// The table has no room for it now. The change waits here, and [`Intake::again`] tries it again.
    Full(Refusal),
}

/// Why a line is refused.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Bad {
    pub(super) reason: BadReason,
    /// For people.
    pub(super) why: String,
}

/// The same in a word, for metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadReason {
    TooLong,
    NotJson,
    Malformed,
}

impl BadReason {
    pub const ALL: [BadReason; 3] = [BadReason::TooLong, BadReason::NotJson, BadReason::Malformed];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            BadReason::TooLong => "too_long",
            BadReason::NotJson => "not_json",
            BadReason::Malformed => "malformed",
        }
    }
}

/// Changes that came in and are not in the table yet.
pub(super) struct Outside<'a> {
    guards: &'a Guards,
    waiting: Option<&'a Change>,
    leaving: &'a Leaving,
    notes: &'a mut Notes,
    let_go: &'a mut LetGo,
}

impl Outside<'_> {
    /// Whether one waits for room.
    pub(super) fn is_waiting(&self) -> bool {
        self.waiting.is_some()
    }

    /// Those that guards hold, or have just let go.
    pub(super) fn held(&self) -> Vec<Arc<Change>> {
        let waiting = self.waiting_set().cloned().map(Arc::new);
        self.guards.held().cloned().chain(self.leaving.changes().cloned()).chain(waiting).collect()
    }

    fn waiting_set(&self) -> Option<&Change> {
        self.waiting.filter(|change| matches!(change.record, Record::Endpoints(..)))
    }

    /// Takes down once more what was let go of and is not in the table, and what is meant: all that a new file of the record has
    /// to say. Up to where that has to be on record before those before it go.
    pub(super) fn note_again(&mut self, now: Instant) -> u64 {
        let leaving = self.leaving.changes().map(|change| let_go(change));
        let facts: Vec<_> = leaving.chain(self.waiting_set().map(let_go)).collect();
        for fact in facts {
            self.notes.ahead(fact);
        }
        for (meant, left) in self.guards.meant(now) {
            self.notes.ahead(Fact::Meant(meant, unix_ms() + millis(left)));
        }
        // All that it is about has been read, and is in the table.
        self.let_go.clear();
        self.notes.taken()
    }
}

const PAUSE: Duration = Duration::from_millis(GUARD_PAUSE_MS);

/// Healthy endpoints of a set, when everything is applied that is let go: what leaves may be older than what is there by now.
fn before(leaving: &Leaving, view: &View, key: &Key) -> u64 {
    let (leaves, stored) = (leaving.newest(key), view.change(key));
    match (leaves, &stored) {
        (Some(leaves), Some(stored)) if leaves.version < stored.version => healthy(&stored.record),
        (Some(leaves), _) => healthy(&leaves.record),
        (None, stored) => stored.as_ref().map_or(0, |stored| healthy(&stored.record)),
    }
}

/// What is put on record of a change that is let go.
fn let_go(change: &Change) -> Fact {
    Fact::LetGo(change.record.key(), change.version, healthy(&change.record))
}

fn unix_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, millis)
}

impl Bad {
    fn of(error: &ChangeError) -> Bad {
        let reason = match error {
            ChangeError::TooLong { .. } => BadReason::TooLong,
            ChangeError::NotJson(_) => BadReason::NotJson,
            _ => BadReason::Malformed,
        };
        Bad { reason, why: with_causes(error) }
    }
}

impl Intake {
    /// `held` is the most that guards may hold.
    pub(super) fn new(table: Table, held: usize, stats: Arc<FeedStats>) -> Intake {
        let view = table.publish();
        let sets =
            view.levels().iter().chain(view.base()).map(|file| file.header().counts.endpoint_sets).sum();
        Intake {
            table,
            cut: Vec::new(),
            guards: Guards::new(sets, held),
            is_guarded: false,
            looked: None,
            waiting: None,
            leaving: Leaving::default(),
            notes: Notes::default(),
            let_go: LetGo::default(),
            stats,
        }
    }

    /// Goes on with the guards' judgement as it was before a restart: what they held, what they had let go of, and what was
    /// meant.
    pub(super) fn restore(&mut self, held: Vec<Change>, judged: Judged, now: Instant) {
        for (meant, until) in judged.meant {
            let left = Duration::from_millis(until.saturating_sub(unix_ms())).min(ACKNOWLEDGED);
            if !left.is_zero() {
                self.guards.acknowledge(meant, left, now);
            }
        }
        self.let_go = judged.let_go;
        let is_let_go = |change: &Change| self.let_go.has(&change.record.key(), change.version);
        let (let_go, held): (Vec<_>, Vec<_>) = held.into_iter().partition(is_let_go);
        self.guards.restore(held, now);
        for change in let_go {
            let key = change.record.key();
            let effect = self.effect(&key, &change);
            self.guards.judged_before(&key, change.version, effect, now);
            self.leaving.push(key, Arc::new(change), 0, now);
        }
    }

    /// Somebody says that something is meant. When [`Notes::recorded`] has come so far, it is on record.
    pub(super) fn acknowledge(&mut self, meant: Meant, now: Instant) -> u64 {
        let until = unix_ms() + millis(ACKNOWLEDGED);
        let token = self.notes.ahead(Fact::Meant(meant.clone(), until));
        self.guards.acknowledge(meant, ACKNOWLEDGED, now);
        token
    }

    /// Whether the table has anything by a service's name, were it a grave: its record, or its endpoints where the node is.
    /// What guards hold of it in other regions is something, too.
    pub(super) fn knows(&self, service: &ServiceId) -> bool {
        let view = self.table.publish();
        let endpoints = Key::Endpoints(service.clone(), view.local().name().clone());
        let keys = [Key::Service(service.clone()), endpoints];
        keys.iter().any(|key| view.stored(key).is_some()) || self.guards.holds_of(service)
    }

    /// What is to be put on record.
    pub(super) fn notes(&self) -> &Notes {
        &self.notes
    }

    pub(super) fn notes_mut(&mut self) -> &mut Notes {
        &mut self.notes
    }

    /// Whether [`release`](Self::release) is to be asked at once, again and again.
    pub(super) fn is_pressed(&self) -> bool {
        self.guards.is_pressed() && self.leaving.has_room()
    }

    pub(super) fn is_guarded(&self) -> bool {
        self.is_guarded
    }

    /// Whether guards could hold one more change, and one more could wait for its record.
    pub(super) fn has_room(&self) -> bool {
        self.guards.has_room() && self.leaving.has_room()
    }

    /// From now on changes are held that guards stand against. History, read for the first time, is no news.
    pub(super) fn guard(&mut self) {
        if !std::mem::replace(&mut self.is_guarded, true) {
            self.guards.begin(Instant::now());
        }
    }

    pub(super) fn guards(&mut self) -> &mut Guards {
        &mut self.guards
    }

    pub(super) fn table(&self) -> &Table {
        &self.table
    }

    /// For its chores, which do not change what it says; and what it does not have yet.
    pub(super) fn for_chores(&mut self) -> (&mut Table, Outside<'_>) {
        let Intake { table, guards, waiting, leaving, notes, let_go, .. } = self;
        (table, Outside { guards, waiting: waiting.as_ref(), leaving, notes, let_go })
    }

    /// The host names that have lost the service that they had, since this was asked last.
    pub(super) fn take_cut(&mut self) -> Vec<HostName> {
        std::mem::take(&mut self.cut)
    }

    /// Whether the table has room to spare: what guards let go must not take it from what comes.
    pub(super) fn has_spare_room(&self) -> bool {
        let (keys, octets) = self.table.overlay_size();
        keys < OVERLAY_KEYS_MAX / 4 * 3 && octets < OVERLAY_OCTETS_MAX / 4 * 3
    }

    /// Takes one line. Not while a change waits.
    pub(super) fn line(&mut self, text: &Text<'_>) -> Verdict {
        debug_assert!(self.waiting.is_none());
        let line = match text {
            Text::Whole(line) => *line,
            Text::Overlong(octets) => {
                return Verdict::Refused(Bad::of(&ChangeError::TooLong { octets: *octets }));
            }
        };
        self.stats.lines.inc();
        if line.trim_ascii().is_empty() {
            return Verdict::Nothing;
        }
        let line = match change::parse(line) {
            Ok(line) => line,
            Err(error) => return Verdict::Refused(Bad::of(&error)),
        };
        self.stats.unknown_fields.add(line.unknown_fields as u64);
        match line.meaning {
            Meaning::Change(change) => self.offer(change),
            Meaning::Nothing => Verdict::Nothing,
            Meaning::UnknownKind(_) => {
                self.stats.unknown_kinds.inc();
                Verdict::Nothing
            }
        }
    }

    /// Tries the change that waits, if one does. It was judged when it came, and nothing has been applied since.
    pub(super) fn again(&mut self) -> Verdict {
        self.waiting.take().map_or(Verdict::Nothing, |change| self.let_through(change))
    }

    /// Applies a change, unless a guard stands against it.
    pub(super) fn offer(&mut self, change: Change) -> Verdict {
        let Record::Endpoints(..) = &change.record else { return self.apply(change) };
        let (key, now) = (change.record.key(), Instant::now());
        if self.leaving.newest(&key).is_some_and(|leaves| leaves.version >= change.version) {
            self.stats.stale.inc();
            return Verdict::Nothing;
        }
        let stored = self.version(&key);
        if stored.is_some_and(|version| version >= change.version) {
            return self.apply(change);
        }
        let effect = self.effect(&key, &change);
        if !self.is_guarded {
            return self.apply_set(change, &key, effect, now);
        }
        if self.let_go.has(&key, change.version) {
            return self.apply_judged(change, &key, effect, now);
        }
        // A restart may meet it before what it followed on, or without that.
        let followed = self.let_go.between(&key, stored.unwrap_or_default(), change.version);
        let judged = Effect { before: followed.unwrap_or(effect.before), ..effect };
        match self.guards.judge(change, judged, now) {
            Judgement::Apply(change) if judged != effect => {
                self.notes.behind(let_go(&change));
                self.apply_judged(change, &key, effect, now)
            }
            Judgement::Apply(change) => self.apply_set(change, &key, effect, now),
            Judgement::LetGo(change, rule) if !self.leaving.has_room() => {
                Verdict::NoRoom(Box::new(change), rule)
            }
            Judgement::LetGo(change, _) => self.leave(Arc::new(change), key, effect, now),
            Judgement::Held(rule) => self.held(rule),
            Judgement::NoRoom(change, rule) => Verdict::NoRoom(Box::new(change), rule),
        }
    }

    /// Applies a change that was judged before a restart.
    fn apply_judged(&mut self, change: Change, key: &Key, effect: Effect, now: Instant) -> Verdict {
        let version = change.version;
        let verdict = self.apply(change);
        if verdict == Verdict::Applied {
            self.guards.judged_before(key, version, effect, now);
        }
        verdict
    }

    /// Takes a line once more that guards had no room for; what else stands between such lines was taken then.
    pub(super) fn line_again(&mut self, text: &Text<'_>) -> Verdict {
        debug_assert!(self.waiting.is_none() && self.has_room());
        let Text::Whole(line) = text else { return Verdict::Nothing };
        match change::parse(line).map(|line| line.meaning) {
            Ok(Meaning::Change(change)) if matches!(change.record, Record::Endpoints(..)) => {
                self.offer(change)
            }
            _ => Verdict::Nothing,
        }
    }

    /// Applies a change without asking the guards.
    pub(super) fn let_through(&mut self, change: Change) -> Verdict {
        if !matches!(change.record, Record::Endpoints(..)) {
            return self.apply(change);
        }
        let key = change.record.key();
        let effect = self.effect(&key, &change);
        self.apply_set(change, &key, effect, Instant::now())
    }

    fn version(&self, key: &Key) -> Option<Version> {
        self.table.publish().change(key).map(|stored| stored.version)
    }

    /// What a change takes or brings, when everything is applied that is let go.
    fn effect(&self, key: &Key, change: &Change) -> Effect {
        let before = before(&self.leaving, &self.table.publish(), key);
        Effect { before, after: healthy(&change.record) }
    }

    /// Lets a change go that need not be held any longer, if there is one: it leaves once that is on record.
    pub(super) fn release(&mut self, now: Instant) -> Option<Verdict> {
        let pauses = !self.guards.is_pressed() && self.looked.is_some_and(|looked| now < looked + PAUSE);
        if !self.guards.is_holding() || pauses || !self.leaving.has_room() {
            return None;
        }
        let view = self.table.publish();
        let leaving = &self.leaving;
        let Some(change) = self.guards.release(now, |key| before(leaving, &view, key)) else {
            self.looked = Some(now);
            return None;
        };
        self.stats.released.inc();
        let key = change.record.key();
        let effect = self.effect(&key, &change);
        Some(self.leave(change, key, effect, now))
    }

    /// Lets a change go: it is applied when that is on record, so that no restart holds it again.
    fn leave(&mut self, change: Arc<Change>, key: Key, effect: Effect, now: Instant) -> Verdict {
        self.guards.applied(&key, effect, now);
        let token = self.notes.ahead(let_go(&change));
        self.leaving.push(key, change, token, now);
        Verdict::Nothing
    }

    /// Applies the next change that was let go of, if that is on record, or the disk has not taken it for too long.
    pub(super) fn left(&mut self, now: Instant) -> Option<Verdict> {
        let change = self.leaving.take(self.notes.recorded(), now)?;
        Some(self.apply(Arc::unwrap_or_clone(change)))
    }

    /// Whether everything is applied that was let go of.
    pub(super) fn has_left(&self) -> bool {
        self.leaving.is_empty()
    }

    /// When the first one is applied at the latest.
    pub(super) fn patience(&self, now: Instant) -> Option<Duration> {
        self.leaving.patience(now)
    }

    fn apply_set(&mut self, change: Change, key: &Key, effect: Effect, now: Instant) -> Verdict {
        let fact = self.is_guarded.then(|| let_go(&change));
        let verdict = self.apply(change);
        if verdict == Verdict::Applied {
            self.guards.applied(key, effect, now);
            if let Some(fact) = fact {
                self.notes.behind(fact);
            }
        }
        verdict
    }

    fn held(&self, rule: Rule) -> Verdict {
        self.stats.held(rule).inc();
        Verdict::Held(rule)
    }

    /// A key of host names, and the service that it led to.
    fn leads_to(&self, change: &Change) -> Option<(HostName, String)> {
        let Record::Host(name, _) = &change.record else { return None };
        if name.is_wildcard() {
            let before = self.table.publish().change(&change.record.key())?;
            let Record::Host(_, Some(HostValue::Mapped { service, .. })) = before.record else { return None };
            return Some((name.clone(), service.as_str().to_owned()));
        }
        self.service_of(name).map(|service| (name.clone(), service.to_owned()))
    }

    fn service_of(&self, name: &HostName) -> Option<&str> {
        match self.table.host(name.as_str().as_bytes()) {
            Some(HostHit::Service(service)) => Some(service.id()),
            Some(HostHit::Tombstone { .. }) | None => None,
        }
    }

    /// Notes the host name of a change that holds, if its requests go elsewhere from now on, or nowhere.
    fn note_loss(&mut self, name: HostName, before: &str, now: Option<&HostValue>) {
        let stays = match now {
            Some(HostValue::Mapped { service, .. }) => service.as_str() == before,
            Some(HostValue::Tombstone { .. }) => false,
            // It may fall to a wildcard.
            None => !name.is_wildcard() && self.service_of(&name) == Some(before),
        };
        if !stays {
            self.cut.push(name);
        }
    }

    fn apply(&mut self, change: Change) -> Verdict {
        let kept = change.clone();
        let before = self.leads_to(&change);
        let began = Instant::now();
        let outcome = self.table.apply(change);
        match outcome {
            Outcome::Applied => {
                self.stats.apply.record(began.elapsed());
                self.stats.applied.inc();
                if let (Some((name, before)), Record::Host(_, now)) = (before, &kept.record) {
                    self.note_loss(name, &before, now.as_ref());
                }
                Verdict::Applied
            }
            Outcome::Stale => {
                self.stats.stale.inc();
                Verdict::Nothing
            }
            Outcome::Fenced => {
                self.stats.fenced.inc();
                Verdict::Nothing
            }
            Outcome::Refused(refusal) => {
                self.waiting = Some(kept);
                Verdict::Full(refusal)
            }
        }
    }
}
