//! A kernel that keeps to the letter of io_uring's promises and to nothing more.
//!
//! It completes in any order, late, short and failing, ends multishots when it likes, runs out of buffers, loses
//! cancels. Like the real one it touches memory through the pointers that it was given, and only when an operation
//! completes: what is freed too early shows under AddressSanitizer, what is reused too early as wrong octets.
//! It panics at whatever a kernel would answer with corruption.

#![allow(unsafe_code)] // stands for the kernel: writes and reads through the driver's pointers
#![allow(clippy::unwrap_used)] // a broken fake must stop the test

mod mood;
mod perform;
mod socket;

use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::fd::{OwnedFd, RawFd};

use fastrand::Rng;

pub(super) use mood::Mood;
pub(super) use socket::{Socket, pattern_at, pattern_matches};

use super::kernel::{Completion, Entries, Kernel, Kind, Op, Token, Wait};
use crate::limits;

/// More than this many uncollected completions count as an overflowing queue.
const QUEUE: usize = 48;
/// What a buffer holds when it is provided again: whoever reads it then has been caught.
const POISON: u8 = 0xa5;

pub(super) struct Fake {
    pub(super) rng: Rng,
    pub(super) mood: Mood,
    /// All sockets that ever were.
    pub(super) sockets: Vec<Socket>,
    /// Open descriptors, and which socket each is.
    open: HashMap<RawFd, usize>,
    /// Pushed since the last enter.
    queued: Vec<Flight>,
    flying: Vec<Flight>,
    /// The last enter left nothing queued.
    all_taken: bool,
    arrived: VecDeque<Arrived>,
    /// How many of them the driver may collect before it enters again.
    collectable: usize,
    provided: VecDeque<Provided>,
    provided_before: Vec<bool>,
    entries: Entries,
    /// Times that the doorbell was rung and not yet read.
    pub(super) bell: u64,
    /// Every accept fails.
    pub(super) out_of_descriptors: bool,
    /// Operations taken so far.
    pub(super) operations: u64,
}

/// An operation that has not completed for good.
#[derive(Clone, Copy, Debug)]
struct Flight {
    number: u64,
    op: Op,
    token: Token,
}

struct Provided {
    buffer: u16,
    at: *mut u8,
    octets: u32,
}

/// A completion that waits to be collected, and what it delivers: octets to a socket's owner.
struct Arrived {
    completion: Completion,
    delivers: Option<(usize, u64)>,
}

impl Fake {
    pub(super) fn new(seed: u64, mood: Mood) -> Fake {
        Fake {
            rng: Rng::with_seed(seed),
            mood,
            sockets: Vec::new(),
            open: HashMap::new(),
            queued: Vec::new(),
            flying: Vec::new(),
            all_taken: true,
            arrived: VecDeque::new(),
            collectable: 0,
            provided: VecDeque::new(),
            provided_before: vec![false; usize::from(limits::RECV_BUFFERS)],
            entries: Entries::default(),
            bell: 0,
            out_of_descriptors: false,
            operations: 0,
        }
    }

    /// A new socket, as if just accepted or made. Its descriptor is a real one, so that numbers come back as they
    /// do in life and an `OwnedFd` of it is sound.
    pub(super) fn new_socket(&mut self) -> (OwnedFd, usize) {
        let (descriptor, socket) = Socket::new().unwrap();
        let index = self.sockets.len();
        // A number that is in use was closed behind our back: the driver dropped a stream nobody had adopted.
        self.open.insert(socket.fd, index);
        self.sockets.push(socket);
        (descriptor, index)
    }

    /// The socket behind an open descriptor.
    pub(super) fn socket_of(&self, fd: RawFd) -> usize {
        *self.open.get(&fd).unwrap_or_else(|| panic!("descriptor {fd} is not open"))
    }

    /// Takes a provided buffer away, as if a connection that nobody looks at had received into it.
    pub(super) fn use_up_buffer(&mut self) -> Option<u16> {
        self.provided.pop_front().map(|provided| provided.buffer)
    }

    /// True if the driver has yet to hear of a ring of the bell.
    pub(super) fn is_bell_under_way(&self) -> bool {
        let tells = |arrived: &Arrived| {
            Token::from_bits(arrived.completion.token).is_some_and(|token| token.kind == Kind::Doorbell)
        };
        self.bell > 0 || self.arrived.iter().any(tells)
    }

    /// Sockets whose descriptors are still open.
    pub(super) fn left_open(&self) -> usize {
        self.open.values().filter(|index| self.sockets[**index].is_open()).count()
    }

    /// Operations that have not completed for good, the doorbell's apart.
    pub(super) fn left_flying(&self) -> Vec<String> {
        let all = self.queued.iter().chain(&self.flying);
        all.filter(|flight| flight.token.kind != Kind::Doorbell).map(|flight| format!("{flight:?}")).collect()
    }

