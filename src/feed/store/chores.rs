//! What the feed's thread decides of the table's files, and when: the overlay becomes a level, levels become one, all becomes
//! a base (design S3). The housekeeper does it.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ringway_state::record::Change;
use ringway_state::snapshot::Snapshot;
use ringway_state::{Built, Due, Forget, Refusal, Retired, Table, Work};
use serde_json::Value;

use super::housekeeper::{Commit, Done, Housekeeper, Job};
use super::manifest::Manifest;
use super::trouble::Trouble;
use crate::causes::with_causes;
use crate::feed::file::Position;
use crate::limits;
use crate::observe::FeedStats;
use crate::observe::process_log::{Level, event};
use crate::runtime::Waker;

pub(in crate::feed) struct Chores {
    dir: PathBuf,
    housekeeper: Housekeeper,
    /// What is, or is to be, on record.
    manifest: Manifest,
    /// It is not on record as it is.
    is_new: bool,
    /// What the overlay holds cannot be read again after a restart.
    is_alone: bool,
    /// Up to where everything is in what the table has frozen for a flush, until a level has taken it over.
    frozen: Option<Read>,
    /// What is being made.
    making: Option<Making>,
    /// What was made and has no place yet.
    built: Option<(Making, Box<Built>)>,
    retired: Vec<Waiting>,
    /// What is in none of the files though the feed was read beyond it, if that is not on record as it is.
    held: Option<Vec<Arc<Change>>>,
    /// The first file of the guards' record that is needed from then on, once so much is on record.
    judged: Option<(u64, u64)>,
    /// The folder has a manifest: nothing else is written before.
    is_begun: bool,
    flush_every: Duration,
    /// When a level was begun last, and after how many of the feed's lines.
    flushed: (Instant, u64),
    trouble: Trouble,
    stats: Arc<FeedStats>,
}

/// Up to where the feed has been read.
#[derive(Clone, Debug)]
pub(in crate::feed) struct Read {
    /// Everything before it is in the table, or held.
    pub(in crate::feed) position: Option<Position>,
    pub(in crate::feed) held: Vec<Arc<Change>>,
    /// Whether guards judge what comes after it.
    pub(in crate::feed) is_guarded: bool,
    /// The first file of their record that says something that is not in the table, and up to where it has to be on record
    /// before those before it go; none if all are needed.
    pub(in crate::feed) judged: Option<(u64, u64)>,
}

#[derive(Debug)]
struct Making {
    kind: Kind,
    name: String,
}

#[derive(Debug)]
enum Kind {
    /// What was read by then is in it, held, or in what is on record.
    Flush(Read),
    Merge,
    Base,
}

/// What a core may still look at.
struct Waiting {
    /// Until every core serves from this publication; none while it is to come.
    until: Option<u64>,
    retired: Retired,
}

/// How the feed is at the moment.
pub(in crate::feed) struct Now<'a> {
    pub(in crate::feed) at: Instant,
    /// What every core serves from.
    pub(in crate::feed) taken: u64,
    /// It reads what was there at the start: as fast as it can.
    pub(in crate::feed) is_starting: bool,
    /// Changes may soon wait for a flush.
    pub(in crate::feed) needs_room: bool,
    /// So much of the guards' judgement is on record.
    pub(in crate::feed) recorded: u64,
    pub(in crate::feed) read: &'a mut dyn FnMut() -> Read,
}

impl Chores {
    /// # Errors
    /// The machine gives no thread.
    pub(in crate::feed) fn start(
        dir: PathBuf,
        manifest: Manifest,
        is_begun: bool,
        flush_every: Duration,
        stats: Arc<FeedStats>,
        waker: Waker,
    ) -> io::Result<Chores> {
        let housekeeper = Housekeeper::start(dir.clone(), Arc::clone(&stats), waker)?;
        Ok(Chores {
            dir,
            housekeeper,
            manifest,
            is_new: !is_begun,
            is_alone: false,
            frozen: None,
            making: None,
            built: None,
            retired: Vec::new(),
            held: None,
            judged: None,
            is_begun,
            flush_every,
            flushed: (Instant::now(), 0),
            trouble: Trouble::default(),
            stats,
        })
    }

