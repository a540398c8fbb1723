//! The feed's thread: the only one that writes the table. It reads what has come, applies it, publishes it once, and sees
//! that the cores take it up.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ringway_state::Table;
use serde_json::Value;

use super::allowance::Allowance;
use super::desk::GuardDesk;
use super::dir::StateDir;
use super::file::{Begun, Follower, Look};
use super::intake::{Intake, Verdict};
use super::publish::{Entered, Give, Publisher};
use super::refused::Refused;
use super::store::{Chores, Now, Stored};
use super::taken::Taken;
use super::watch::Watch;
use crate::limits;
use crate::observe::process_log::{Level, event};
use crate::observe::{FeedStats, Readiness};
use crate::runtime::{Waker, millis};

/// What the feed works with.
pub struct FeedParts {
    /// The file of changes.
    pub path: PathBuf,
    /// What it may write to.
    pub dir: StateDir,
    /// To begin with; what the cores serve from until the first publication.
    pub stored: Stored,
    pub cores: Vec<Arc<Taken>>,
    pub give: Give,
    /// Told of the table whenever it was published.
    pub show: Box<dyn FnMut(&Table) + Send>,
    pub desk: Arc<GuardDesk>,
    pub stats: Arc<FeedStats>,
    pub readiness: Arc<Readiness>,
}

/// The running thread. It ends when this is dropped.
pub struct FeedThread {
    stop: Arc<AtomicBool>,
    waker: Waker,
    thread: Option<JoinHandle<()>>,
}

impl FeedThread {
    /// Begins to read. Not ready until everything that the file has is with every core.
    ///
    /// # Errors
    /// The machine lacks descriptors, inotify instances or threads.
    pub fn start(parts: FeedParts) -> io::Result<FeedThread> {
        let FeedParts { path, dir, stored, cores, give, show, desk, stats, readiness } = parts;
        let (follower, waker) = Follower::new(&path, stored.position())?;
        let Stored { table, manifest, held, is_stored } = stored;
        desk.open(waker.clone());
        let mut intake = Intake::new(table, Arc::clone(&stats));
        let watch = Watch::new(desk, &mut intake, Arc::clone(&stats))?;
        if is_stored {
            intake.guard();
        }
        for change in held {
            // It is held again, or goes: either is as good as what became of it before.
            intake.offer(change);
        }
        let chores = Chores::start(dir.path().to_owned(), manifest, Arc::clone(&stats), waker.clone())?;
        let refused = Refused::new(&path, dir.path(), Arc::clone(&stats));
        let stop = Arc::<AtomicBool>::default();
        readiness.set(READY, format!("{} has not been read yet", path.display()));
        let feed = Feed {
            path,
            _dir: dir,
            follower,
            intake,
            watch,
            chores,
            publisher: Publisher::new(cores, give, Arc::clone(&stats)),
            show,
            start: Start { began: Instant::now(), told: Instant::now(), state: StartState::Reading },
            absent: None,
            refused,
            full: Allowance::new(1, Duration::from_millis(limits::FULL_TOLD_MS)),
            is_clearing: false,
            stop: Arc::clone(&stop),
            stats,
            readiness,
        };
        let thread = std::thread::Builder::new().name("feed".to_owned()).spawn(move || feed.run())?;
        Ok(FeedThread { stop, waker, thread: Some(thread) })
    }
}

impl Drop for FeedThread {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.waker.wake();
        if let Some(thread) = self.thread.take() {
            // It panicked if this fails, and the panic hook has said so.
            let _ = thread.join();
        }
    }
}

/// The reason against being ready until the feed has been read.
const READY: &str = "feed";

struct Feed {
    path: PathBuf,
    /// Held for as long as the thread runs.
    _dir: StateDir,
    follower: Follower,
    intake: Intake,
    watch: Watch,
    chores: Chores,
    publisher: Publisher,
    show: Box<dyn FnMut(&Table) + Send>,
    start: Start,
    /// Why there is nothing to read, if that has been told.
    absent: Option<String>,
    refused: Refused,
    full: Allowance,
    is_clearing: bool,
    stop: Arc<AtomicBool>,
    stats: Arc<FeedStats>,
    readiness: Arc<Readiness>,
}

/// How far the first reading has come.
struct Start {
    began: Instant,
    /// When its progress was last told.
    told: Instant,
    state: StartState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StartState {
    Reading,
    /// Ready when every core has this publication.
    Publishing(u64),
    Done,
}

/// What taking in came to.
enum Taking {
    /// There is more to take at once.
    More,
    /// All is taken that is there.
    End,
    /// Something else must come first: the cores, room in the table.
    Waits,
}

impl Feed {
    fn run(mut self) {
        let failed = Failed { readiness: Arc::clone(&self.readiness), path: self.path.clone() };
        while !self.stop.load(Ordering::Acquire) {
            let taking = match self.publisher.has_room() {
                true => self.take(),
                false => Taking::Waits,
            };
            self.publisher.look();
            self.refused.look(Instant::now());
            self.watch.look(&mut self.intake, Instant::now());
            self.tell_start();
            if !matches!(taking, Taking::More) {
                self.follower.wait(self.patience(Instant::now()));
            }
        }
        std::mem::forget(failed);
    }

