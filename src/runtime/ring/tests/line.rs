//! The plain model of one stream's sending direction: what its owner sent, against what the peer took.

use std::collections::VecDeque;

use super::super::fake::{Socket, pattern_matches};

/// Octets `at..at + octets` of pattern `salt`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) salt: usize,
    pub(super) at: u64,
    pub(super) octets: u64,
}

#[derive(Debug, Default)]
pub(super) struct Line {
    /// Sent by the owner and not yet found at the peer.
    ahead: VecDeque<Span>,
    pub(super) sent: u64,
    /// How many octets had been sent when the owner asked for FIN.
    pub(super) fin_asked: Option<u64>,
    /// The owner let go, asking for a reset.
    pub(super) reset_asked: bool,
    /// Sends were refused by the driver since the stream had broken.
    pub(super) refused: bool,
}

impl Line {
    pub(super) fn send(&mut self, span: Span) {
        self.sent += span.octets;
        self.ahead.push_back(span);
    }

    /// Compares what the peer took since the last call, and how the stream ended.
    pub(super) fn check(&mut self, socket: &mut Socket, name: usize) {
        let taken = std::mem::take(&mut socket.taken);
        let mut rest = taken.as_slice();
        while !rest.is_empty() {
            let Some(span) = self.ahead.front_mut() else { panic!("stream {name}: octets that nobody sent") };
            let part = span.octets.min(rest.len() as u64);
            let (head, tail) = rest.split_at(part as usize);
            assert!(pattern_matches(span.salt, span.at, head), "stream {name}: wrong octets for {span:?}");
            span.at += part;
            span.octets -= part;
            rest = tail;
            if span.octets == 0 {
                self.ahead.pop_front();
            }
        }
        if let Some(at) = socket.fin_at {
            assert_eq!(
                Some(at),
                self.fin_asked,
                "stream {name}: FIN that was not asked for, or in the wrong place"
            );
        }
        if socket.closed && !socket.is_reset && !socket.reset_on_close {
            assert!(!self.reset_asked, "stream {name}: closed without the reset asked for");
            assert!(
                !self.refused && socket.taken_total == self.sent,
                "stream {name}: what was cut looks whole"
            );
        }
    }
}
