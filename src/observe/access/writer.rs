//! The log's thread: drains all cores' rings into one file.

use crate::limits::{LOG_BUSY_MS, LOG_BUSY_OCTETS, LOG_IDLE_MS, LOG_RETRY_MS};
use crate::observe::Counter;
use crate::observe::drain::{Drain, LogSource};
use crate::observe::process_log::{Level, event};
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// The access log could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    #[error(
        "cannot open the access log {path}: {source}; name a file that this user may append to, or `stdout`"
    )]
    Open { path: PathBuf, source: io::Error },
    #[error("cannot write the access log to standard output: {source}; start with standard output open")]
    Stdout { source: io::Error },
    #[error("cannot start the access log's thread: {source}; raise the limit on threads (ulimit -u)")]
    Thread { source: io::Error },
}

/// What the log's thread counts.
#[derive(Debug, Default)]
pub struct LogStats {
    pub octets: Counter,
    pub write_failures: Counter,
    /// Lines whose rest was given up.
    pub torn: Counter,
}

/// The running thread. Dropped without [`LogWriter::stop`], it goes on until the process ends.
pub struct LogWriter {
    stats: Arc<LogStats>,
    orders: Arc<Orders>,
    thread: Thread,
    ended: Receiver<()>,
}

/// Asks the thread to begin its file anew.
pub struct LogReopener {
    orders: Arc<Orders>,
    thread: Thread,
}

/// What the thread looks at between two turns.
#[derive(Default)]
struct Orders {
    stopping: AtomicBool,
    reopening: AtomicBool,
    next: Mutex<Option<LogTarget>>,
}

impl Orders {
    fn next(&self) -> MutexGuard<'_, Option<LogTarget>> {
        // No panic leaves it half changed.
        self.next.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LogReopener {
    /// The file may have been renamed: one is begun under its name, at the end of a line. If it cannot be, the old one is
    /// written on, and the process log says so.
    pub fn reopen(&self) {
        self.orders.reopening.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

impl LogWriter {
    /// Starts to write what the cores log.
    ///
    /// A file is appended to. It may be renamed or removed at any time: within a second a new one is begun.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn start(target: LogTarget, sources: Vec<LogSource>) -> Result<Self, LogError> {
        Work::start(Drain::new(sources), target)
    }

    /// Opens the file at `path`, or standard output without one, to write to it later.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn open(path: Option<&Path>) -> Result<LogTarget, LogError> {
        LogTarget::open(path)
    }

    /// Writes to `target` from the end of the line on that is being written.
    pub fn switch(&self, target: LogTarget) {
        *self.orders.next() = Some(target);
        self.thread.unpark();
    }

    #[must_use]
    pub fn reopener(&self) -> LogReopener {
        LogReopener { orders: Arc::clone(&self.orders), thread: self.thread.clone() }
    }

    #[must_use]
    pub fn stats(&self) -> Arc<LogStats> {
        Arc::clone(&self.stats)
    }

    /// Writes what is still in the rings and ends; call it when the cores have ended. Gives up after `within`, as
    /// when the reader of a pipe has stopped reading. Returns whether the thread ended in time.
    pub fn stop(self, within: Duration) -> bool {
        self.orders.stopping.store(true, Ordering::Release);
        self.thread.unpark();
        matches!(self.ended.recv_timeout(within), Err(RecvTimeoutError::Disconnected))
    }
}

struct Work {
    drain: Drain,
    target: LogTarget,
    stats: Arc<LogStats>,
    orders: Arc<Orders>,
    /// Hangs up when the thread ends.
    _alive: SyncSender<()>,
}

impl Work {
    fn start(drain: Drain, target: LogTarget) -> Result<LogWriter, LogError> {
        let stats = Arc::new(LogStats::default());
        let orders = Arc::new(Orders::default());
        let (alive, ended) = sync_channel(0);
        let work =
            Work { drain, target, stats: Arc::clone(&stats), orders: Arc::clone(&orders), _alive: alive };
        let thread = thread::Builder::new()
            .name("access-log".to_owned())
            .spawn(move || work.run())
            .map_err(|source| LogError::Thread { source })?
            .thread()
            .clone();
        Ok(LogWriter { stats, orders, thread, ended })
    }

