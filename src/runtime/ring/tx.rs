//! What a connection has queued for sending, and keeps alive until the kernel has taken it.

#![allow(clippy::cast_possible_truncation)] // a lent piece is shorter than its buffer, which fits 16 bits
#![allow(unsafe_code)] // lends the kernel pointers into pieces that this queue owns

use std::collections::VecDeque;
use std::net::SocketAddr;

use super::kernel::Op;
use crate::limits;

/// Octets to send: our own, or a provided buffer that is passed on without copying.
#[derive(Debug)]
pub(crate) enum Piece {
    Owned { octets: Vec<u8>, from: usize },
    Lent { buffer: u16, at: *const u8, from: u16, to: u16 },
}

impl Piece {
    fn start_and_length(&self) -> (*const u8, usize) {
        match self {
            Piece::Owned { octets, from } => (octets[*from..].as_ptr(), octets.len() - from),
            Piece::Lent { at, from, to, .. } => {
                // SAFETY: `from <= to`, both within the buffer at `at`.
                let start = unsafe { at.add(usize::from(*from)) };
                (start, usize::from(to - from))
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.start_and_length().1
    }

    /// Memory that is kept for it: all of a lent buffer, however little of it is to be sent.
    fn held_octets(&self) -> usize {
        match self {
            Piece::Owned { octets, from } => octets.capacity() - from,
            Piece::Lent { .. } => limits::RECV_BUFFER_OCTETS,
        }
    }

    fn advance(&mut self, octets: usize) {
        match self {
            Piece::Owned { from, .. } => *from += octets,
            Piece::Lent { from, .. } => *from += octets as u16,
        }
    }
}

/// One connection's send queue. Boxed and pooled by the driver: an idle connection has none.
///
/// At most one send is in flight, since two on one stream may overtake one another. It covers the first
/// `in_flight` pieces; these do not move, grow or go until its completion, which is what the kernel relies on.
pub(crate) struct Tx {
    pieces: VecDeque<Piece>,
    in_flight: usize,
    held_octets: usize,
    iovecs: [libc::iovec; limits::SEND_PIECES_MAX],
    message: libc::msghdr,
    /// The peer's address while a connect is in flight.
    address: socket2::SockAddr,
}

impl Tx {
    pub(crate) fn new() -> Box<Tx> {
        // SAFETY: both are plain C structs for which zero is the documented empty value.
        let (iovecs, message) = unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
        let nowhere = SocketAddr::from(([0, 0, 0, 0], 0)).into();
        Box::new(Tx {
            pieces: VecDeque::new(),
            in_flight: 0,
            held_octets: 0,
            iovecs,
            message,
            address: nowhere,
        })
    }

    /// Memory that the queue holds.
    pub(crate) fn held_octets(&self) -> usize {
        self.held_octets
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Appends a piece, which is not empty.
    pub(crate) fn push(&mut self, piece: Piece) {
        self.held_octets += piece.held_octets();
        self.pieces.push_back(piece);
    }

    /// The operation that connects `fd` to `peer`; the address lives here until it completes.
    pub(crate) fn connect(&mut self, fd: i32, peer: socket2::SockAddr) -> Op {
        self.address = peer;
        Op::Connect { fd, address: self.address.as_ptr().cast(), length: self.address.len() }
    }

    /// True if one message takes the whole queue.
    pub(crate) fn fits_one_message(&self) -> bool {
        self.pieces.len() <= limits::SEND_PIECES_MAX
    }

    /// Octets that the kernel holds.
    pub(crate) fn octets_in_flight(&self) -> usize {
        self.pieces.iter().take(self.in_flight).map(Piece::len).sum()
    }

    /// The operation that sends as many pieces as one message takes. The queue is not empty, nothing is in flight.
    pub(crate) fn next_send(&mut self, fd: i32, silent: bool) -> Op {
        assert!(self.in_flight == 0 && !self.pieces.is_empty());
        if self.pieces.len() == 1 {
            self.in_flight = 1;
            let (at, length) = self.pieces[0].start_and_length();
            return Op::Send { fd, at, octets: u32::try_from(length).unwrap_or(u32::MAX), silent };
        }
        self.in_flight = self.pieces.len().min(limits::SEND_PIECES_MAX);
        for (iovec, piece) in self.iovecs.iter_mut().zip(&self.pieces) {
            let (at, length) = piece.start_and_length();
            *iovec = libc::iovec { iov_base: at.cast_mut().cast(), iov_len: length };
        }
        self.message.msg_iov = self.iovecs.as_mut_ptr();
        self.message.msg_iovlen = self.in_flight as _;
        Op::SendMsg { fd, message: &raw const self.message, silent }
    }

    /// The kernel took `octets` octets of what was in flight; pieces sent whole go to `done`.
    pub(crate) fn sent(&mut self, mut octets: usize, mut done: impl FnMut(Piece)) {
        let mut in_flight = std::mem::take(&mut self.in_flight);
        while octets > 0 {
            assert!(in_flight > 0, "the kernel sent more than it was given");
            let first = &mut self.pieces[0];
            let (length, held) = (first.len(), first.held_octets());
            if octets < length {
                first.advance(octets);
                self.held_octets -= held - first.held_octets();
                return;
            }
            octets -= length;
            in_flight -= 1;
            self.held_octets -= held;
            self.pieces.pop_front().into_iter().for_each(&mut done);
        }
    }

    /// Drops what the kernel does not hold (all of it, once nothing is in flight).
    pub(crate) fn discard(&mut self, mut done: impl FnMut(Piece)) {
        while self.pieces.len() > self.in_flight {
            if let Some(piece) = self.pieces.pop_back() {
                self.held_octets -= piece.held_octets();
                done(piece);
            }
        }
    }

    /// The send in flight failed: the kernel holds nothing any more.
    pub(crate) fn failed(&mut self, done: impl FnMut(Piece)) {
        self.in_flight = 0;
        self.discard(done);
    }
}