    /// Takes the next step, if there is one. True if the table stands on other files: it is to be published.
    pub(in crate::feed) fn turn(&mut self, table: &mut Table, now: Now<'_>) -> bool {
        self.housekeeper.hurry(now.needs_room);
        if let Some(done) = self.housekeeper.done() {
            self.done(done, now.at);
        }
        let is_another = !self.housekeeper.is_busy() && self.install(table);
        if !self.housekeeper.is_busy() && self.trouble.is_over(now.at) && !is_another {
            self.begin(table, now);
        }
        is_another
    }

    /// What the overlay holds now is nowhere else: the feed's file is another. It becomes a level, however little it is.
    pub(in crate::feed) fn keep_all(&mut self) {
        self.is_alone = true;
    }

    /// Whether the folder says that it is in use: nothing is written to it before.
    pub(in crate::feed) fn is_begun(&self) -> bool {
        self.is_begun
    }

    /// The table was published, and whatever was retired before goes when every core has it.
    pub(in crate::feed) fn published(&mut self, sequence: u64) {
        for waiting in &mut self.retired {
            waiting.until.get_or_insert(sequence);
        }
    }

    /// When to take the next turn though nothing happens.
    pub(in crate::feed) fn patience(&self, now: Instant) -> Option<Duration> {
        self.trouble.left(now)
    }

    /// The folder has not taken what it was last given.
    pub(in crate::feed) fn is_in_trouble(&self) -> bool {
        self.trouble.is_any()
    }

    fn done(&mut self, done: Done, now: Instant) {
        match done {
            Done::Built(Ok(built)) => {
                self.trouble = Trouble::default();
                self.built = self.making.take().map(|making| (making, Box::new(built)));
            }
            Done::Built(Err(error)) => {
                self.making = None;
                self.failed("a file of the table was not made", with_causes(&error), now);
            }
            Done::NotBegun(error) => {
                self.making = None;
                self.failed("a file of the table was not made", error.to_string(), now);
            }
            Done::Committed(Ok(())) if !self.is_begun => {
                (self.trouble, self.is_begun) = (Trouble::default(), true);
            }
            Done::Committed(Ok(())) => (self.trouble, self.held) = (Trouble::default(), None),
            Done::Committed(Err(error)) => {
                self.is_new = true;
                self.failed("the files of the table are not on record", error.to_string(), now);
            }
            Done::Failed => {
                self.making = None;
                self.failed(
                    "the housekeeper has failed",
                    "its thread has ended; restart the router".into(),
                    now,
                );
            }
        }
    }

    fn failed(&mut self, what: &str, why: String, now: Instant) {
        self.stats.chores_failed.inc();
        let again = self.trouble.more(now);
        let fields = [
            ("file.path", Value::from(self.dir.display().to_string())),
            ("error.message", why.into()),
            ("ringway.feed.again_ms", crate::runtime::millis(again).into()),
        ];
        event(Level::Error, &format!("{what}; what is known is served, and it is tried again"), &fields);
    }

    fn install(&mut self, table: &mut Table) -> bool {
        let Some((making, built)) = self.built.take() else { return false };
        match table.install(&built) {
            Ok(retired) => {
                match making.kind {
                    Kind::Flush(read) => {
                        self.note(read);
                        self.frozen = None;
                        self.stats.flushes.inc();
                    }
                    Kind::Merge => self.stats.merges.inc(),
                    Kind::Base => {
                        self.manifest.base_made = unix_seconds();
                        self.stats.bases.inc();
                    }
                }
                self.is_new = true;
                self.retired.push(Waiting { until: None, retired });
                true
            }
            // A merge makes room for it.
            Err(Refusal::Levels) => {
                self.built = Some((making, built));
                false
            }
            // Its file goes with the next record.
            Err(_) => {
                self.is_new = true;
                false
            }
        }
    }

    /// The files have all that was read by then but for what is held. What guards let go of later is in the overlay alone, and
    /// held on record until a flush.
    fn note(&mut self, read: Read) {
        let Read { position, held, is_guarded, judged } = read;
        (self.manifest.feed, self.held, self.is_new) = (position, Some(held), true);
        (self.manifest.guarded, self.judged) = (is_guarded, judged.or(self.judged));
    }

