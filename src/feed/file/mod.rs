//! A file of changes that is followed (JSON Lines): appended to, or replaced, or not there yet.
//!
//! A file that was replaced or cut is more log: it is read from its start, and what is missing from it removes nothing. A
//! last line without LF waits for it. [`lines`] and [`fate`] decide, [`Follower`] reads.

mod fate;
mod lines;
mod position;
mod recheck;
mod replay;
mod span;

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ringway_state::limits::CHANGE_OCTETS_MAX;

use crate::limits;
use crate::runtime::{FileWatch, Waker};
use fate::{Fate, Identity, Tail};
use lines::Lines;
pub(super) use lines::{Place, Text};
pub(super) use position::Position;
use recheck::{Found, Recheck};
pub use replay::replay;
pub(super) use span::{Rest, Span};

/// Reads a file line by line, and on when there is more.
pub(super) struct Follower {
    path: PathBuf,
    watch: FileWatch,
    open: Option<Open>,
    /// Some file was open before.
    again: bool,
    /// How often one was opened.
    opened: u64,
    /// Where to begin in the first file, if it is this one.
    resume: Option<Position>,
    /// Of the line returned last.
    last: Place,
    buffer: Box<[u8]>,
    /// When the octets last read came in.
    read_at: Instant,
}

struct Open {
    /// Another one each time that a file is read from its start.
    number: u64,
    file: File,
    identity: Identity,
    lines: Lines,
    /// Octets that were read.
    read: u64,
    tail: Tail,
    recheck: Recheck,
    /// Its name leads elsewhere, or nowhere; what is read from then on is the rest.
    is_final: bool,
}

/// What reading came to.
#[derive(Debug)]
pub(super) enum Look {
    /// There may be lines now.
    More,
    /// A file was opened, to be read from its start unless it is resumed.
    Began(Begun),
    /// Everything that is there was read.
    End,
    /// There is nothing to read, and why.
    Absent(io::Error),
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Begun {
    First,
    /// From the line that a position named.
    Resumed {
        line: u64,
    },
    /// After another file of that name. So many octets of its last line never got their end.
    Replaced {
        torn: usize,
    },
    /// It is shorter than before, or other octets stand where some were read.
    Rewritten,
}

impl Follower {
    /// # Errors
    /// The machine lacks descriptors, or inotify instances.
    pub(super) fn new(path: &Path, resume: Option<Position>) -> io::Result<(Follower, Waker)> {
        let (watch, waker) = FileWatch::new(path)?;
        let follower = Follower {
            path: path.to_owned(),
            watch,
            open: None,
            again: false,
            opened: 0,
            resume,
            last: Place::START,
            buffer: buffer(),
            read_at: Instant::now(),
        };
        Ok((follower, waker))
    }

    /// The next line of what was read, and when it came in.
    pub(super) fn line(&mut self) -> Option<(Place, Text<'_>, Instant)> {
        let (place, text) = self.open.as_mut()?.lines.next()?;
        self.last = place;
        Some((place, text, self.read_at))
    }

    /// Where the next line begins; or, with `again`, the one that was returned last. None if no file is open, or it is
    /// another by now.
    pub(super) fn position(&self, again: bool) -> Option<Position> {
        let open = self.open.as_ref()?;
        let place = if again { self.last } else { open.lines.place() };
        Position::of(&open.file, open.identity, place).ok()
    }

    /// Where a position is in the file that is open, if it is one of that file.
    pub(super) fn offset_of(&self, position: &Position) -> Option<u64> {
        let open = self.open.as_ref()?;
        position.find(&open.file, open.identity).map(|place| place.offset)
    }

    /// As [`position`](Self::position) with the next line that is not to be read once more: the first of a span, if that is
    /// one of the file that is open.
    pub(super) fn position_before(&self, again: bool, span: Option<&Span>) -> Option<Position> {
        let open = self.open.as_ref()?;
        match span.filter(|span| span.is_of(open.number)) {
            Some(span) => Position::of(&open.file, open.identity, span.place()).ok(),
            None => self.position(again),
        }
    }

    /// The line that was returned last is to be read once more: as the last one of a span, or of one of its own, which is
    /// returned then.
    ///
    /// # Errors
    /// As [`Span::new`].
    pub(super) fn remember(&self, span: Option<&mut Span>) -> io::Result<Option<Span>> {
        let Some(open) = &self.open else { return Err(io::Error::other("no file is open")) };
        if let Some(span) = span.filter(|span| span.is_of(open.number)) {
            span.reach(self.last);
            return Ok(None);
        }
        Span::new(open, self.last).map(Some)
    }

    /// The same without the octets before it; none if no file is open.
    pub(super) fn place(&self) -> Option<Place> {
        self.open.as_ref().map(|open| open.lines.place())
    }

    /// Octets read of the file that is open, and how many it has now.
    pub(super) fn progress(&self) -> (u64, u64) {
        let length = |open: &Open| open.file.metadata().map_or(open.read, |file| file.len());
        self.open.as_ref().map_or((0, 0), |open| (open.read, length(open)))
    }

    /// Waits until there may be more to read, a waker was used, or `at_most` has passed.
    pub(super) fn wait(&mut self, at_most: Duration) {
        self.watch.wait(at_most);
    }

    /// Reads on. Lines that were read before are to be taken first.
    pub(super) fn read(&mut self) -> Look {
        let Some(open) = &mut self.open else { return self.begin(None) };
        let read = open.read(&mut self.buffer);
        self.read_at = Instant::now();
        match read {
            Ok(Read::Octets) => Look::More,
            Ok(Read::Nothing) => self.at_end(),
            Ok(Read::Others) => self.begin(Some(Begun::Rewritten)),
            Err(error) => self.unreadable(error),
        }
    }

