//! Walks the octets behind a head until the body that the head framed has ended.

use std::ops::Range;

use super::chunked::ChunkedDecoder;
use super::framing::Framing;

/// What is wrong with a body: the sender's fault, and the end of its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    /// No size of 1 to 16 hexadecimal digits, or a line not ended by CRLF (RFC 9112, 7.1).
    #[error("a chunk does not begin with its size in 1 to 16 hexadecimal digits and CRLF")]
    ChunkSize,
    /// More than `CHUNK_EXTENSION_OCTETS_MAX` behind a size (RFC 9112, 7.1.1).
    #[error("a chunk extension is longer than 256 octets")]
    ChunkExtension,
    /// Data longer than its size, or not followed by CRLF (RFC 9112, 7.1).
    #[error("chunk data is not followed by CRLF")]
    ChunkEnd,
    /// A trailer that is no field line (RFC 9112, 7.1.2).
    #[error("a trailer is not name, colon and value on one line")]
    Trailer,
    /// More than `TRAILERS_OCTETS_MAX`.
    #[error("the trailer section is longer than 8 KiB")]
    TrailersTooLarge,
    /// The connection ended before the body did (RFC 9112, 8).
    #[error("the connection ended before the body did")]
    Truncated,
}

/// What the octets at hand hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BodyStep {
    /// Content, at this place in the octets; go on with those behind it.
    Data(Range<usize>),
    /// All octets are used and the body has not ended.
    NeedMore,
    /// The body ended within the octets: those from `used` on belong to what comes next on the connection.
    End { used: usize },
}

/// Reads one body. It holds no octets, only where it is, so it may be fed from any buffer.
#[derive(Debug)]
pub struct BodyReader {
    left: Left,
}

#[derive(Debug)]
enum Left {
    Octets(u64),
    Chunks(ChunkedDecoder),
    UntilClose,
}

impl BodyReader {
    #[must_use]
    pub fn new(framing: Framing) -> Self {
        let left = match framing {
            Framing::None => Left::Octets(0),
            Framing::Length(octets) => Left::Octets(octets),
            Framing::Chunked => Left::Chunks(ChunkedDecoder::new()),
            Framing::UntilClose => Left::UntilClose,
        };
        Self { left }
    }

    /// Takes the octets that follow those of the last step. Answers `End` again and again once the body has
    /// ended.
    pub fn next(&mut self, octets: &[u8]) -> Result<BodyStep, BodyError> {
        match &mut self.left {
            Left::Octets(0) => Ok(BodyStep::End { used: 0 }),
            Left::Chunks(decoder) => decoder.next(octets),
            Left::Octets(_) | Left::UntilClose if octets.is_empty() => Ok(BodyStep::NeedMore),
            Left::Octets(left) => {
                let here = usize::try_from(*left).unwrap_or(usize::MAX).min(octets.len());
                *left -= here as u64;
                Ok(BodyStep::Data(0..here))
            }
            Left::UntilClose => Ok(BodyStep::Data(0..octets.len())),
        }
    }

    /// Octets of content that must still come before the body can end, as far as the framing has told: of a chunked body,
    /// the rest of its chunk.
    #[must_use]
    pub fn announced(&self) -> u64 {
        match &self.left {
            Left::Octets(left) => *left,
            Left::Chunks(decoder) => decoder.announced(),
            Left::UntilClose => 0,
        }
    }

    /// Whether the body has ended, so that no further octet is part of it.
    #[must_use]
    pub fn is_done(&self) -> bool {
        match &self.left {
            Left::Octets(left) => *left == 0,
            Left::Chunks(decoder) => decoder.is_done(),
            Left::UntilClose => false,
        }
    }

    /// The peer has closed its side: well if the body was done, or ends thereby.
    pub fn close(&self) -> Result<(), BodyError> {
        match &self.left {
            Left::UntilClose => Ok(()),
            _ if self.is_done() => Ok(()),
            _ => Err(BodyError::Truncated),
        }
    }

    /// Trailer lines that may be passed on, each ended by CRLF; once the body has ended.
    #[must_use]
    pub fn trailers(&self) -> &[u8] {
        match &self.left {
            Left::Chunks(decoder) => decoder.trailers(),
            Left::Octets(_) | Left::UntilClose => b"",
        }
    }
}