    /// True if nothing has arrived that the driver has not collected.
    pub(super) fn is_collected(&self) -> bool {
        self.arrived.is_empty()
    }

    fn chance(&mut self, percent: u8) -> bool {
        percent > 0 && self.rng.u8(0..100) < percent
    }

    fn arrive(&mut self, completion: Completion, delivers: Option<(usize, u64)>) {
        self.arrived.push_back(Arrived { completion, delivers });
    }

    /// Takes what was pushed, or when late only the first of it, and does at once what cannot wait.
    fn take_queued(&mut self) {
        let late = self.chance(self.mood.late);
        let count = if late { self.rng.usize(..=self.queued.len()) } else { self.queued.len() };
        for flight in self.queued.drain(..count).collect::<Vec<_>>() {
            match flight.op {
                Op::Send { silent: true, .. } | Op::SendMsg { silent: true, .. } => {
                    self.send_silently(flight)
                }
                _ => self.flying.push(flight),
            }
        }
        self.all_taken = self.queued.is_empty();
    }

    /// What the kernel relies on when it is asked for something.
    fn check_request(&self, op: Op, token: Token) {
        let mut others = self.queued.iter().chain(&self.flying);
        assert!(others.all(|flight| flight.token != token), "{token:?} is in flight already");
        let (Op::Accept { fd, .. }
        | Op::Recv { fd, .. }
        | Op::Send { fd, .. }
        | Op::SendMsg { fd, .. }
        | Op::Connect { fd, .. }
        | Op::Shutdown { fd }
        | Op::CancelAll { fd }
        | Op::Close { fd }) = op
        else {
            return;
        };
        self.socket_of(fd);
        let closing = |flight: &Flight| matches!(flight.op, Op::Close { fd: closing } if closing == fd);
        assert!(!self.queued.iter().chain(&self.flying).any(closing), "{op:?} on a descriptor being closed");
    }
}

impl Kernel for Fake {
    fn push(&mut self, op: Op, token: Token) {
        self.check_request(op, token);
        self.operations += 1;
        self.queued.push(Flight { number: self.operations, op, token });
    }

    fn provide(&mut self, buffer: u16, at: *mut u8, octets: u32) {
        assert!(self.provided.iter().all(|p| p.buffer != buffer), "buffer {buffer} is provided already");
        assert!(self.provided.len() < usize::from(limits::RECV_BUFFERS_IN_RING), "the buffer ring is full");
        if std::mem::replace(&mut self.provided_before[usize::from(buffer)], true) {
            // SAFETY: the driver gave us these octets just now.
            unsafe { at.write_bytes(POISON, octets as usize) };
        }
        self.provided.push_back(Provided { buffer, at, octets });
    }

    fn enter(&mut self, _: Wait) -> io::Result<()> {
        self.entries.enters += 1;
        self.take_queued();
        let mut turn: Vec<u64> = self.flying.iter().map(|flight| flight.number).collect();
        self.rng.shuffle(&mut turn);
        if self.mood.prompt {
            let is_cancel = |number: &u64| {
                self.flying.iter().any(|f| f.number == *number && f.token.kind == Kind::Cancel)
            };
            turn.sort_by_key(|number| !is_cancel(number));
        }
        for number in turn {
            if self.chance(self.mood.pace) {
                self.perform(number);
            }
        }
        self.entries.overflows += u64::from(self.arrived.len() > QUEUE);
        let late = self.chance(self.mood.late);
        self.collectable = if late { self.rng.usize(..=self.arrived.len()) } else { self.arrived.len() };
        Ok(())
    }

    fn settled(&mut self) -> bool {
        self.all_taken && self.arrived.is_empty()
    }

    fn completion(&mut self) -> Option<Completion> {
        self.collectable = self.collectable.checked_sub(1)?;
        let arrived = self.arrived.pop_front()?;
        if let Some((socket, octets)) = arrived.delivers {
            self.sockets[socket].collected += octets;
        }
        let result = arrived.completion.result;
        let token = Token::from_bits(arrived.completion.token).unwrap();
        assert!(result >= 0 || !arrived.completion.more, "{token:?}: no operation goes on after an error");
        Some(arrived.completion)
    }

    fn socket(&mut self, _family: socket2::Domain) -> io::Result<OwnedFd> {
        if self.chance(self.mood.trouble) {
            return Err(io::Error::from_raw_os_error(libc::EMFILE));
        }
        Ok(self.new_socket().0)
    }

    fn reset_on_close(&mut self, fd: RawFd) {
        let socket = self.socket_of(fd);
        self.sockets[socket].reset_on_close = true;
    }

    fn entries(&self) -> Entries {
        self.entries
    }
}

impl Drop for Fake {
    /// After a failed case, which is run again many times to make it small; a good one has closed everything.
    fn drop(&mut self) {
        for index in std::mem::take(&mut self.open).into_values() {
            if self.sockets[index].is_open() {
                drop(self.sockets[index].take_descriptor());
            }
        }
    }
}
