//! What was read of a file is read once more when the file has changed, a part at a time: it may have been written anew in its
//! place, with as many octets or more.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::lines::Place;
use crate::limits;

/// Of one file, since it is followed.
#[derive(Default)]
pub(super) struct Recheck {
    /// The file as it was when everything that had been read of it stood there still.
    found: Option<Stamp>,
    /// Under way.
    pass: Option<Pass>,
    stepped: Option<Instant>,
}

/// When a file was changed last, by its own clock: nanoseconds since 1970, of its octets, and of anything about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    modified: i128,
    changed: i128,
}

struct Pass {
    stamp: Option<Stamp>,
    /// Up to where, and what stood before it.
    to: Place,
    done: u64,
    sum: u32,
}

/// What a step came to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Nothing else than was read, so far.
    Same,
    /// Other octets.
    Others,
}

const EVERY: Duration = Duration::from_millis(limits::FEED_RECHECK_MS);
/// A file system's clock ticks every so often: what is changed twice within a tick looks as if it were changed once.
const TICK_NS: i128 = 100_000_000;

impl Recheck {
    /// Of a file of which all that counts is about to be read: only what changes from now on is to be looked at.
    pub(super) fn from_now(file: &File) -> Recheck {
        let found = Stamp::of(file).ok().and_then(Stamp::settled);
        Recheck { found, ..Recheck::default() }
    }

    /// Reads one part more, if it is time and something has changed. `read` is up to where lines were taken.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(super) fn step(
        &mut self,
        file: &File,
        read: Place,
        buffer: &mut [u8],
        now: Instant,
    ) -> io::Result<Found> {
        if self.stepped.is_some_and(|stepped| now.saturating_duration_since(stepped) < EVERY) {
            return Ok(Found::Same);
        }
        self.stepped = Some(now);
        if self.pass.is_none() {
            let stamp = Stamp::of(file)?;
            if self.found == Some(stamp) {
                return Ok(Found::Same);
            }
            let stamp = stamp.settled();
            self.pass = Some(Pass { stamp, to: read, done: 0, sum: 0 });
        }
        let Some(pass) = &mut self.pass else { return Ok(Found::Same) };
        if !pass.step(file, buffer)? {
            return Ok(Found::Others);
        }
        if pass.done == pass.to.offset {
            let is_same = pass.sum == pass.to.sum;
            self.found = pass.stamp;
            self.pass = None;
            return Ok(if is_same { Found::Same } else { Found::Others });
        }
        Ok(Found::Same)
    }

    /// How soon the next step is due, if one is.
    pub(super) fn patience(&self) -> Option<Duration> {
        self.pass.as_ref().map(|_| EVERY)
    }
}

impl Pass {
    /// False if the file ends before what was read of it.
    fn step(&mut self, file: &File, buffer: &mut [u8]) -> io::Result<bool> {
        let left = usize::try_from(self.to.offset - self.done).unwrap_or(usize::MAX);
        let most = left.min(limits::FEED_READ_OCTETS).min(buffer.len());
        let got = file.read_at(&mut buffer[..most], self.done)?;
        self.sum = crc32c::crc32c_append(self.sum, &buffer[..got]);
        self.done += got as u64;
        Ok(got > 0 || most == 0)
    }
}

impl Stamp {
    fn of(file: &File) -> io::Result<Stamp> {
        let file = file.metadata()?;
        let stamp = |seconds: i64, ns: i64| i128::from(seconds) * 1_000_000_000 + i128::from(ns);
        Ok(Stamp {
            modified: stamp(file.mtime(), file.mtime_nsec()),
            changed: stamp(file.ctime(), file.ctime_nsec()),
        })
    }

    /// It, if a change that comes now gives another one.
    fn settled(self) -> Option<Stamp> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos());
        (now.cast_signed() - self.changed > TICK_NS).then_some(self)
    }
}

/// The CRC32C of a file's octets before an offset; none if it has fewer.
///
/// # Errors
/// It cannot be read.
pub(super) fn sum_before(file: &File, offset: u64) -> io::Result<Option<u32>> {
    let mut pass = Pass { stamp: None, to: Place { offset, ..Place::START }, done: 0, sum: 0 };
    let mut buffer = super::buffer();
    while pass.done < offset {
        if !pass.step(file, &mut buffer)? {
            return Ok(None);
        }
    }
    Ok(Some(pass.sum))
}
