//! `deltas`: the data set as a file of changes, and then changes to it, appended as time goes on.
//!
//! [`churn`] decides which, [`known`] tells others what is true when.

pub mod churn;
pub mod known;

use std::fs::{File, OpenOptions};
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
use crate::plan::Profile;
use crate::run::print;

/// Writes the file, and appends to it for as long as was asked.
///
/// # Errors
/// A file cannot be written, or the options make no data set.
pub fn deltas(options: &DeltasOptions) -> Result<(), Error> {
    let data = dataset(options)?;
    let known = options.known.clone().unwrap_or_else(|| beside(&options.out));
    let mut truth = Appended::create("--known", &known)?;
    truth.append(&known::line(&Header::of(&data, options.churn.unwrap_or(0.0))))?;
    write_all(&data, &options.out)?;
    let (hosts, services, seed) = (data.hosts(), data.services(), data.seed());
    print(&format!("{hosts} host names of {services} services, seed {seed}\n"))?;
    let Some(rate) = options.churn else { return Ok(()) };
    let mut out = Appended::open("--out", &options.out)?;
    let late = append(&data, rate, options.seconds, &mut out, &mut truth)?;
    print(&format!(
        "{} changes appended, the latest {:.1} ms late\n",
        late.count,
        late.most.as_secs_f64() * 1e3
    ))
}

/// A file's name with `.known` behind it.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".known");
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

/// The whole data set. A file that is there is replaced at once, when the new one is whole.
fn write_all(data: &Dataset, path: &Path) -> Result<(), Error> {
    let failed = |e| unwritable("--out", path, &e);
    if std::fs::symlink_metadata(path).is_ok_and(|there| !there.is_file()) {
        // A rename would take its place: a device's, for the whole machine.
        return Err(failed(io::Error::other("it is there, and no regular file")));
    }
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let mut out = BufWriter::new(File::create(&beside).map_err(failed)?);
    let mut line = Vec::new();
    for change in data.changes() {
        line.clear();
        render(&change, None, &mut line);
        out.write_all(&line).map_err(failed)?;
    }
    out.flush().map_err(failed)?;
    std::fs::rename(&beside, path).map_err(failed)
}

/// A file that grows.
struct Appended {
    file: File,
    option: &'static str,
    path: PathBuf,
}

impl Appended {
    fn create(option: &'static str, path: &Path) -> Result<Self, Error> {
        let file = File::create(path).map_err(|e| unwritable(option, path, &e))?;
        Ok(Self { file, option, path: path.to_owned() })
    }

    fn open(option: &'static str, path: &Path) -> Result<Self, Error> {
        let file = OpenOptions::new().append(true).open(path).map_err(|e| unwritable(option, path, &e))?;
        Ok(Self { file, option, path: path.to_owned() })
    }

    /// In one call, so that a reader sees whole lines but for the rarest moments.
    fn append(&mut self, octets: &[u8]) -> Result<(), Error> {
        self.file.write_all(octets).map_err(|e| unwritable(self.option, &self.path, &e))
    }
}

fn unwritable(option: &str, path: &Path, why: &io::Error) -> Error {
    Error::Input(format!("{option} {}: cannot be written: {why}; choose another place", path.display()))
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
    out: &mut Appended,
    truth: &mut Appended,
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
