//! Reads answers from the octets of a connection, however they are split. Sans-io.

use ringway::proto::http1::{BodyError, BodyReader, BodyStep, HeadError, Method, Parsed, ResponseHead};

/// A whole answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// 100 to 599.
    pub status: u16,
    /// Whether the connection may carry another request.
    pub keep_alive: bool,
}

/// Why what came is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    #[error(transparent)]
    Head(#[from] HeadError),
    #[error(transparent)]
    Body(#[from] BodyError),
    #[error("octets follow the answer that nobody asked for")]
    Surplus,
    #[error("the connection ended before the answer's head did")]
    NoHead,
}

/// Reads one answer after the other.
pub struct AnswerReader {
    head: ResponseHead,
    /// The octets of a head that has not ended yet.
    carry: Vec<u8>,
    /// Once the head has ended.
    body: Option<BodyReader>,
    begun: bool,
    /// Of the request.
    method: Method,
    /// The first octets of the body, at most so many.
    kept: Vec<u8>,
    keep: usize,
}

impl Default for AnswerReader {
    fn default() -> Self {
        Self::new()
    }
}

impl AnswerReader {
    #[must_use]
    pub fn new() -> Self {
        Self {
            head: ResponseHead::new(),
            carry: Vec::new(),
            body: None,
            begun: false,
            method: Method::Get,
            kept: Vec::new(),
            keep: 0,
        }
    }

    /// The method of the request whose answer comes next; the answer to a HEAD has no body. GET unless told otherwise.
    pub fn expect(&mut self, method: Method) {
        self.method = method;
    }

    /// Keeps the first `octets` octets of each answer's body from now on.
    pub fn keep(&mut self, octets: usize) {
        self.keep = octets;
    }

    /// What was kept of the last answer, until the next begins.
    #[must_use]
    pub fn kept(&self) -> &[u8] {
        &self.kept
    }

    /// Whether any octet of the current answer has come.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.begun
    }

    /// Takes the next octets of the connection; the answer once they complete it.
    ///
    /// # Errors
    /// They are no HTTP/1.1, or more than one answer (RFC 9112); begin anew on another connection.
    pub fn feed(&mut self, octets: &[u8]) -> Result<Option<Answer>, AnswerError> {
        if !self.begun {
            self.kept.clear();
        }
        self.begun = true;
        let result = self.read(octets);
        if !matches!(result, Ok(None)) {
            self.reset();
        }
        result
    }

    /// The connection has ended.
    ///
    /// # Errors
    /// The answer had not, and this is not how it ends.
    pub fn close(&mut self) -> Result<Answer, AnswerError> {
        let result = match &self.body {
            Some(body) => body.close().map(|()| self.answer()).map_err(AnswerError::from),
            None => Err(AnswerError::NoHead),
        };
        self.reset();
        result
    }

    /// Forgets the current answer, as when its connection failed.
    pub fn reset(&mut self) {
        self.body = None;
        self.begun = false;
        self.carry.clear();
        self.head.restart();
    }

    fn read(&mut self, octets: &[u8]) -> Result<Option<Answer>, AnswerError> {
        let mut rest = octets;
        while self.body.is_none() {
            let carried = self.carry.len();
            let parsed = match carried {
                0 => self.head.parse(rest, self.method)?,
                _ => {
                    self.carry.extend_from_slice(rest);
                    self.head.parse(&self.carry, self.method)?
                }
            };
            let Parsed::Complete { len } = parsed else {
                if carried == 0 {
                    self.carry.extend_from_slice(rest);
                }
                return Ok(None);
            };
            rest = rest.get(len.saturating_sub(carried)..).unwrap_or_default();
            self.carry.clear();
            if !self.head.is_interim() {
                self.body = Some(BodyReader::new(self.head.framing()));
            }
        }
        self.read_body(rest)
    }

    fn read_body(&mut self, mut rest: &[u8]) -> Result<Option<Answer>, AnswerError> {
        let Some(body) = &mut self.body else { return Ok(None) };
        loop {
            match body.next(rest)? {
                BodyStep::Data(data) => {
                    let room = self.keep.saturating_sub(self.kept.len());
                    let end = data.end.min(data.start.saturating_add(room));
                    self.kept.extend_from_slice(rest.get(data.start..end).unwrap_or_default());
                    rest = rest.get(data.end..).unwrap_or_default();
                }
                BodyStep::NeedMore => return Ok(None),
                BodyStep::End { used } if used == rest.len() => return Ok(Some(self.answer())),
                BodyStep::End { .. } => return Err(AnswerError::Surplus),
            }
        }
    }

    fn answer(&self) -> Answer {
        // Nothing of HTTP follows a 101 (RFC 9110, 15.2.2), which we never asked for.
        let keep_alive = self.head.keep_alive() && self.head.status() != 101;
        Answer { status: self.head.status(), keep_alive }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a failed unwrap is a failed test
    use super::*;
    use proptest::prelude::*;

    const LENGTH: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nServer: a\r\n\r\nhello";
    const CHUNKED: &[u8] =
        b"HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0\r\nX: y\r\n\r\n";
    const INTERIM: &[u8] =
        b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n";

    /// Feeds the pieces; the answer must come with the last one.
    fn fed<'a>(pieces: impl Iterator<Item = &'a [u8]>, reader: &mut AnswerReader) -> Answer {
        let answers: Vec<_> = pieces.map(|piece| reader.feed(piece).unwrap()).collect();
        assert_eq!(answers.iter().flatten().count(), 1, "{answers:?}");
        answers.last().unwrap().unwrap()
    }

    proptest! {
        #[test]
        fn every_split_gives_the_same_answers(
            size in 1usize..120,
            order in prop::collection::vec(0usize..3, 1..6),
        ) {
            let mut reader = AnswerReader::new();
            reader.keep(7);
            for which in order {
                let octets = [LENGTH, CHUNKED, INTERIM][which];
                let answer = fed(octets.chunks(size), &mut reader);
                prop_assert_eq!(answer.status, [200, 404, 204][which]);
                prop_assert_eq!(answer.keep_alive, which != 2);
                prop_assert!(!reader.has_begun());
                prop_assert_eq!(reader.kept(), [&b"hello"[..], b"abc", b""][which]);
            }
        }

        #[test]
        fn no_octets_panic(octets: Vec<u8>, size in 1usize..40, cut in 0usize..60) {
            let mut reader = AnswerReader::new();
            let _ = reader.feed(LENGTH.get(..cut).unwrap_or(LENGTH));
            for piece in octets.chunks(size) {
                let _ = reader.feed(piece);
            }
            let _ = reader.close();
        }
    }

    #[test]
    fn a_body_may_end_with_the_connection() {
        let mut reader = AnswerReader::new();
        assert_eq!(reader.feed(b"HTTP/1.1 200 OK\r\n\r\nas long as it takes"), Ok(None));
        assert_eq!(reader.close(), Ok(Answer { status: 200, keep_alive: false }));
    }

    #[test]
    fn the_answer_to_a_head_has_no_body() {
        let mut reader = AnswerReader::new();
        reader.expect(Method::Head);
        let head = &LENGTH[..LENGTH.len() - 5];
        assert_eq!(reader.feed(head), Ok(Some(Answer { status: 200, keep_alive: true })));
        assert_eq!(reader.feed(LENGTH), Err(AnswerError::Surplus));
        reader.expect(Method::Get);
        assert_eq!(reader.feed(head), Ok(None));
    }

    #[test]
    fn what_is_short_or_too_long_is_told() {
        let mut reader = AnswerReader::new();
        assert_eq!(reader.close(), Err(AnswerError::NoHead));
        assert_eq!(reader.feed(&LENGTH[..LENGTH.len() - 1]), Ok(None));
        assert!(reader.has_begun());
        assert_eq!(reader.close(), Err(AnswerError::Body(BodyError::Truncated)));
        assert_eq!(reader.feed(&LENGTH[..20]), Ok(None));
        assert_eq!(reader.close(), Err(AnswerError::NoHead));
        assert_eq!(reader.feed(&[LENGTH, b"H"].concat()), Err(AnswerError::Surplus));
        assert!(matches!(reader.feed(b"SSH-2.0-OpenSSH\r\n\r\n"), Err(AnswerError::Head(_))));
        assert_eq!(reader.feed(LENGTH).unwrap().unwrap().status, 200, "an error leaves nothing behind");
    }
}