    fn patience(&self, now: Instant) -> Duration {
        let look = Duration::from_millis(limits::FEED_LOOK_MS);
        let others = [self.publisher.patience(now), self.chores.patience(now)];
        others.into_iter().flatten().fold(look, Duration::min)
    }

    /// Applies what has come, up to a batch, and publishes it, with what the table's chores have changed.
    fn take(&mut self) -> Taking {
        let is_another = self.turn_chores();
        let mut entered = Entered::new();
        let taking = self.batch(&mut entered);
        // What a new level has taken over leaves the overlay a slice at a time.
        let is_clearing = self.intake.table_mut().clear();
        let is_clear = std::mem::replace(&mut self.is_clearing, is_clearing) && !is_clearing;
        if is_another || is_clear || !entered.is_empty() {
            let cut = self.intake.take_cut();
            self.publisher.publish(self.intake.table().publish(), entered, cut);
            self.chores.published(self.publisher.sequence());
            (self.show)(self.intake.table());
        }
        if let (Taking::End, StartState::Reading) = (&taking, self.start.state) {
            self.start.state = StartState::Publishing(self.publisher.sequence());
        }
        if is_clearing { Taking::More } else { taking }
    }

    fn turn_chores(&mut self) -> bool {
        let again = self.intake.is_waiting();
        let follower = &self.follower;
        let held = self.chores.wants_held().then(|| self.intake.guards().held().cloned().collect());
        let now = Now {
            held,
            at: Instant::now(),
            taken: self.publisher.taken(),
            is_starting: self.start.state != StartState::Done,
            position: &|| follower.position(again),
        };
        self.chores.turn(self.intake.table_mut(), now)
    }

    fn batch(&mut self, entered: &mut Entered) -> Taking {
        let mut left = limits::FEED_BATCH_LINES;
        if let Some(taking) = self.take_waiting(entered).or_else(|| self.take_released(entered)) {
            return taking;
        }
        loop {
            while let Some((place, text, at)) = self.follower.line() {
                match self.intake.line(&text) {
                    Verdict::Applied => count(entered, at),
                    Verdict::Nothing => {}
                    Verdict::Held(rule) => self.watch.tell(rule, at),
                    Verdict::Refused(bad) => self.refused.add(place, &text, &bad, at),
                    Verdict::Full(full) => {
                        self.tell_full(&full.to_string());
                        return Taking::Waits;
                    }
                }
                left -= 1;
                if left == 0 {
                    return Taking::More;
                }
            }
            match self.follower.read() {
                Look::More => {}
                Look::Began(begun) => self.tell_begun(&begun),
                Look::End => {
                    self.stats.caught_up();
                    return Taking::End;
                }
                Look::Absent(error) => {
                    self.tell_absent(&error);
                    return Taking::Waits;
                }
            }
        }
    }

    /// Tries the change once more that the table had no room for.
    fn take_waiting(&mut self, entered: &mut Entered) -> Option<Taking> {
        match self.intake.again() {
            Verdict::Full(_) => return Some(Taking::Waits),
            Verdict::Applied => count(entered, Instant::now()),
            Verdict::Nothing | Verdict::Held(_) | Verdict::Refused(_) => {}
        }
        None
    }

    /// Applies what guards need not hold any longer.
    fn take_released(&mut self, entered: &mut Entered) -> Option<Taking> {
        let now = Instant::now();
        for _ in 0..limits::FEED_BATCH_LINES {
            match self.intake.release(now)? {
                Verdict::Full(_) => return Some(Taking::Waits),
                Verdict::Applied => count(entered, now),
                Verdict::Nothing | Verdict::Held(_) | Verdict::Refused(_) => {}
            }
        }
        Some(Taking::More)
    }

    fn tell_start(&mut self) {
        let path = self.path.display().to_string();
        match self.start.state {
            StartState::Done => {}
            StartState::Publishing(sequence) if self.publisher.taken() >= sequence => {
                self.start.state = StartState::Done;
                self.intake.guard();
                self.readiness.clear(READY);
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

    fn tell_begun(&mut self, begun: &Begun) {
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

    fn tell_absent(&mut self, error: &io::Error) {
        let why = error.to_string();
        if self.absent.as_ref() == Some(&why) {
            return;
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

    fn tell_full(&mut self, why: &str) {
        self.stats.full.inc();
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

fn count(entered: &mut Entered, at: Instant) {
    match entered.last_mut() {
        Some((last, changes)) if *last == at => *changes += 1,
        _ => entered.push((at, 1)),
    }
}

/// Says so if the thread ends without having been told to: what comes from then on is not applied.
struct Failed {
    readiness: Arc<Readiness>,
    path: PathBuf,
}

impl Drop for Failed {
    fn drop(&mut self) {
        let path = self.path.display().to_string();
        self.readiness
            .set(READY, format!("the feed has failed, and {path} is not followed; restart the router"));
        let fields = [("file.path", path.into())];
        event(
            Level::Error,
            "the feed has failed; changes are not applied until the router is restarted",
            &fields,
        );
    }
}
