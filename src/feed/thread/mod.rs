//! The feed's thread: the only one that writes the table. It reads what has come, applies it, publishes it once, and sees
//! that the cores take it up.

mod batch;
#[cfg(test)]
mod crashes;
mod tell;
#[cfg(test)]
mod tests;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ringway_state::Table;

use super::allowance::Allowance;
use super::arrears::Arrears;
use super::desk::GuardDesk;
use super::dir::StateDir;
use super::file::{Follower, Look, Position};
use super::intake::Intake;
use super::publish::{Entered, Give, Publisher};
use super::refused::Refused;
use super::store::{Chores, Now, Read, Recorder, Stored};
use super::taken::Taken;
use super::watch::Watch;
use crate::limits;
use crate::observe::process_log::{Level, event};
use crate::observe::{FeedStats, Readiness};
use crate::runtime::Waker;
use batch::Taking;
use tell::{tell_damaged, tell_others};

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
    /// Changes that guards hold at most.
    pub held: usize,
    /// How long what was read may be in memory alone.
    pub flush_every: Duration,
    pub stats: Arc<FeedStats>,
    pub readiness: Arc<Readiness>,
    /// Called once: every core has what the file had at the start, or nothing is to be waited for. Until then the table may
    /// lead host names to services that have lost them.
    pub caught_up: Box<dyn FnOnce() + Send>,
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
        let FeedParts {
            path,
            dir,
            stored,
            cores,
            give,
            show,
            desk,
            held: most,
            flush_every,
            stats,
            readiness,
            caught_up,
        } = parts;
        let (follower, waker) = Follower::new(&path, stored.position())?;
        let is_guarded = stored.is_guarded();
        tell_others(dir.path(), stored.others());
        let Stored { table, manifest, held, judged, is_on_record, .. } = stored;
        desk.open(waker.clone());
        let mut intake = Intake::new(table, most, Arc::clone(&stats));
        let watch = Watch::new(desk, &mut intake, Arc::clone(&stats))?;
        let history = judged.history.clone().filter(|_| !is_guarded);
        if is_guarded {
            intake.guard();
        }
        tell_damaged(dir.path(), judged.damaged);
        let recorder = Recorder::start(dir.path().to_owned(), manifest.clone(), judged.next, waker.clone())?;
        intake.restore(held, judged, Instant::now());
        let folder = dir.path().to_owned();
        let chores =
            Chores::start(folder, manifest, is_on_record, flush_every, Arc::clone(&stats), waker.clone())?;
        let refused = Refused::new(&path, dir.path(), Arc::clone(&stats));
        let stop = Arc::<AtomicBool>::default();
        readiness.set(READY, format!("{} has not been read yet", path.display()));
        let feed = Feed {
            path,
            dir,
            follower,
            intake,
            arrears: Arrears::default(),
            watch,
            chores,
            recorder,
            history,
            guard_from: None,
            publisher: Publisher::new(cores, give, Arc::clone(&stats)),
            show,
            start: Start { began: Instant::now(), told: Instant::now(), state: StartState::Reading },
            caught_up: CaughtUp(Some(caught_up)),
            absent: None,
            refused,
            full: Allowance::new(1, Duration::from_millis(limits::FULL_TOLD_MS)),
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
    dir: StateDir,
    follower: Follower,
    intake: Intake,
    arrears: Arrears,
    watch: Watch,
    chores: Chores,
    recorder: Recorder,
    /// What stands before it is history, and read once more; what comes after it, or in another file, is judged.
    history: Option<Position>,
    /// From there on in the file that is open.
    guard_from: Option<u64>,
    publisher: Publisher,
    show: Box<dyn FnMut(&Table) + Send>,
    start: Start,
    caught_up: CaughtUp,
    /// Why there is nothing to read, if that has been told.
    absent: Option<String>,
    refused: Refused,
    full: Allowance,
    stop: Arc<AtomicBool>,
    stats: Arc<FeedStats>,
    readiness: Arc<Readiness>,
}

/// Whom to tell that nobody need wait for the first reading any longer; told in any case, at the latest when the thread ends.
struct CaughtUp(Option<Box<dyn FnOnce() + Send>>);