    fn begin(&mut self, table: &mut Table, mut now: Now<'_>) {
        let is_taken = |waiting: &Waiting| waiting.until.is_some_and(|until| until <= now.taken);
        if self.is_new {
            return if self.retired.iter().all(is_taken) {
                self.commit(table, now.recorded)
            };
        }
        let due = match table.due() {
            Some(Due::Flush) if self.built.is_none() => self.flush(table, &mut now),
            None if self.built.is_none()
                && (self.is_alone || self.frozen.is_some() || self.is_flush_due(&now)) =>
            {
                self.flush(table, &mut now)
            }
            Some(Due::Merge(levels)) => table.merge(levels).ok().map(|work| (work, Kind::Merge)),
            _ if self.is_base_due(table) && !now.is_starting => {
                Some((table.rebuild(Forget::Nothing), Kind::Base))
            }
            _ => None,
        };
        if let Some((work, kind)) = due {
            self.make(work, kind);
        }
    }

    /// A flush that has failed is tried again as it was: what has come since is not in it, and its place in the feed is that
    /// of the first.
    fn flush(&mut self, table: &mut Table, now: &mut Now<'_>) -> Option<(Work, Kind)> {
        self.flushed = (now.at, self.stats.lines.get());
        let is_again = self.frozen.is_some();
        if table.overlay_size().0 == 0 {
            self.is_alone = false;
            self.note((now.read)());
            return None;
        }
        let work = table.flush(Vec::new()).ok()?;
        let read = self.frozen.get_or_insert_with(|| (now.read)()).clone();
        self.is_alone &= is_again;
        Some((work, Kind::Flush(read)))
    }

    fn make(&mut self, work: Work, kind: Kind) {
        // Levels are small, and waited for.
        let paced = matches!(kind, Kind::Base);
        let making = Making { kind, name: self.manifest.take_name() };
        let (work, manifest) = (Box::new(work), Box::new(self.manifest.clone()));
        self.housekeeper.begin(Job::Build { work, name: making.name.clone(), paced, manifest });
        self.making = Some(making);
    }

    /// However little has come: a restart reads all of it once more, and serves nobody before.
    fn is_flush_due(&self, now: &Now<'_>) -> bool {
        let (at, lines) = self.flushed;
        now.at.saturating_duration_since(at) >= self.flush_every && lines != self.stats.lines.get()
    }

    /// At most hourly, and only if there is something that it does not hold.
    fn is_base_due(&self, table: &Table) -> bool {
        let view = table.publish();
        let since = Duration::from_secs(unix_seconds().saturating_sub(self.manifest.base_made));
        let is_old = view.base().is_none() || since >= Duration::from_millis(limits::BASE_EVERY_MS);
        !view.levels().is_empty() && is_old && self.built.is_none()
    }

    fn commit(&mut self, table: &Table, recorded: u64) {
        self.is_new = false;
        if !self.is_begun {
            let (manifest, retired) = (self.manifest.clone(), Vec::new());
            let bare = Commit { manifest, adopt: None, held: None, retired, keep: None };
            return self.housekeeper.begin(Job::Commit(Box::new(bare)));
        }
        if let Some((first, _)) = self.judged.take_if(|(_, needed)| *needed <= recorded) {
            self.manifest.judged = first;
        }
        let view = table.publish();
        let name = |file: &Arc<Snapshot>| {
            let path = file.path();
            let name = path.file_name()?.to_str()?.to_owned();
            (path.parent() == Some(&*self.dir)).then_some(name)
        };
        self.manifest.levels = view.levels().iter().filter_map(name).collect();
        let base = view.base().map(|base| (base, name(base)));
        let (name, adopt) = match base {
            None => (None, None),
            Some((_, Some(name))) => (Some(name), None),
            // It came from elsewhere. What lies on top of it holds with this base only, so it is taken along.
            Some((base, None)) => {
                let name = self.manifest.base.clone().unwrap_or_else(|| self.manifest.take_name());
                (Some(name.clone()), Some((base.path().to_owned(), name)))
            }
        };
        self.manifest.base = name;
        let retired = std::mem::take(&mut self.retired).into_iter().map(|waiting| waiting.retired).collect();
        let keep = self.built.as_ref().map(|(making, _)| making.name.clone());
        // Each attempt has a file of its own: the one before may be on record.
        let held = self.held.as_ref().map(|held| {
            let name = (!held.is_empty()).then(|| self.manifest.take_held_name());
            self.manifest.held.clone_from(&name);
            name.map(|name| (held.clone(), name))
        });
        let commit = Commit { manifest: self.manifest.clone(), adopt, held: held.flatten(), retired, keep };
        self.housekeeper.begin(Job::Commit(Box::new(commit)));
    }
}

fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
