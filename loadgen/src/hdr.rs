//! Latencies interval by interval as a log that HdrHistogram's tools read: its interval log, histograms in V2 and
//! compressed.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, IntervalLogWriterError, Tag};

use crate::error::Error;
use crate::intervals::Interval;
use crate::output::unwritable;

const OPTION: &str = "--hdr";

/// A log under way.
pub struct Log {
    path: PathBuf,
    out: BufWriter<File>,
    serializer: V2DeflateSerializer,
    begin: Instant,
}

impl Log {
    /// Begins one; the names of the targets are its tags.
    ///
    /// # Errors
    /// The file cannot be made.
    pub fn create(path: &Path, seed: u64) -> Result<Self, Error> {
        let failed = |e: io::Error| unwritable(OPTION, path, &e);
        let mut out = BufWriter::new(File::create(path).map_err(failed)?);
        let (begin, now, version) = (Instant::now(), SystemTime::now(), env!("CARGO_PKG_VERSION"));
        let mut serializer = V2DeflateSerializer::new();
        IntervalLogWriterBuilder::new()
            .add_comment(&format!("ringway-loadgen {version}, seed {seed}; values in ns, tags are targets"))
            .add_comment("[Histogram log format version 1.3]")
            .with_start_time(now)
            .with_base_time(now)
            .begin_log_with(&mut out, &mut serializer)
            .map_err(failed)?;
        Ok(Self { path: path.to_owned(), out, serializer, begin })
    }

    /// Appends an interval of a target's turn.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn append(&mut self, target: &str, interval: &Interval) -> Result<(), Error> {
        // A tag ends at the first of these.
        let tag = target.replace([',', ' ', '\r', '\n'], "_");
        let at = interval.begin.saturating_duration_since(self.begin);
        let written = IntervalLogWriterBuilder::new()
            .begin_log_with(&mut self.out, &mut self.serializer)
            .and_then(|mut log| {
                log.write_histogram(&interval.latency, at, interval.length, Tag::new(&tag)).map_err(|error| {
                    match error {
                        IntervalLogWriterError::IoError(error) => error,
                        error => io::Error::other(error.to_string()),
                    }
                })
            });
        written.map_err(|error| unwritable(OPTION, &self.path, &error))
    }

    /// Ends it.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(mut self) -> Result<(), Error> {
        self.out.flush().map_err(|e| unwritable(OPTION, &self.path, &e))
    }
}
