//! The thread that puts the guards' judgement on record: beside the housekeeper, which may be at a base for minutes, and at
//! no low priority, since changes wait for it.

use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::time::{Duration, Instant};

use super::judged::{self, Fact};
use super::manifest::{Manifest, begin};
use super::trouble::Trouble;
use crate::feed::notes::Notes;
use crate::limits;
use crate::runtime::Waker;

struct Job {
    number: u64,
    facts: Vec<Fact>,
    is_urgent: bool,
}

/// The end that the feed's thread holds. The thread ends when this is dropped, after what it is at.
pub(in crate::feed) struct Recorder {
    jobs: SyncSender<Job>,
    done: Receiver<(Job, io::Result<()>)>,
    is_busy: bool,
    /// Of the file that is added to, and about how many facts it has.
    number: u64,
    facts: usize,
    /// When it last began to write.
    wrote: Option<Instant>,
    trouble: Trouble,
}

const EVERY: Duration = Duration::from_millis(limits::GUARD_NOTED_MS);

impl Recorder {
    /// Adds to the file of this number, which is not there yet.
    ///
    /// # Errors
    /// The machine gives no thread.
    pub(in crate::feed) fn start(
        dir: PathBuf,
        manifest: Manifest,
        number: u64,
        waker: Waker,
    ) -> io::Result<Recorder> {
        let (jobs, wanted) = sync_channel::<Job>(1);
        let (tell, done) = sync_channel(1);
        let run = move || {
            while let Ok(job) = wanted.recv() {
                let outcome =
                    begin(&dir, &manifest).and_then(|()| judged::append(&dir, job.number, &job.facts));
                if tell.send((job, outcome)).is_err() {
                    return;
                }
                waker.wake();
            }
        };
        std::thread::Builder::new().name("recorder".to_owned()).spawn(run)?;
        Ok(Recorder {
            jobs,
            done,
            is_busy: false,
            number,
            facts: 0,
            wrote: None,
            trouble: Trouble::default(),
        })
    }

    /// Takes the next step: at once if somebody waits for it, else at most so often. What has failed is tried again later.
    ///
    /// # Errors
    /// The folder takes nothing now, and the time until it is tried again.
    pub(in crate::feed) fn turn(
        &mut self,
        notes: &mut Notes,
        now: Instant,
    ) -> Result<(), (io::Error, Duration)> {
        let outcome = self.take_done(notes, now);
        if self.is_busy || notes.is_empty() || !self.trouble.is_over(now) {
            return outcome;
        }
        let is_due = self.wrote.is_none_or(|wrote| now.saturating_duration_since(wrote) >= EVERY);
        if notes.is_urgent() || is_due {
            let (facts, is_urgent) = notes.next();
            self.facts += facts.len();
            // A thread that has gone is told of by `done`.
            let _ = self.jobs.try_send(Job { number: self.number, facts, is_urgent });
            (self.is_busy, self.wrote) = (true, Some(now));
        }
        outcome
    }

    fn take_done(&mut self, notes: &mut Notes, now: Instant) -> Result<(), (io::Error, Duration)> {
        if !self.is_busy {
            return Ok(());
        }
        let (job, outcome) = match self.done.try_recv() {
            Ok(done) => done,
            Err(TryRecvError::Empty) => return Ok(()),
            Err(TryRecvError::Disconnected) => {
                let error = io::Error::other("its thread has ended; restart the router");
                return Err((error, self.trouble.more(now)));
            }
        };
        self.is_busy = false;
        match outcome {
            Ok(()) => {
                notes.written(job.facts.len());
                self.trouble = Trouble::default();
                Ok(())
            }
            Err(error) => {
                notes.again(job.facts, job.is_urgent);
                Err((error, self.trouble.more(now)))
            }
        }
    }

    /// Goes on with another file, whose number this is.
    pub(in crate::feed) fn begin_file(&mut self) -> u64 {
        self.number += 1;
        self.facts = 0;
        self.number
    }

    /// Whether the file has so much that what it says had better be in the table's files.
    pub(in crate::feed) fn is_full(&self) -> bool {
        self.facts >= limits::GUARD_FACTS
    }

    pub(in crate::feed) fn is_in_trouble(&self) -> bool {
        self.trouble.is_any()
    }

    /// When to take the next turn though nothing happens.
    pub(in crate::feed) fn patience(&self, notes: &Notes, now: Instant) -> Option<Duration> {
        if self.is_busy || notes.is_empty() {
            return None;
        }
        let since = self.wrote.map_or(EVERY, |wrote| now.saturating_duration_since(wrote));
        Some(self.trouble.left(now).unwrap_or(EVERY.saturating_sub(since)))
    }
}