impl CaughtUp {
    fn tell(&mut self) {
        if let Some(tell) = self.0.take() {
            tell();
        }
    }
}

impl Drop for CaughtUp {
    fn drop(&mut self) {
        self.tell();
    }
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
    /// Goes on when every core has this publication.
    Publishing(u64),
    /// Ready when so much of the guards' judgement is on record: that what was read is history.
    Recording(u64, Instant),
    Done,
}

impl Feed {
    fn run(mut self) {
        let failed = Failed { readiness: Arc::clone(&self.readiness), path: self.path.clone() };
        while !self.stop.load(Ordering::Acquire) {
            self.record(Instant::now());
            let taking = match self.publisher.has_room() {
                true => self.take(),
                false => Taking::Waits,
            };
            self.publisher.look();
            self.refused.look(Instant::now());
            self.watch.look(&mut self.intake, &self.arrears, Instant::now());
            self.tell_start();
            if matches!(taking, Taking::End) {
                self.recheck();
            }
            if !matches!(taking, Taking::More) {
                self.follower.wait(self.patience(Instant::now()));
            }
        }
        std::mem::forget(failed);
    }

    /// Looks whether what was read of the file stands there still.
    fn recheck(&mut self) {
        if let Some(Look::Began(begun)) = self.follower.recheck(Instant::now()) {
            self.tell_begun(&begun);
        }
    }

    fn patience(&self, now: Instant) -> Duration {
        let look = Duration::from_millis(limits::FEED_LOOK_MS);
        let notes = self.recorder.patience(self.intake.notes(), now).filter(|_| self.chores.is_begun());
        let recheck = self.follower.recheck_patience();
        let chores = self.chores.patience(now);
        let others = [self.publisher.patience(now), chores, notes, self.intake.patience(now), recheck];
        others.into_iter().flatten().fold(look, Duration::min)
    }

    /// Applies what has come, up to a batch, and publishes it, with what the table's chores have changed.
    fn take(&mut self) -> Taking {
        let is_another = self.turn_chores();
        let mut entered = Entered::new();
        let taking = self.batch(&mut entered);
        if let Some(place) = self.follower.place() {
            self.stats.line.set(place.line);
            self.stats.offset.set(place.offset);
        }
        if is_another || !entered.is_empty() {
            let cut = self.intake.take_cut();
            self.publisher.publish(self.intake.table().publish(), entered, cut);
            self.chores.published(self.publisher.sequence());
            (self.show)(self.intake.table());
        }
        if let (Taking::End, StartState::Reading) = (&taking, self.start.state)
            && self.intake.has_left()
        {
            self.start.state = StartState::Publishing(self.publisher.sequence());
        }
        taking
    }

    fn turn_chores(&mut self) -> bool {
        let Feed { follower, arrears, recorder, start, .. } = self;
        let needs_room = !self.intake.has_spare_room();
        let (is_guarded, recorded) = (self.intake.is_guarded(), self.intake.notes().recorded());
        let is_starting = start.state != StartState::Done;
        let (table, mut outside) = self.intake.for_chores();
        let mut read = || Read {
            position: follower.position_before(outside.is_waiting(), arrears.latest()),
            held: outside.held(),
            is_guarded,
            // What was let go of before a restart is needed until all is read that it is about.
            judged: (!is_starting).then(|| (recorder.begin_file(), outside.note_again(Instant::now()))),
        };
        let now = Now {
            at: Instant::now(),
            taken: self.publisher.taken(),
            is_starting,
            needs_room,
            recorded,
            read: &mut read,
        };
        self.chores.turn(table, now)
    }

    /// Puts on record what guards let go of, once the folder says that it is in use.
    fn record(&mut self, now: Instant) {
        if !self.chores.is_begun() {
            return;
        }
        if let Err((error, again)) = self.recorder.turn(self.intake.notes_mut(), now) {
            self.stats.chores_failed.inc();
            self.tell_not_recorded(&error, again);
        }
        if self.recorder.is_full() {
            self.chores.keep_all();
        }
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
