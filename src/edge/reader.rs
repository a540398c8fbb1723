//! Octets that have come on a stream and are not yet used.

use std::ops::Range;
use std::task::{Context, Poll, ready};

use crate::runtime::{Chunk, Fault, Stream};

/// What lies between a stream and its parser. Usually one received buffer, looked at where the kernel put it;
/// a message that came in pieces is gathered. Whoever calls [`poll_more`](Self::poll_more) bounds how much.
#[derive(Default)]
pub(super) struct Reader(AtHand);

#[derive(Default)]
enum AtHand {
    #[default]
    Nothing,
    Received(Chunk),
    Gathered {
        octets: Vec<u8>,
        from: usize,
    },
}

impl Reader {
    /// The octets at hand, oldest first.
    pub(super) fn octets(&self) -> &[u8] {
        match &self.0 {
            AtHand::Nothing => &[],
            AtHand::Received(chunk) => chunk,
            AtHand::Gathered { octets, from } => octets.get(*from..).unwrap_or_default(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.octets().is_empty()
    }

    /// The first `count` octets are used.
    pub(super) fn consume(&mut self, count: usize) {
        match &mut self.0 {
            AtHand::Nothing => {}
            AtHand::Received(chunk) => chunk.advance(count),
            AtHand::Gathered { from, .. } => *from += count,
        }
        if self.is_empty() {
            self.0 = AtHand::Nothing;
        }
    }

    /// Receives once and appends; false when the peer has sent FIN.
    ///
    /// # Errors
    /// The stream broke or its deadline passed.
    pub(super) async fn more(&mut self, stream: &Stream) -> Result<bool, Fault> {
        std::future::poll_fn(|cx| self.poll_more(stream, cx)).await
    }

    /// [`more`](Self::more) for use inside another future.
    pub(super) fn poll_more(&mut self, stream: &Stream, cx: &mut Context<'_>) -> Poll<Result<bool, Fault>> {
        let Some(chunk) = ready!(stream.poll_recv(cx))? else { return Poll::Ready(Ok(false)) };
        self.append(chunk);
        Poll::Ready(Ok(true))
    }

    fn append(&mut self, chunk: Chunk) {
        self.0 = match std::mem::take(&mut self.0) {
            AtHand::Nothing => AtHand::Received(chunk),
            AtHand::Received(first) => {
                let octets = [&first[..], &chunk[..]].concat();
                AtHand::Gathered { octets, from: 0 }
            }
            AtHand::Gathered { mut octets, from } => {
                octets.drain(..from);
                octets.extend_from_slice(&chunk);
                AtHand::Gathered { octets, from: 0 }
            }
        };
    }

    /// The received buffer itself, if `range` is all that is at hand: then it can be sent without copying.
    pub(super) fn take_whole(&mut self, range: &Range<usize>) -> Option<Chunk> {
        if *range != (0..self.octets().len()) {
            return None;
        }
        match std::mem::take(&mut self.0) {
            AtHand::Received(chunk) => Some(chunk),
            other => {
                self.0 = other;
                None
            }
        }
    }
}
