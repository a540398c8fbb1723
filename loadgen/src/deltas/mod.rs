//! `deltas`: the data set as a file of changes, and then changes to it, appended as time goes on.
//!
//! [`churn`] decides which, [`known`] tells others what is true when, [`writer`] writes both.

pub mod churn;
pub mod known;
pub mod writer;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ringway_state::change::render;

use self::known::Header;
use self::writer::{Due, Writer};
use crate::cli::{DeltasOptions, ListenOn};
use crate::dataset::{Dataset, STANDARD_SERVICES, standard_origins};
use crate::error::Error;
use crate::output::{Output, ensure_apart, unwritable};
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
    let mut writer = Writer::begin(&data, Output::growing("--out", &options.out)?, truth)?;
    let late = append(rate, options.seconds, &mut writer)?;
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
fn append(rate: f64, time: Duration, writer: &mut Writer<'_>) -> Result<Late, Error> {
    let (begin, mut late) = (Instant::now(), Late { count: 0, most: Duration::ZERO });
    let (mut due, end) = (Due::new(rate, begin), begin + time);
    while due.next() < end {
        let next = due.next();
        // Not a wait for something to happen: the time is what was asked for.
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
        let now = Instant::now();
        late.most = late.most.max(now.saturating_duration_since(next));
        // The last is due before the end.
        writer.append(due.take(now.min(end - Duration::from_nanos(1))), |count| late.count = count)?;
    }
    Ok(late)
}