    fn run(mut self) {
        let mut failing = false;
        loop {
            // Read before draining, so that the last turn begins after the cores' last record.
            let last = self.orders.stopping.load(Ordering::Acquire);
            self.change_file(failing);
            let turn = self.drain.turn(&mut self.target.file);
            self.stats.octets.add(turn.octets as u64);
            if turn.error.is_some() {
                self.stats.write_failures.inc();
            }
            tell_changes(&mut failing, turn.error.as_ref(), &self.target);
            // A reader that is only slow gets the rest, for as long as the process waits for this thread.
            if last && !turn.is_full {
                return tell_lost(self.drain.lines(), &self.target);
            }
            thread::park_timeout(Duration::from_millis(match turn.error {
                Some(_) => LOG_RETRY_MS,
                None if turn.is_full || turn.octets >= LOG_BUSY_OCTETS => LOG_BUSY_MS,
                None => LOG_IDLE_MS,
            }));
        }
    }

    /// Goes over to another file, if one was asked for or the one at the path is no longer the one being written. Only
    /// between two lines; of one that is being written to a file that fails, the rest is given up.
    fn change_file(&mut self, failing: bool) {
        if !failing && !self.drain.at_line_start() {
            return;
        }
        let next = self.orders.next().take();
        let reopened = match next {
            Some(target) => Some(target),
            None if self.orders.reopening.swap(false, Ordering::AcqRel) => self.target.again(),
            None => self.target.follow_rename(),
        };
        if let Some(target) = reopened {
            if self.drain.give_up_line() {
                self.stats.torn.inc();
            }
            self.target = target;
            event(Level::Debug, "the access log is begun anew", &[("file.path", self.target.name().into())]);
        }
    }
}

fn tell_changes(failing: &mut bool, error: Option<&io::Error>, target: &LogTarget) {
    let file = || ("file.path", target.name().into());
    match error {
        Some(error) if !*failing => {
            let message = "the access log cannot be written; records are dropped until it can be";
            event(Level::Error, message, &[file(), ("error.message", error.to_string().into())]);
        }
        None if *failing => event(Level::Info, "the access log can be written again", &[file()]),
        _ => {}
    }
    *failing = error.is_some();
}

/// At the end, when what a failing file has not taken can wait no longer.
fn tell_lost(lines: usize, target: &LogTarget) {
    if lines > 0 {
        let fields = [("file.path", target.name().into()), ("ringway.lines", lines.into())];
        event(Level::Error, "the access log could not be written; its last lines are lost", &fields);
    }
}

/// Where the log goes.
pub struct LogTarget {
    file: File,
    /// `None` for standard output.
    path: Option<PathBuf>,
    looked: Instant,
}

impl LogTarget {
    fn open(path: Option<&Path>) -> Result<Self, LogError> {
        let file = match path {
            Some(path) => append(path).map_err(|source| LogError::Open { path: path.to_owned(), source })?,
            None => io::stdout()
                .as_fd()
                .try_clone_to_owned()
                .map(File::from)
                .map_err(|source| LogError::Stdout { source })?,
        };
        Ok(Self { file, path: path.map(Path::to_owned), looked: Instant::now() })
    }

    fn name(&self) -> String {
        self.path.as_deref().map_or_else(|| "stdout".to_owned(), |path| path.display().to_string())
    }

    /// The file of the same name, opened once more; `None` if there is none to open, or it cannot be.
    fn again(&self) -> Option<Self> {
        let path = self.path.as_deref()?;
        match Self::open(Some(path)) {
            Ok(target) => Some(target),
            Err(error) => {
                let fields = [("file.path", self.name().into()), ("error.message", error.to_string().into())];
                event(
                    Level::Error,
                    "the access log cannot be begun anew; the old file is written on",
                    &fields,
                );
                None
            }
        }
    }

    /// A new file, if the one at the path is no longer the one being written. Until one can be opened, the old one is written
    /// on.
    fn follow_rename(&mut self) -> Option<Self> {
        let path = self.path.as_deref()?;
        if self.looked.elapsed() < Duration::from_millis(LOG_RETRY_MS) {
            return None;
        }
        self.looked = Instant::now();
        let identity = |metadata: &std::fs::Metadata| (metadata.dev(), metadata.ino());
        let ours = self.file.metadata().ok();
        let there = std::fs::metadata(path).ok();
        let renamed = ours.as_ref().map(identity) != there.as_ref().map(identity);
        renamed.then(|| Self::open(Some(path)).ok()).flatten()
    }
}

/// Opens a file that others may not read: it names clients. A FIFO is not waited for: without a reader it is refused, and
/// what a slow reader has no room for waits in the rings, where what is too much is dropped and counted.
fn append(path: &Path) -> io::Result<File> {
    File::options().create(true).append(true).mode(0o640).custom_flags(libc::O_NONBLOCK).open(path)
}

#[cfg(test)]
mod tests;
