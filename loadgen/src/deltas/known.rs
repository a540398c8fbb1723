//! What is true when: a file beside the deltas, in which their writer says what it is about to append and what it has
//! appended, so that whoever reads it along knows at each moment what a router may know and what it must.
//!
//! JSON lines: a [`Header`], then [`Mark`]s. A mark is in the file before the changes that it announces are in theirs.

use std::net::SocketAddr;
use std::time::{SystemTime, UNIX_EPOCH};

use ringway_state::id::Region;
use serde::{Deserialize, Serialize};

use crate::dataset::Dataset;
use crate::limits;

/// From what the data set and its changes follow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    pub hosts: u64,
    pub services: u64,
    pub seed: u64,
    pub region: String,
    pub origins: Vec<SocketAddr>,
    /// Changes a second.
    pub rate: f64,
}

/// Times are nanoseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "mark", rename_all = "lowercase")]
pub enum Mark {
    /// The first change is meant for this time, the others at the header's rate.
    Begin { ns: u64 },
    /// Changes below `until` are about to be appended.
    Writing { until: u64, ns: u64 },
    /// They have been.
    Written { until: u64, ns: u64 },
}

impl Header {
    #[must_use]
    pub fn of(data: &Dataset, rate: f64) -> Self {
        Self {
            hosts: data.hosts(),
            services: data.services(),
            seed: data.seed(),
            region: data.local().as_str().to_owned(),
            origins: data.origins().to_vec(),
            rate,
        }
    }

    /// The data set.
    ///
    /// # Errors
    /// What no writer of such a file says.
    pub fn dataset(&self) -> Result<Dataset, String> {
        if self.services == 0 || self.hosts < self.services || self.hosts > limits::DATASET_HOSTS_MAX {
            return Err(format!("{} hosts of {} services are no data set", self.hosts, self.services));
        }
        if self.origins.is_empty() {
            return Err("it names no origin".to_owned());
        }
        let region = Region::parse(&self.region).map_err(|e| format!("its region {:?} {e}", self.region))?;
        Ok(Dataset::new(self.hosts, self.services, region, self.origins.clone()).with_seed(self.seed))
    }
}

/// Now, as marks say it.
#[must_use]
pub fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// Reads the file as it grows, in pieces as they come. Sans-io.
#[derive(Debug, Default)]
pub struct Reader {
    carry: Vec<u8>,
    header: Option<Header>,
    /// Lines so far.
    lines: usize,
}

impl Reader {
    #[must_use]
    pub fn header(&self) -> Option<&Header> {
        self.header.as_ref()
    }

    /// The marks that end within these octets. A line that has not ended waits.
    ///
    /// # Errors
    /// A line is none of such a file's: `LINE: why`.
    pub fn feed(&mut self, octets: &[u8]) -> Result<Vec<Mark>, String> {
        self.carry.extend_from_slice(octets);
        let mut marks = Vec::new();
        let mut begin = 0;
        while let Some(length) =
            self.carry.get(begin..).and_then(|rest| rest.iter().position(|o| *o == b'\n'))
        {
            let line = self.carry.get(begin..begin + length).unwrap_or_default();
            self.lines += 1;
            let wrong = |e: serde_json::Error| {
                format!("{}: {e}; give the file that --known of deltas names", self.lines)
            };
            match self.header {
                None => self.header = Some(serde_json::from_slice(line).map_err(wrong)?),
                Some(_) => marks.push(serde_json::from_slice(line).map_err(wrong)?),
            }
            begin += length + 1;
        }
        self.carry.drain(..begin);
        if self.carry.len() > limits::KNOWN_LINE_OCTETS_MAX {
            return Err(format!(
                "{}: the line is too long; give the file that --known of deltas names",
                self.lines + 1
            ));
        }
        Ok(marks)
    }
}

/// A line of the file.
#[must_use]
pub fn line(of: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(of).expect("numbers and texts can always be written");
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a failed unwrap is a failed test
    use super::*;
    use proptest::prelude::*;

    fn header() -> Header {
        let origins = crate::dataset::standard_origins();
        Header { hosts: 9, services: 3, seed: 1, region: "local".into(), origins, rate: 2.5 }
    }

    proptest! {
        #[test]
        fn every_split_reads_the_same(marks in prop::collection::vec((0u64..9, any::<u64>(), 0..3), 0..20), size in 1usize..90) {
            let marks: Vec<Mark> = marks.into_iter().map(|(until, ns, kind)| match kind {
                0 => Mark::Begin { ns },
                1 => Mark::Writing { until, ns },
                _ => Mark::Written { until, ns },
            }).collect();
            let file = [line(&header()), marks.iter().flat_map(line).collect()].concat();
            let mut reader = Reader::default();
            let read: Vec<Mark> = file.chunks(size).flat_map(|piece| reader.feed(piece).unwrap()).collect();
            prop_assert_eq!((read, reader.header()), (marks, Some(&header())));
        }

        #[test]
        fn no_octets_panic(octets: Vec<u8>) {
            let mut reader = Reader::default();
            let _ = reader.feed(&octets);
            let _ = reader.feed(&line(&header()));
            let _ = reader.feed(&octets);
        }
    }

    #[test]
    fn what_is_no_such_file_is_told() {
        assert!(Reader::default().feed(b"a\n").unwrap_err().starts_with("1: "));
        let mut reader = Reader::default();
        assert_eq!(reader.feed(&line(&header())), Ok(Vec::new()));
        assert!(reader.feed(b"{\"mark\":\"written\"}\n").unwrap_err().starts_with("2: missing field"));
        for wrong in [
            Header { services: 0, ..header() },
            Header { hosts: 2, ..header() },
            Header { origins: Vec::new(), ..header() },
            Header { region: "No Region".into(), ..header() },
        ] {
            assert!(wrong.dataset().is_err(), "{wrong:?}");
        }
        assert_eq!(Header::of(&header().dataset().unwrap(), 2.5), header());
    }
}
