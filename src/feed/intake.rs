//! From a line to the table, and what was made of it.

use std::sync::Arc;
use std::time::Instant;

use ringway_state::change::{self, ChangeError, Meaning};
use ringway_state::id::HostName;
use ringway_state::record::{Change, HostValue, Record};
use ringway_state::{HostHit, Outcome, Refusal, Table};

use super::file::Text;
use crate::causes::with_causes;
use crate::observe::FeedStats;

/// The table, and what comes into it. The only writer there is.
pub(super) struct Intake {
    table: Table,
    /// Host names that have lost the service that they had, since this was asked last.
    cut: Vec<HostName>,
    /// A change that the table had no room for.
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
    /// The table has no room now. The change waits here, and [`Intake::again`] tries it again.
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
    pub(super) fn new(table: Table, stats: Arc<FeedStats>) -> Intake {
        Intake { table, cut: Vec::new(), waiting: None, stats }
    }

    pub(super) fn table(&self) -> &Table {
        &self.table
    }

    /// For its chores; only changes change what it says.
    pub(super) fn table_mut(&mut self) -> &mut Table {
        &mut self.table
    }

    /// Whether a change waits for room.
    pub(super) fn is_waiting(&self) -> bool {
        self.waiting.is_some()
    }

    /// The host names that have lost the service that they had, since this was asked last.
    pub(super) fn take_cut(&mut self) -> Vec<HostName> {
        std::mem::take(&mut self.cut)
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
            Meaning::Change(change) => self.apply(change),
            Meaning::Nothing => Verdict::Nothing,
            Meaning::UnknownKind(_) => {
                self.stats.unknown_kinds.inc();
                Verdict::Nothing
            }
        }
    }

    /// Tries the change that waits, if one does.
    pub(super) fn again(&mut self) -> Verdict {
        self.waiting.take().map_or(Verdict::Nothing, |change| self.apply(change))
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
