//! From a line to the table, and what was made of it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ringway_state::change::{self, ChangeError, Meaning};
use ringway_state::id::HostName;
use ringway_state::limits::{OVERLAY_KEYS_MAX, OVERLAY_OCTETS_MAX};
use ringway_state::record::{Change, HostValue, Key, Record};
use ringway_state::{HostHit, Outcome, Refusal, Table};

use super::file::Text;
use super::guards::{Effect, Guards, Judgement, Rule, healthy};
use crate::causes::with_causes;
use crate::limits::GUARD_PAUSE_MS;
use crate::observe::FeedStats;

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
}

impl Outside<'_> {
    /// Whether one waits for room.
    pub(super) fn is_waiting(&self) -> bool {
        self.waiting.is_some()
    }

    /// Those that guards hold, or have just let go.
    pub(super) fn held(&self) -> Vec<Arc<Change>> {
        let waiting = self.waiting.filter(|change| matches!(change.record, Record::Endpoints(..)));
        self.guards.held().cloned().chain(waiting.cloned().map(Arc::new)).collect()
    }
}

const PAUSE: Duration = Duration::from_millis(GUARD_PAUSE_MS);

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
            stats,
        }
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
        (&mut self.table, Outside { guards: &self.guards, waiting: self.waiting.as_ref() })
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
        let stored = self.table.publish().change(&key);
        if stored.as_ref().is_some_and(|stored| stored.version >= change.version) {
            return self.apply(change);
        }
        let before = stored.map_or(0, |stored| healthy(&stored.record));
        let effect = Effect { before, after: healthy(&change.record) };
        let change = match self.is_guarded {
            true => match self.guards.judge(change, effect, now) {
                Judgement::Apply(change) => change,
                Judgement::Held(rule) => return self.held(rule),
                Judgement::NoRoom(change, rule) => return Verdict::NoRoom(Box::new(change), rule),
            },
            false => change,
        };
        self.apply_set(change, &key, effect, now)
    }

    /// Takes a line once more that guards had no room for; what else stands between such lines was taken then.
    pub(super) fn line_again(&mut self, text: &Text<'_>) -> Verdict {
        debug_assert!(self.waiting.is_none() && self.guards.has_room());
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
        let effect = Effect { before: self.healthy(&key), after: healthy(&change.record) };
        self.apply_set(change, &key, effect, Instant::now())
    }

    fn healthy(&self, key: &Key) -> u64 {
        self.table.publish().change(key).map_or(0, |stored| healthy(&stored.record))
    }

    /// Applies a change that need not be held any longer, if there is one.
    pub(super) fn release(&mut self, now: Instant) -> Option<Verdict> {
        let pauses = !self.guards.is_pressed() && self.looked.is_some_and(|looked| now < looked + PAUSE);
        if !self.guards.is_holding() || pauses {
            return None;
        }
        let view = self.table.publish();
        let before = |key: &Key| view.change(key).map_or(0, |stored| healthy(&stored.record));
        let Some(change) = self.guards.release(now, before) else {
            self.looked = Some(now);
            return None;
        };
        let change = Change::clone(&change);
        self.stats.released.inc();
        let key = change.record.key();
        let effect = Effect { before: before(&key), after: healthy(&change.record) };
        Some(self.apply_set(change, &key, effect, now))
    }

    fn apply_set(&mut self, change: Change, key: &Key, effect: Effect, now: Instant) -> Verdict {
        let verdict = self.apply(change);
        if verdict == Verdict::Applied {
            self.guards.applied(key, effect, now);
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
