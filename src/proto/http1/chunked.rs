//! The chunked coding (RFC 9112, 7.1). The decoder takes octets in any pieces and gives the same data and the
//! same verdict for every split; what is not exactly the grammar is refused, since two readings of a size are
//! two messages.

use super::body::{BodyError, BodyStep};
use super::line::is_token_octet;
use super::trailers::may_pass;
use crate::limits::{CHUNK_EXTENSION_OCTETS_MAX, TRAILERS_OCTETS_MAX};

/// Ends a chunked body without trailers.
pub const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// `chunk-size CRLF`, for sending a chunk's data from where it lies.
#[derive(Debug, Clone, Copy)]
pub struct ChunkHeader {
    octets: [u8; 18],
    start: usize,
}

impl ChunkHeader {
    /// The header of a chunk of `len` octets, at least one: none would end the body.
    #[must_use]
    pub fn new(len: usize) -> Self {
        debug_assert!(len > 0, "an empty chunk ends the body");
        let mut octets = *b"0000000000000000\r\n";
        let (mut rest, mut start) = (len, 16);
        for digit in octets[..16].iter_mut().rev() {
            *digit = b"0123456789abcdef"[rest & 15];
            rest >>= 4;
            start -= 1;
            if rest == 0 {
                break;
            }
        }
        Self { octets, start }
    }

    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        &self.octets[self.start..]
    }
}

/// Appends `data` as one chunk; nothing for no data.
pub fn write_chunk(out: &mut Vec<u8>, data: &[u8]) {
    if data.is_empty() {
        return;
    }
    out.extend_from_slice(ChunkHeader::new(data.len()).as_slice());
    out.extend_from_slice(data);
    out.extend_from_slice(b"\r\n");
}

/// What the next octet belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Size,
    /// White space behind the size, which only an extension may follow.
    BeforeExtension,
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    TrailerStart,
    Trailer,
    TrailerLf,
    LastLf,
    End,
}

#[derive(Debug)]
pub(super) struct ChunkedDecoder {
    state: State,
    /// Of `Size`: the value so far; of `Data`: octets to come.
    size: u64,
    digits: u8,
    /// Octets behind the size on this line.
    extension: usize,
    /// Octets of the trailer section so far.
    trailers_seen: usize,
    /// Kept trailer lines, CRLF included, then the line that is being read.
    trailers: Vec<u8>,
    /// Where the line that is being read begins in `trailers`.
    line: usize,
}

