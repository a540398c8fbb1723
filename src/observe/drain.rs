//! From the rings to a writer, without tearing a line.

use rtrb::Consumer;
use std::io::{self, ErrorKind, IoSlice, Write};

/// A log's other end, for its thread: whole lines, back to back.
pub struct LogSource(pub(super) Consumer<u8>);

impl LogSource {
    /// Takes out what is there.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        let Ok(chunk) = self.0.read_chunk(self.0.slots()) else { return Vec::new() };
        let (first, second) = chunk.as_slices();
        let octets = [first, second].concat();
        chunk.commit_all();
        octets
    }
}

/// The readers' ends of all rings, and where the last turn stopped.
pub(super) struct Drain {
    sources: Vec<LogSource>,
    /// A source whose lines are partly written: it is to be finished before any other is touched.
    torn: Option<Torn>,
    /// The last octet written was no line's end.
    in_line: bool,
}

#[derive(Clone, Copy)]
struct Torn {
    source: usize,
    octets: usize,
}

/// What a turn did.
#[derive(Debug)]
pub(super) struct Turn {
    pub(super) octets: usize,
    /// It stopped early since there is no room now: whoever started us may have left a pipe non-blocking; its reader is only
    /// slow.
    pub(super) is_full: bool,
    /// Why it stopped early otherwise.
    pub(super) error: Option<io::Error>,
}

impl Turn {
    fn stopped(&self) -> bool {
        self.is_full || self.error.is_some()
    }
}

impl Drain {
    pub(super) fn new(sources: Vec<LogSource>) -> Self {
        Self { sources, torn: None, in_line: false }
    }

    /// Whether the next octet to be written begins a line.
    pub(super) fn at_line_start(&self) -> bool {
        !self.in_line
    }

    /// Drops what is left of a line that was begun, so that the next octet to be written begins one. Whether there was one.
    pub(super) fn give_up_line(&mut self) -> bool {
        let Some(torn) = self.torn.take() else { return false };
        if let Ok(chunk) = self.sources[torn.source].0.read_chunk(torn.octets)
            && self.in_line
        {
            let (first, second) = chunk.as_slices();
            let rest =
                first.iter().chain(second).position(|&octet| octet == b'\n').map_or(torn.octets, |at| at + 1);
            chunk.commit(rest);
        }
        std::mem::take(&mut self.in_line)
    }

    /// Whether the rings hold nothing now.
    pub(super) fn is_empty(&self) -> bool {
        self.sources.iter().all(|source| source.0.is_empty())
    }

    /// Whole and begun lines that the rings hold now.
    pub(super) fn lines(&mut self) -> usize {
        let ends_in = |source: &mut LogSource| {
            let slots = source.0.slots();
            source.0.read_chunk(slots).map_or(0, |chunk| {
                let (first, second) = chunk.as_slices();
                first.iter().chain(second).filter(|&&octet| octet == b'\n').count()
            })
        };
        self.sources.iter_mut().map(ends_in).sum()
    }

    /// Writes what each ring holds now, one after another; what comes in meanwhile waits for the next turn, so that
    /// a busy core cannot hold up the others. After an error the next turn goes on where this one stopped.
    pub(super) fn turn(&mut self, out: &mut impl Write) -> Turn {
        let mut turn = Turn { octets: 0, is_full: false, error: None };
        if let Some(torn) = self.torn {
            self.write(torn, out, &mut turn);
        }
        for source in 0..self.sources.len() {
            if turn.stopped() {
                break;
            }
            // Producers publish whole lines, so what is there ends with one.
            let octets = self.sources[source].0.slots();
            self.write(Torn { source, octets }, out, &mut turn);
        }
        turn
    }

    /// Writes so many octets of a source. On an error the rest is remembered, if something of it was written.
    fn write(&mut self, Torn { source, octets }: Torn, out: &mut impl Write, turn: &mut Turn) {
        let mut left = octets;
        while left > 0 {
            let Ok(chunk) = self.sources[source].0.read_chunk(left) else { break };
            let (first, second) = chunk.as_slices();
            match out.write_vectored(&[IoSlice::new(first), IoSlice::new(second)]) {
                Ok(0) => turn.error = Some(ErrorKind::WriteZero.into()),
                Ok(written) => {
                    let written = written.min(left);
                    let last = first.get(written - 1).or_else(|| second.get(written - 1 - first.len()));
                    self.in_line = last != Some(&b'\n');
                    chunk.commit(written);
                    left -= written;
                    turn.octets += written;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => turn.is_full = true,
                Err(error) => turn.error = Some(error),
            }
            if turn.stopped() {
                let begun = left < octets || self.torn.is_some();
                self.torn = begun.then_some(Torn { source, octets: left });
                return;
            }
        }
        self.torn = None;
    }
}
