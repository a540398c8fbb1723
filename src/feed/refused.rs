//! What becomes of changes that are refused: told in the process log, and kept. However many there are, neither takes more
//! than its share.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::allowance::Allowance;
use super::file::{Place, Text};
use super::intake::Bad;
use super::quarantine::Quarantine;
use crate::limits;
use crate::observe::FeedStats;
use crate::observe::process_log::{Level, event};

pub(super) struct Refused {
    /// Where the changes come from.
    path: PathBuf,
    quarantine: Quarantine,
    told: Allowance,
    kept: Allowance,
    /// The last could not be kept, and that was told.
    fails: bool,
    stats: Arc<FeedStats>,
}

impl Refused {
    pub(super) fn new(path: &Path, dir: &Path, stats: Arc<FeedStats>) -> Refused {
        Refused {
            path: path.to_owned(),
            quarantine: Quarantine::new(dir),
            told: Allowance::new(limits::REFUSED_TOLD, Duration::from_millis(limits::REFUSED_TOLD_MS)),
            kept: Allowance::new(limits::REFUSED_KEPT, Duration::from_millis(limits::REFUSED_KEPT_MS)),
            fails: false,
            stats,
        }
    }

    /// Tells of a change, and keeps it.
    pub(super) fn add(&mut self, place: Place, text: &Text<'_>, bad: &Bad, now: Instant) {
        self.look(now);
        self.stats.refused(bad.reason).inc();
        if self.told.take(now) {
            let what = format!("{}:{}: {}", self.path.display(), place.line, bad.why);
            let fields =
                [("ringway.feed.reason", bad.reason.as_str().into()), ("error.message", what.into())];
            event(Level::Warn, "a change is refused", &fields);
        }
        if self.kept.take(now) {
            self.keep(place, text, bad);
        } else {
            self.stats.not_kept.inc();
        }
    }

    fn keep(&mut self, place: Place, text: &Text<'_>, bad: &Bad) {
        let line = match text {
            Text::Whole(line) => *line,
            Text::Overlong(_) => &[],
        };
        match self.quarantine.keep(&self.path, place, line, bad) {
            Ok(()) => {
                self.stats.kept.inc();
                self.fails = false;
            }
            Err(error) => {
                self.stats.not_kept.inc();
                if !std::mem::replace(&mut self.fails, true) {
                    let fields = [("error.message", Value::from(error.to_string()))];
                    event(
                        Level::Error,
                        "state.dir takes no refused changes; the next are tried again",
                        &fields,
                    );
                }
            }
        }
    }

    /// Tells how many were not told.
    pub(super) fn look(&mut self, now: Instant) {
        self.kept.over(now);
        if let Some(more) = self.told.over(now) {
            let path = self.path.display().to_string();
            let fields = [("file.path", Value::from(path)), ("ringway.feed.refused", more.into())];
            event(Level::Warn, "more changes are refused than are told one by one", &fields);
        }
    }
}
