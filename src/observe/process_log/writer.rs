//! The process log's thread, and the queue before it.

use super::{Level, line, now_unix_ms};
use crate::limits::{LOG_BUSY_MS, LOG_IDLE_MS, LOG_RETRY_MS, PROCESS_LOG_OCTETS};
use crate::observe::Counter;
use crate::observe::drain::{Drain, LogSource, Turn};
use rtrb::{Producer, RingBuffer};
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::Duration;

/// What the process log has lost, and how often a write of it failed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProcessLogStats {
    pub dropped: u64,
    pub write_failures: u64,
}

/// Whom lines are given to.
pub(super) struct Writer {
    shared: Arc<Shared>,
    thread: Thread,
    /// Hangs up when the thread ends. Locked for as long as somebody waits for that, which no line's way does.
    ended: Mutex<Receiver<()>>,
}

struct Shared {
    /// Locked for as long as a line takes to be copied, never while one is written.
    queue: Mutex<Queue>,
    dropped: Counter,
    write_failures: Counter,
    ending: AtomicBool,
}

struct Queue {
    ring: Producer<u8>,
    /// Lines lost since the log last said so.
    untold: u64,
}

impl Queue {
    /// Takes a line whole or not at all, behind the word of what was lost before it: both or neither, so that small lines do
    /// not fill the last room with such words.
    fn push(&mut self, line: &str) -> bool {
        let lost = if self.untold > 0 { lost(self.untold) } else { String::new() };
        let pushed = self.ring.push_entire_slice(&[lost.as_bytes(), line.as_bytes()].concat()).is_ok();
        self.untold = if pushed { 0 } else { self.untold };
        pushed
    }
}

/// What stands where so many lines are missing.
fn lost(lines: u64) -> String {
    let message = "lines of the process log are lost: they found no room";
    line(now_unix_ms(), Level::Warn, message, &[("ringway.lines", lines.into())])
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        // A line is pushed whole or not at all.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Writer {
    pub(super) fn start(out: impl Write + Send + 'static) -> io::Result<Writer> {
        let (ring, source) = RingBuffer::new(PROCESS_LOG_OCTETS);
        let shared = Arc::new(Shared {
            queue: Mutex::new(Queue { ring, untold: 0 }),
            dropped: Counter::default(),
            write_failures: Counter::default(),
            ending: AtomicBool::new(false),
        });
        let (alive, ended) = sync_channel(0);
        let work = Work {
            drain: Drain::new(vec![LogSource(source)]),
            out,
            shared: Arc::clone(&shared),
            _alive: alive,
        };
        let thread = thread::Builder::new().name("process-log".to_owned()).spawn(move || work.run())?;
        Ok(Writer { shared, thread: thread.thread().clone(), ended: Mutex::new(ended) })
    }

    /// Gives a line to the thread, or drops and counts it if there is no room.
    pub(super) fn put(&self, line: &str) {
        let mut queue = self.shared.queue();
        if !queue.push(line) {
            queue.untold += 1;
            // One writer at a time, under the lock.
            self.shared.dropped.inc();
        }
        drop(queue);
        self.thread.unpark();
    }

    /// Has what waits written, and the thread end. Whether it did within `within`.
    pub(super) fn end(&self, within: Duration) -> bool {
        self.shared.ending.store(true, Ordering::Release);
        self.thread.unpark();
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        matches!(ended.recv_timeout(within), Err(RecvTimeoutError::Disconnected))
    }

    pub(super) fn stats(&self) -> ProcessLogStats {
        let Shared { dropped, write_failures, .. } = &*self.shared;
        ProcessLogStats { dropped: dropped.get(), write_failures: write_failures.get() }
    }
}

struct Work<W> {
    drain: Drain,
    out: W,
    shared: Arc<Shared>,
    /// Hangs up when the thread ends.
    _alive: SyncSender<()>,
}

impl<W: Write> Work<W> {
    fn run(mut self) {
        loop {
            // Read before draining, so that the last turn begins after the last line.
            let last = self.shared.ending.load(Ordering::Acquire);
            let turn = self.drain.turn(&mut self.out);
            if turn.error.is_some() {
                self.shared.write_failures.inc();
            }
            if self.drain.is_empty() {
                // Nobody may have anything to say for long, and there is room for what was lost.
                self.shared.queue().push("");
            }
            if last && (turn.error.is_some() || self.drain.is_empty()) {
                return;
            }
            self.wait(&turn, last);
        }
    }

    /// Until there is something to write, and somewhere to.
    fn wait(&self, turn: &Turn, last: bool) {
        let ms = match turn.error {
            Some(_) => LOG_RETRY_MS,
            None if turn.is_full && last => LOG_BUSY_MS,
            None if turn.is_full => LOG_IDLE_MS,
            None if self.drain.is_empty() => return thread::park(),
            None => return,
        };
        thread::park_timeout(Duration::from_millis(ms));
    }
}

#[cfg(test)]
mod tests;