impl ChunkedDecoder {
    pub(super) fn new() -> Self {
        Self {
            state: State::Size,
            size: 0,
            digits: 0,
            extension: 0,
            trailers_seen: 0,
            trailers: Vec::new(),
            line: 0,
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.state == State::End
    }

    /// Octets of the chunk to come; of a size that is being read, at least as many.
    pub(super) fn announced(&self) -> u64 {
        self.size
    }

    /// Trailer lines, each ended by CRLF, once the body is done: those that frame, route or concern the
    /// gateway are left out.
    pub(super) fn trailers(&self) -> &[u8] {
        &self.trailers
    }

    pub(super) fn next(&mut self, octets: &[u8]) -> Result<BodyStep, BodyError> {
        let mut at = 0;
        while self.state != State::End {
            let Some(&octet) = octets.get(at) else { return Ok(BodyStep::NeedMore) };
            if self.state == State::Data {
                return Ok(self.data(at, octets.len()));
            }
            self.state = self.step(octet)?;
            at += 1;
        }
        Ok(BodyStep::End { used: at })
    }

    /// Data from `at` to the end of the chunk or of the octets.
    fn data(&mut self, at: usize, end: usize) -> BodyStep {
        let here = usize::try_from(self.size).unwrap_or(usize::MAX).min(end - at);
        self.size -= here as u64;
        if self.size == 0 {
            self.state = State::DataCr;
        }
        BodyStep::Data(at..at + here)
    }

    /// The state behind one octet that is not data.
    fn step(&mut self, octet: u8) -> Result<State, BodyError> {
        match (self.state, octet) {
            (State::Size, _) => self.size(octet),
            (State::BeforeExtension, b' ' | b'\t') => self.extend(State::BeforeExtension),
            (State::BeforeExtension | State::Extension, b';') => self.extend(State::Extension),
            (State::Extension, b'\r') => Ok(State::SizeLf),
            (State::Extension, b'\t' | b' '..=0x7e | 0x80..) => self.extend(State::Extension),
            (State::SizeLf, b'\n') => Ok(self.size_line_ended()),
            (State::DataCr, b'\r') => Ok(State::DataLf),
            (State::DataLf, b'\n') => Ok(State::Size),
            (State::TrailerStart, b'\r') => self.trailer_octet(octet, State::LastLf),
            (State::TrailerStart | State::Trailer, b'\t' | b' '..=0x7e | 0x80..) => {
                self.trailer_octet(octet, State::Trailer)
            }
            (State::Trailer, b'\r') => self.trailer_octet(octet, State::TrailerLf),
            (State::TrailerLf, b'\n') => self.trailer_octet(octet, State::TrailerStart).and_then(|next| {
                self.trailer_line_ended()?;
                Ok(next)
            }),
            (State::LastLf, b'\n') => {
                self.trailers.truncate(self.line);
                Ok(State::End)
            }
            (State::BeforeExtension | State::Extension | State::SizeLf, _) => Err(BodyError::ChunkSize),
            (State::DataCr | State::DataLf, _) => Err(BodyError::ChunkEnd),
            (State::TrailerStart | State::Trailer | State::TrailerLf | State::LastLf, _) => {
                Err(BodyError::Trailer)
            }
            (State::Data | State::End, _) => Ok(self.state),
        }
    }

    fn size(&mut self, octet: u8) -> Result<State, BodyError> {
        let digit = match octet {
            b'0'..=b'9' => octet - b'0',
            b'a'..=b'f' => octet - b'a' + 10,
            b'A'..=b'F' => octet - b'A' + 10,
            _ if self.digits == 0 => return Err(BodyError::ChunkSize),
            b'\r' => return Ok(State::SizeLf),
            b';' => return self.extend(State::Extension),
            b' ' | b'\t' => return self.extend(State::BeforeExtension),
            _ => return Err(BodyError::ChunkSize),
        };
        if self.digits == 16 {
            return Err(BodyError::ChunkSize);
        }
        self.digits += 1;
        self.size = self.size << 4 | u64::from(digit);
        Ok(State::Size)
    }

    /// Counts one octet behind the size.
    fn extend(&mut self, next: State) -> Result<State, BodyError> {
        self.extension += 1;
        if self.extension > CHUNK_EXTENSION_OCTETS_MAX { Err(BodyError::ChunkExtension) } else { Ok(next) }
    }

    fn size_line_ended(&mut self) -> State {
        (self.digits, self.extension) = (0, 0);
        if self.size == 0 { State::TrailerStart } else { State::Data }
    }

    fn trailer_octet(&mut self, octet: u8, next: State) -> Result<State, BodyError> {
        self.trailers_seen += 1;
        if self.trailers_seen >= TRAILERS_OCTETS_MAX {
            return Err(BodyError::TrailersTooLarge);
        }
        self.trailers.push(octet);
        Ok(next)
    }

    /// Checks the line just read (RFC 9112, 5) and keeps it if it may be passed on (RFC 9110, 6.5.1; R-055).
    fn trailer_line_ended(&mut self) -> Result<(), BodyError> {
        let line = &self.trailers[self.line..];
        let colon = line.iter().position(|&octet| octet == b':').ok_or(BodyError::Trailer)?;
        let name = &line[..colon];
        if name.is_empty() || !name.iter().all(|&octet| is_token_octet(octet)) {
            return Err(BodyError::Trailer);
        }
        if !may_pass(name) {
            self.trailers.truncate(self.line);
        }
        self.line = self.trailers.len();
        Ok(())
    }
}
