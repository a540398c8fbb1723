//! The thread that writes `state.dir`: it makes files of the table and puts them on record, at a low priority and a bounded
//! rate, so that neither the cores nor the feed's thread wait for a disk.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::time::{Duration, Instant};

use ringway_state::record::Change;
use ringway_state::snapshot::{Progress, Step};
use ringway_state::{Built, Retired, Work, WorkError};

use super::held;
use super::manifest::{Manifest, begin, clean};
use crate::limits;
use crate::observe::FeedStats;
use crate::runtime::{Waker, machine};

/// What is to be done; one at a time.
pub(super) enum Job {
    /// Make a file.
    Build { work: Box<Work>, name: String, paced: bool, manifest: Box<Manifest> },
    /// Put on record what the table stands on now, and remove what it stood on before.
    Commit(Box<Commit>),
}

pub(super) struct Commit {
    pub(super) manifest: Manifest,
    /// A base that stands elsewhere, and its name in the folder.
    pub(super) adopt: Option<(PathBuf, String)>,
    /// What guards hold, and the name of its file.
    pub(super) held: Option<(Vec<Arc<Change>>, String)>,
    /// What no core looks at any more.
    pub(super) retired: Vec<Retired>,
    /// A file that is not on record yet.
    pub(super) keep: Option<String>,
}

/// What has come of it.
pub(super) enum Done {
    Built(Result<Built, WorkError>),
    /// The folder takes nothing.
    NotBegun(io::Error),
    Committed(io::Result<()>),
    /// The thread has ended by a panic.
    Failed,
}

/// The end that the feed's thread holds. The thread ends when this is dropped, after what it is at.
pub(super) struct Housekeeper {
    jobs: SyncSender<Job>,
    done: Receiver<Done>,
    is_busy: bool,
    /// Others wait for what it is at.
    hurries: Arc<AtomicBool>,
}

impl Housekeeper {
    /// `waker` tells of each job that is done.
    ///
    /// # Errors
    /// The machine gives no thread.
    pub(super) fn start(dir: PathBuf, stats: Arc<FeedStats>, waker: Waker) -> io::Result<Housekeeper> {
        let (jobs, wanted) = sync_channel::<Job>(1);
        let (tell, done) = sync_channel(1);
        let hurries = Arc::<AtomicBool>::default();
        let is_hurried = Arc::clone(&hurries);
        let run = move || {
            machine::be_nice(limits::HOUSEKEEPER_NICE);
            while let Ok(job) = wanted.recv() {
                let done = act(job, &dir, &stats, &is_hurried);
                stats.housekeeping_cpu(machine::thread_cpu());
                if tell.send(done).is_err() {
                    return;
                }
                waker.wake();
            }
        };
        std::thread::Builder::new().name("housekeeper".to_owned()).spawn(run)?;
        Ok(Housekeeper { jobs, done, is_busy: false, hurries })
    }

    pub(super) fn is_busy(&self) -> bool {
        self.is_busy
    }

    /// Whether what it is at is to be done as fast as it can be: a base may take minutes, and no flush makes room before.
    pub(super) fn hurry(&self, hurries: bool) {
        self.hurries.store(hurries, Ordering::Relaxed);
    }

    /// Begins a job. Not while it is busy.
    pub(super) fn begin(&mut self, job: Job) {
        debug_assert!(!self.is_busy);
        // A thread that has gone is told of by `done`.
        let _ = self.jobs.try_send(job);
        self.is_busy = true;
    }

    /// What the job has come to, once.
    pub(super) fn done(&mut self) -> Option<Done> {
        if !self.is_busy {
            return None;
        }
        let done = match self.done.try_recv() {
            Ok(done) => done,
            Err(TryRecvError::Empty) => return None,
            Err(TryRecvError::Disconnected) => Done::Failed,
        };
        self.is_busy = false;
        Some(done)
    }
}

fn act(job: Job, dir: &Path, stats: &FeedStats, hurries: &AtomicBool) -> Done {
    match job {
        Job::Build { work, name, paced, manifest } => {
            if let Err(error) = begin(dir, &manifest) {
                return Done::NotBegun(error);
            }
            let mut pace = pace(paced, hurries);
            let built = work.build(&dir.join(name), &mut pace);
            if let Ok(built) = &built {
                let file = built.file();
                stats.written.add(file.octets());
                // Whoever may not lock so much has been told so at the start, of the base.
                let _ = file.keep_in_memory();
            }
            Done::Built(built)
        }
        Job::Commit(commit) => Done::Committed(put_on_record(*commit, dir)),
    }
}

fn put_on_record(commit: Commit, dir: &Path) -> io::Result<()> {
    let Commit { manifest, adopt, held, retired, keep } = commit;
    if let Some((from, name)) = adopt {
        adopt_file(&from, &dir.join(name))?;
    }
    if let Some((held, name)) = held {
        held::write(&dir.join(name), &held)?;
    }
    manifest.write(dir)?;
    // Unmapped before the file goes, so that its room is free then.
    drop(retired);
    clean(dir, &manifest, keep.as_deref())
}

/// The file under another name: the same one if the file system can, else a copy. It is never changed in its place.
fn adopt_file(from: &Path, to: &Path) -> io::Result<()> {
    if to.exists() {
        return Ok(());
    }
    if fs::hard_link(from, to).is_ok() {
        return Ok(());
    }
    let mut beside = to.as_os_str().to_owned();
    beside.push(".0.partial");
    fs::copy(from, &beside)?;
    File::open(&beside)?.sync_all()?;
    fs::rename(&beside, to)
}

/// Spreads what is long over time: the bounds on disk writes and CPU time are means.
fn pace(paced: bool, hurries: &AtomicBool) -> impl FnMut(Progress) {
    let mut last = Instant::now();
    move |progress| {
        if !paced || hurries.load(Ordering::Relaxed) {
            return;
        }
        if let Some(least) = least(progress.step) {
            std::thread::sleep(least.saturating_sub(last.elapsed()));
            last = Instant::now();
        }
    }
}

/// What a part of a build takes at least when it is told of. Names and documents are looked through while octets are written.
fn least(step: Step) -> Option<Duration> {
    match step {
        Step::Read => Some(Duration::from_millis(limits::HOUSEKEEPER_READ_MS)),
        Step::Write => Some(Duration::from_millis(limits::HOUSEKEEPER_WRITE_MS)),
        Step::Services | Step::Hosts | Step::Documents => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A base of the standard data set, 4 million names in 262 MB, in a few minutes; at once if others wait.
    #[test]
    fn a_base_is_spread_over_minutes_and_not_hours() {
        let times = |step, parts: u32| least(step).unwrap_or_default() * parts;
        let all = times(Step::Read, 61) + times(Step::Hosts, 61) + times(Step::Write, 4_000);
        assert!((Duration::from_secs(60)..Duration::from_secs(180)).contains(&all), "{all:?}");
        let hurries = AtomicBool::new(true);
        let (mut pace, began) = (pace(true, &hurries), Instant::now());
        (0..1_000).for_each(|done| pace(Progress { step: Step::Read, done }));
        assert!(began.elapsed() < Duration::from_secs(1));
    }

    #[test]
    fn a_base_is_adopted_once_and_stays_what_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("base"), dir.path().join("0.snap"));
        fs::write(&from, "octets").unwrap();
        adopt_file(&from, &to).unwrap();
        fs::remove_file(&from).unwrap();
        adopt_file(&from, &to).unwrap();
        assert_eq!(fs::read(&to).unwrap(), b"octets");
        assert!(adopt_file(&from, &dir.path().join("1.snap")).is_err());
    }
}
