//! Appends changes to the file that the router follows, at a rate while it is told to, and writes down what is true when,
//! for `ringway-loadgen verify`.
use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

use ringway_loadgen::dataset::Dataset;
use ringway_loadgen::deltas::churn::{Act, Churn, change};
use ringway_loadgen::deltas::known::{self, Header, Mark, now_ns};
use ringway_loadgen::limits::CHANGES_TOGETHER_MAX;
use ringway_state::change::render;

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
    thread: Option<JoinHandle<io::Result<()>>>,
    known: PathBuf,
}

#[derive(Default)]
struct State {
    on: AtomicBool,
    stop: AtomicBool,
    appended: AtomicU64,
}

impl Appender {
    /// Makes both files, in `dir`; appends to the first, `changes`, so many a second while it is told to.
    pub(super) fn start(data: &Dataset, rate: u64, changes: &Path, dir: &Path) -> Result<Self, Failure> {
        let known = dir.join("known");
        let out =
            OpenOptions::new().append(true).create(true).open(changes).map_err(Failure::file(changes))?;
        let mut truth = File::create(&known).map_err(Failure::file(&known))?;
        let begin = [known::line(&Header::of(data, rate as f64)), known::line(&Mark::Begin { ns: now_ns() })];
        truth.write_all(&begin.concat()).map_err(Failure::file(&known))?;
        let (bursts, asked) = mpsc::channel();
        let state = Arc::<State>::default();
        let (data, shared) = (data.clone(), Arc::clone(&state));
        let thread = thread::spawn(move || Files { out, truth }.run(&data, rate, &shared, &asked));
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
            Some(Ok(Err(source))) => Err(Failure::File { path: self.known.clone(), source }),
            Some(Err(_)) => Err(Failure::Changes),
        }
    }

    fn stop(&mut self) -> Option<thread::Result<io::Result<()>>> {
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

struct Files {
    out: File,
    truth: File,
}

impl Files {
    fn run(mut self, data: &Dataset, rate: u64, state: &State, bursts: &Receiver<u64>) -> io::Result<()> {
        let mut churn = Churn::new(data, data.seed());
        let mut due = Due { rate, since: Instant::now(), given: 0 };
        while !state.stop.load(Ordering::Acquire) {
            let mut count = match state.on.load(Ordering::Acquire) {
                true => due.take(Instant::now()),
                false => due.pause(),
            };
            count += bursts.try_iter().sum::<u64>();
            while count > 0 {
                let some = count.min(CHANGES_TOGETHER_MAX);
                self.append(data, &mut churn, state, some)?;
                count -= some;
            }
            // Not a wait for something to happen: the rate is what was asked for.
            sleep(EVERY);
        }
        Ok(())
    }

    fn append(&mut self, data: &Dataset, churn: &mut Churn<'_>, state: &State, count: u64) -> io::Result<()> {
        let first = state.appended.load(Ordering::Acquire);
        let (until, mut lines) = (first + count, Vec::new());
        for (number, act) in (first..until).zip(churn) {
            render(&change(data, number, &act), Some(number), &mut lines);
        }
        self.truth.write_all(&known::line(&Mark::Writing { until, ns: now_ns() }))?;
        self.out.write_all(&lines)?;
        self.truth.write_all(&known::line(&Mark::Written { until, ns: now_ns() }))?;
        state.appended.store(until, Ordering::Release);
        Ok(())
    }
}

/// What a rate asks for as time goes on.
struct Due {
    rate: u64,
    since: Instant,
    given: u64,
}

impl Due {
    fn take(&mut self, now: Instant) -> u64 {
        let meant = u128::from(self.rate) * now.duration_since(self.since).as_nanos() / 1_000_000_000;
        let due = u64::try_from(meant).unwrap_or(u64::MAX).saturating_sub(self.given);
        self.given += due;
        due
    }

    /// Nothing is due, and nothing of now will be later.
    fn pause(&mut self) -> u64 {
        (self.since, self.given) = (Instant::now(), 0);
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_kept_over_any_looks_and_a_pause_owes_nothing() {
        let since = Instant::now();
        let mut due = Due { rate: 1_000, since, given: 0 };
        let at = |ms| since + Duration::from_millis(ms);
        assert_eq!([0, 1, 1, 7, 1_000].map(|ms| due.take(at(ms))), [0, 1, 0, 6, 993]);
        assert_eq!(due.pause(), 0);
        assert_eq!(due.take(due.since + Duration::from_millis(3)), 3);
    }
}
