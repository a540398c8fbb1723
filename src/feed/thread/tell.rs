//! What the feed's thread tells people: how far it is, and what has become of its file.

use std::io;
use std::time::Instant;

use serde_json::Value;

use super::{Feed, READY, StartState};
use crate::feed::file::Begun;
use crate::limits;
use crate::observe::process_log::{Level, event};
use crate::runtime::millis;

impl Feed {
    pub(super) fn tell_start(&mut self) {
        let path = self.path.display().to_string();
        match self.start.state {
            StartState::Done => {}
            StartState::Publishing(sequence) if self.publisher.taken() >= sequence => {
                self.start.state = StartState::Done;
                self.intake.guard();
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

    pub(super) fn tell_begun(&mut self, begun: &Begun) {
        self.stats.begun.inc();
        self.absent = None;
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
