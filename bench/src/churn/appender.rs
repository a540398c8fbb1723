//! Appends changes to the file that the router follows, at a rate while it is told to, and writes down what is true when,
//! for `ringway-loadgen verify`.
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

use ringway_loadgen::dataset::Dataset;
use ringway_loadgen::deltas::churn::{Act, Churn};
use ringway_loadgen::deltas::known::{self, Header};
use ringway_loadgen::deltas::writer::{Due, Writer};
use ringway_loadgen::error::Error;
use ringway_loadgen::output::Output;

use crate::failure::Failure;

/// How often changes are appended.
const EVERY: Duration = Duration::from_millis(1);

/// Ranks of hosts that the first `changes` change.
pub(super) fn touched(data: &Dataset, changes: u64) -> HashSet<u64> {
    let touches = |act: Act| match act {
        Act::Map { rank, .. } | Act::Tombstone { rank } | Act::Remove { rank } => Some(rank),
        Act::Endpoints { .. } => None,
    };
    let count = usize::try_from(changes).unwrap_or(usize::MAX);
    Churn::new(data, data.seed()).take(count).filter_map(touches).collect()
}

/// A thread, until dropped.
pub(super) struct Appender {
    state: Arc<State>,
    /// How many are to be appended at once.
    bursts: Sender<u64>,
    thread: Option<JoinHandle<Result<(), Error>>>,
    known: PathBuf,
}

#[derive(Default)]
struct State {
    on: AtomicBool,
    stop: AtomicBool,
    appended: AtomicU64,
}

impl Appender {
    /// Appends to `changes` so many a second while it is told to, and writes what is known in `dir`.
    pub(super) fn start(data: &Dataset, rate: u64, changes: &Path, dir: &Path) -> Result<Self, Failure> {
        let known = dir.join("known");
        let out = Output::growing("changes", changes).map_err(Failure::Appended)?;
        let mut truth = Output::open("known", &known).map_err(Failure::Appended)?;
        truth.append(&known::line(&Header::of(data, rate as f64))).map_err(Failure::Appended)?;
        let (bursts, asked) = mpsc::channel();
        let state = Arc::<State>::default();
        let (data, shared) = (data.clone(), Arc::clone(&state));
        let thread = thread::spawn(move || run(&data, rate, (out, truth), &shared, &asked));
        Ok(Self { state, bursts, thread: Some(thread), known })
    }

    pub(super) fn turn(&self, on: bool) {
        self.state.on.store(on, Ordering::Release);
    }

    /// Appends so many at once, on top of the rate; returns once they are in the file.
    pub(super) fn burst(&self, changes: u64) -> Result<(), Failure> {
        let until = self.appended() + changes;
        // A thread that has ended is met below.
        let _ = self.bursts.send(changes);
        while self.appended() < until {
            if self.thread.as_ref().is_none_or(JoinHandle::is_finished) {
                return Err(Failure::Changes);
            }
            sleep(EVERY);
        }
        Ok(())
    }

    /// How many there are so far.
    pub(super) fn appended(&self) -> u64 {
        self.state.appended.load(Ordering::Acquire)
    }

    /// What is true when.
    pub(super) fn known(&self) -> &Path {
        &self.known
    }

    /// Fails if appending has.
    pub(super) fn end(mut self) -> Result<(), Failure> {
        match self.stop() {
            Some(Ok(Ok(()))) | None => Ok(()),
            Some(Ok(Err(error))) => Err(Failure::Appended(error)),
            Some(Err(_)) => Err(Failure::Changes),
        }
    }

    fn stop(&mut self) -> Option<thread::Result<Result<(), Error>>> {
        self.state.stop.store(true, Ordering::Release);
        self.thread.take().map(JoinHandle::join)
    }
}

impl Drop for Appender {
    fn drop(&mut self) {
        // Whoever wants to know what became of it ends it.
        let _ = self.stop();
    }
}

/// Appends on the thread, until it is to stop.
fn run(
    data: &Dataset,
    rate: u64,
    (out, truth): (Output, Output),
    state: &State,
    bursts: &Receiver<u64>,
) -> Result<(), Error> {
    let mut writer = Writer::begin(data, out, truth)?;
    let mut due = Due::new(rate as f64, Instant::now());
    while !state.stop.load(Ordering::Acquire) {
        let now = Instant::now();
        let count = match state.on.load(Ordering::Acquire) {
            true => due.take(now),
            false => {
                due.pause(now);
                0
            }
        };
        let burst: u64 = bursts.try_iter().sum();
        writer.append(count + burst, |appended| state.appended.store(appended, Ordering::Release))?;
        // Not a wait for something to happen: the rate is what was asked for.
        sleep(EVERY);
    }
    Ok(())
}