    /// Reads a part of what was read before once more, if the file has changed since. What comes of it, if other octets stand
    /// there. Lines that were read are to be taken first.
    pub(super) fn recheck(&mut self, now: Instant) -> Option<Look> {
        let open = self.open.as_mut()?;
        match open.recheck.step(&open.file, open.lines.place(), &mut self.buffer, now) {
            Ok(Found::Others) => Some(self.begin(Some(Begun::Rewritten))),
            // What cannot be read is told of where it is read on.
            Ok(Found::Same) | Err(_) => None,
        }
    }

    /// How soon there is more of that to do, if there is.
    pub(super) fn recheck_patience(&self) -> Option<Duration> {
        self.open.as_ref()?.recheck.patience()
    }

    /// What cannot be read is waited for as long as nothing else is in its place.
    fn unreadable(&mut self, error: io::Error) -> Look {
        let now = std::fs::metadata(&self.path).ok().map(|now| identity(&now));
        match self.open.take_if(|open| now != Some(open.identity)) {
            Some(other) => self.begin(Some(Begun::Replaced { torn: other.lines.torn() })),
            None => Look::Absent(error),
        }
    }

    fn at_end(&mut self) -> Look {
        let Some(open) = &mut self.open else { return Look::End };
        let now = std::fs::metadata(&self.path).ok();
        let fate = fate::of(open.identity, open.read, now.map(|now| (identity(&now), now.len())));
        match fate {
            Fate::Waits => Look::End,
            Fate::Cut => self.begin(Some(Begun::Rewritten)),
            Fate::Replaced | Fate::Gone if !open.is_final => {
                // It may have grown before it went.
                open.is_final = true;
                Look::More
            }
            Fate::Gone if has_a_name(&open.file) => {
                open.is_final = false;
                Look::Absent(io::Error::from_raw_os_error(libc::ENOENT))
            }
            Fate::Replaced | Fate::Gone => {
                let torn = open.lines.torn();
                self.open = None;
                self.begin(Some(Begun::Replaced { torn }))
            }
        }
    }

    fn begin(&mut self, begun: Option<Begun>) -> Look {
        // Before it is opened, so that no change to it goes unnoticed.
        self.watch.arm();
        self.opened += 1;
        match open(self.opened, &self.path) {
            Ok(mut open) => {
                let resumed = self.resume.take().and_then(|position| open.resume(&position));
                self.open = Some(open);
                if let Some(line) = resumed {
                    self.again = true;
                    return Look::Began(Begun::Resumed { line });
                }
                let again = std::mem::replace(&mut self.again, true);
                let other = if again { Begun::Replaced { torn: 0 } } else { Begun::First };
                Look::Began(begun.unwrap_or(other))
            }
            Err(error) => {
                self.open = None;
                Look::Absent(error)
            }
        }
    }
}

/// What is read at a time, after the end of what was read before.
pub(super) fn buffer() -> Box<[u8]> {
    vec![0; limits::FEED_READ_OCTETS + Tail::MOST].into_boxed_slice()
}

enum Read {
    Octets,
    Nothing,
    /// Not those that were there before.
    Others,
}

impl Open {
    fn new(number: u64, file: File, identity: Identity) -> Open {
        let lines = Lines::new(Place::START, CHANGE_OCTETS_MAX);
        let recheck = Recheck::from_now(&file);
        Open { number, file, identity, lines, read: 0, tail: Tail::default(), recheck, is_final: false }
    }

    /// Goes to a position, if it is in this file; the line that begins there.
    fn resume(&mut self, position: &Position) -> Option<u64> {
        let place = position.find(&self.file, self.identity)?;
        self.go_to(place).ok().map(|()| place.line)
    }

    /// Reads on from a place of this file.
    fn go_to(&mut self, place: Place) -> io::Result<()> {
        self.tail.add(&position::before(&self.file, place.offset)?);
        self.lines = Lines::new(place, CHANGE_OCTETS_MAX);
        self.read = place.offset;
        Ok(())
    }

    /// Reads on, and the end of what was read before once more: in one call, so that no writer comes between.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<Read> {
        let tail = self.tail.octets().len();
        let got = self.file.read_at(buffer, self.read - tail as u64)?;
        let Some((again, new)) = buffer[..got].split_at_checked(tail) else { return Ok(Read::Others) };
        if again != self.tail.octets() {
            return Ok(Read::Others);
        }
        if new.is_empty() {
            return Ok(Read::Nothing);
        }
        self.lines.fill(new);
        self.tail.add(new);
        self.read += new.len() as u64;
        Ok(Read::Octets)
    }
}

fn open(number: u64, path: &Path) -> io::Result<Open> {
    let file = open_file(path)?;
    let identity = identity(&file.metadata()?);
    Ok(Open::new(number, file, identity))
}

fn open_file(path: &Path) -> io::Result<File> {
    // Opening a FIFO would wait for its writer.
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("it is no regular file")),
    }
}

/// Whether it was moved rather than removed: whoever wrote to it may go on until another is in its place.
fn has_a_name(file: &File) -> bool {
    file.metadata().is_ok_and(|file| file.nlink() > 0)
}

fn identity(file: &Metadata) -> Identity {
    Identity { device: file.dev(), inode: file.ino() }
}

#[cfg(test)]
mod tests;
