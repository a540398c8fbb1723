//! `deltas`: the data set as a file of changes, and then changes to it, appended as time goes on.
//!
//! [`churn`] decides which, [`known`] tells others what is true when.

pub mod churn;
pub mod known;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ringway_state::change::render;

use self::churn::Churn;
use self::known::{Header, Mark, now_ns};
use crate::arrivals::{Arrivals, Spacing};
use crate::cli::{DeltasOptions, ListenOn};
use crate::dataset::{Dataset, STANDARD_SERVICES, standard_origins};
use crate::error::Error;
use crate::limits;
use crate::output::{Output, ensure_apart, unwritable};
use crate::plan::Profile;
use crate::run::print;

/// Writes the file, and appends to it for as long as was asked.
///
/// # Errors
/// A file cannot be written, or the options make no data set.
pub fn deltas(options: &DeltasOptions) -> Result<(), Error> {
    let data = dataset(options)?;
    let known = options.known.clone().unwrap_or_else(|| beside(&options.out, ".known"));
    let new = beside(&options.out, ".new");
    ensure_apart(&[("--known", &known), ("--out", &options.out), ("--out, until it is whole,", &new)])?;
    let mut truth = Output::open("--known", &known)?;
    let header = known::line(&Header::of(&data, options.churn.unwrap_or(0.0)));
    write_all(&data, &new, &options.out, || truth.append(&header))?;
    let (hosts, services, seed) = (data.hosts(), data.services(), data.seed());
    print(&format!("{hosts} host names of {services} services, seed {seed}\n"))?;
    let Some(rate) = options.churn else { return Ok(()) };
    let mut out = Output::growing("--out", &options.out)?;
    let late = append(&data, rate, options.seconds, &mut out, &mut truth)?;
    print(&format!(
        "{} changes appended, the latest {:.1} ms late\n",
        late.count,
        late.most.as_secs_f64() * 1e3
    ))
}

/// A file's name with something behind it.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn dataset(options: &DeltasOptions) -> Result<Dataset, Error> {
    let services = options.services.unwrap_or_else(|| options.hosts.div_ceil(4).min(STANDARD_SERVICES));
    if services > options.hosts {
        let hosts = options.hosts;
        return Err(Error::Usage(format!("--services: each has a host name; give at most {hosts}")));
    }
    let mut origins = Vec::new();
    for origin in &options.origins {
        match origin {
            ListenOn::Address(address) => origins.push(*address),
            ListenOn::Dataset => origins.extend(standard_origins()),
        }
    }
    Ok(Dataset::new(options.hosts, services, options.region.clone(), origins).with_seed(options.seed))
}

/// The whole data set, in a file `new` that takes the place of `path` at once when it is whole, and `first` was done. If it is
/// not, `path` is as it was.
fn write_all(
    data: &Dataset,
    new: &Path,
    path: &Path,
    first: impl FnOnce() -> Result<(), Error>,
) -> Result<(), Error> {
    let failed = |e| unwritable("--out", path, &e);
    if std::fs::symlink_metadata(path).is_ok_and(|there| !there.is_file()) {
        // A rename would take its place: a device's, for the whole machine.
        return Err(failed(io::Error::other("it is there, and no regular file")));
    }
    let written = write_changes(data, new).map_err(failed).and_then(|()| first());
    let done = written.and_then(|()| std::fs::rename(new, path).map_err(failed));
    if done.is_err() {
        // What is left of it is no data set.
        let _ = std::fs::remove_file(new);
    }
    done
}

fn write_changes(data: &Dataset, path: &Path) -> io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    let mut line = Vec::new();
    for change in data.changes() {
        line.clear();
        render(&change, None, &mut line);
        out.write_all(&line)?;
    }
    out.flush()
}

/// How many changes were appended, and how long after it was due the latest of them was.
struct Late {
    count: u64,
    most: Duration,
}

/// Appends changes when they are due, those that are due together in one go.
fn append(
    data: &Dataset,
    rate: f64,
    time: Duration,
    out: &mut Output,
    truth: &mut Output,
) -> Result<Late, Error> {
    let begin = Instant::now();
    truth.append(&known::line(&Mark::Begin { ns: now_ns() }))?;
    let due = Arrivals::new(Profile::constant(rate), Spacing::Even, 0).take_while(|at| *at < time);
    let mut due = due.peekable();
    let mut churn = Churn::new(data, data.seed());
    let (mut late, mut lines) = (Late { count: 0, most: Duration::ZERO }, Vec::new());
    while let Some(first) = due.peek().copied() {
        // Not a wait for something to happen: the time is what was asked for.
        std::thread::sleep(first.saturating_sub(begin.elapsed()));
        lines.clear();
        let now = begin.elapsed();
        late.most = late.most.max(now.saturating_sub(first));
        let mut batch = 0;
        while batch < limits::CHANGES_TOGETHER_MAX && due.next_if(|at| *at <= now).is_some() {
            if let Some(act) = churn.next() {
                render(&churn::change(data, late.count, &act), Some(late.count), &mut lines);
            }
            late.count += 1;
            batch += 1;
        }
        truth.append(&known::line(&Mark::Writing { until: late.count, ns: now_ns() }))?;
        out.append(&lines)?;
        truth.append(&known::line(&Mark::Written { until: late.count, ns: now_ns() }))?;
    }
    Ok(late)
}
