//! What the feed's thread tells people: how far it is, and what has become of its file.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{Feed, READY, StartState};
use crate::feed::file::Begun;
use crate::feed::store::Fact;
use crate::limits;
use crate::observe::process_log::{Level, event};
use crate::runtime::millis;

impl Feed {
    pub(super) fn tell_start(&mut self) {
        let path = self.path.display().to_string();
        match self.start.state {
            StartState::Done => {}
            StartState::Publishing(sequence) if self.publisher.taken() >= sequence => {
                self.start.state = StartState::Recording(self.note_history(), Instant::now());
                // There may be nothing to wait for.
                self.tell_start();
            }
            StartState::Recording(token, since) if self.is_recorded(token, since) => {
                self.start.state = StartState::Done;
                self.readiness.clear(READY);
                self.caught_up.tell();
                let fields = [
                    ("file.path", path.into()),
                    ("ringway.feed.lines", self.stats.lines.get().into()),
                    ("ringway.feed.applied", self.stats.applied.get().into()),
                    ("ringway.feed.read_ms", millis(self.start.began.elapsed()).into()),
                ];
                event(Level::Info, "the feed was read", &fields);
            }
            StartState::Recording(..) => {}
            StartState::Publishing(_) | StartState::Reading => {
                if self.absent.is_some() || millis(self.start.told.elapsed()) < limits::FEED_PROGRESS_MS {
                    return;
                }
                self.start.told = Instant::now();
                let (read, all) = self.follower.progress();
                self.readiness.set(READY, format!("{path} is being read: {read} of {all} octets"));
                let fields = [
                    ("file.path", Value::from(path)),
                    ("ringway.feed.lines", self.stats.lines.get().into()),
                    ("ringway.feed.octets", read.into()),
                    ("ringway.feed.octets_of", all.into()),
                ];
                event(Level::Info, "the feed is being read", &fields);
            }
        }
    }

    /// From now on changes are judged, after a restart too: when so much is on record.
    fn note_history(&mut self) -> u64 {
        if self.intake.is_guarded() {
            return 0;
        }
        self.intake.guard();
        let (_, outside) = self.intake.for_chores();
        let position = self.follower.position_before(outside.is_waiting(), self.arrears.latest());
        position.map_or(0, |position| self.intake.notes_mut().ahead(Fact::History(position)))
    }

    /// A folder that takes nothing keeps nobody from serving.
    fn is_recorded(&self, token: u64, since: Instant) -> bool {
        self.intake.notes().recorded() >= token
            || self.chores.is_in_trouble()
            || self.recorder.is_in_trouble()
            || since.elapsed() >= Duration::from_millis(limits::GUARD_RECORDED_MS)
    }

    pub(super) fn tell_not_recorded(&self, error: &io::Error, again: Duration) {
        let fields = [
            ("file.path", Value::from(self.dir.path().display().to_string())),
            ("error.message", error.to_string().into()),
            ("ringway.feed.again_ms", millis(again).into()),
        ];
        let what = "what guards let go of is not on record, and might be held again after a restart; it is tried again";
        event(Level::Error, what, &fields);
    }

    pub(super) fn tell_begun(&mut self, begun: &Begun) {
        self.stats.begun.inc();
        self.absent = None;
        if let Some(history) = &self.history {
            self.guard_from = Some(self.follower.offset_of(history).unwrap_or_default());
        }
        if matches!(begun, Begun::Replaced { .. } | Begun::Rewritten) {
            self.chores.keep_all();
        }
        let path = self.path.display().to_string();
        let fields = [("file.path", path.into())];
        match begun {
            Begun::Resumed { line } => {
                let [path] = fields;
                let fields = [path, ("ringway.feed.line", (*line).into())];
                event(
                    Level::Info,
                    "the feed's file is read on from where the table in state.dir ends",
                    &fields,
                );
            }
            Begun::First => event(Level::Info, "the feed's file is read from its start", &fields),
            Begun::Rewritten => {
                event(Level::Info, "the feed's file was written anew and is read from its start", &fields);
            }
            Begun::Replaced { torn: 0 } => {
                event(Level::Info, "the feed's file is another and is read from its start", &fields);
            }
            Begun::Replaced { torn } => {
                self.stats.torn.inc();
                let [path] = fields;
                let fields = [path, ("ringway.feed.octets_torn", (*torn).into())];
                let what = "the feed's file is another and is read from its start; the last line of the one before has no \
                            end and is lost";
                event(Level::Warn, what, &fields);
            }
        }
    }

    pub(super) fn tell_absent(&mut self, error: &io::Error) {
        let why = error.to_string();
        if self.absent.as_ref() == Some(&why) {
            return;
        }
        // What is known is the best there is, and a restart may find it nowhere else.
        self.caught_up.tell();
        if self.start.state == StartState::Done {
            self.chores.keep_all();
        }
        let path = self.path.display().to_string();
        if self.start.state == StartState::Reading {
            self.readiness.set(READY, format!("{path} cannot be read: {why}; it is waited for"));
        }
        let fields = [("file.path", path.into()), ("error.message", Value::from(why.clone()))];
        event(
            Level::Warn,
            "the feed's file cannot be read; it is waited for, and what is known stays",
            &fields,
        );
        self.absent = Some(why);
    }

    pub(super) fn tell_full(&mut self, why: &str) {
        self.stats.full.inc();
        if self.chores.is_in_trouble() {
            // There may be no room for long.
            self.caught_up.tell();
        }
        let now = Instant::now();
        self.full.over(now);
        if self.full.take(now) {
            let path = self.path.display().to_string();
            let fields = [("file.path", path.into()), ("error.message", why.into())];
            event(
                Level::Warn,
                "the table has no room for more changes now; they wait, and what is known stays",
                &fields,
            );
        }
    }
}

/// Lines of the guards' record cannot be read.
pub(super) fn tell_damaged(dir: &Path, lines: usize) {
    if lines > 0 {
        let fields = [
            ("file.path", Value::from(dir.display().to_string())),
            ("ringway.guard.lines_damaged", lines.into()),
        ];
        let what = "lines of the guards' record are damaged; what they had let go of is judged again";
        event(Level::Error, what, &fields);
    }
}

/// Files in the folder have names that the table's might have had, and are none of it.
pub(super) fn tell_others(dir: &Path, others: impl Iterator<Item = u64>) {
    let numbers: Vec<Value> = others.map(Value::from).collect();
    if !numbers.is_empty() {
        let fields = [
            ("file.path", Value::from(dir.display().to_string())),
            ("ringway.table.numbers", numbers.into()),
        ];
        let what = "files in state.dir have numbers that the table has not come to; they are left, move them elsewhere";
        event(Level::Warn, what, &fields);
    }
}
