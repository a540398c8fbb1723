//! The ring driver's core, sans-io: descriptors in slots, operations out, completions in.
//!
//! The owner's side is here (commands and `poll_*`); what completions do is in [`super::complete`], accepting in
//! [`super::accept`], deadlines in [`super::timers`]. One [`turn`](Driver::turn) submits everything that tasks
//! asked for since the last and applies everything that came back.
//!
//! Invariants, checked by the fake kernel's tests and asserted where they are cheap:
//! - at most one operation of a kind flies per slot, and a slot is freed only when none flies;
//! - what an operation points at lives, unmoved, until its last completion, even if its owner is gone;
//! - every provided buffer has exactly one holder ([`super::buffers`]).

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd, RawFd};
use std::task::{Poll, Waker};

use socket2::SockAddr;

use super::buffers::Buffers;
use super::fetch::fetch_task;
use super::kernel::{Completion, Entries, Kernel, Kind, Op, Token, Wait};
use super::slot::{NEVER, Phase, Slot, flag, remember};
use super::tx::{Piece, Tx};
use super::wheel::Wheel;
use crate::limits;

/// Why a stream cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The deadline passed.
    #[error("timed out")]
    TimedOut,
    /// The kernel reported this errno.
    #[error("{}", io::Error::from_raw_os_error(*.0))]
    Os(i32),
}

/// What was [severed](Driver::sever).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severed {
    /// A stream that somebody holds.
    Owned,
    /// One whose owner has let go, and which was sending what was queued.
    Left,
    /// None: it is gone.
    Nothing,
}

impl Fault {
    /// The stream was [severed](Driver::sever) from here. An errno that no socket has.
    pub const SEVERED: Fault = Fault::Os(libc::EOWNERDEAD);
}

/// Counts of what happened on one ring, monotonic unless called a gauge.
#[derive(Clone, Copy, Debug, Default)]
pub struct RingStats {
    pub enters: u64,
    pub completions: u64,
    pub accepted: u64,
    pub accept_pauses: u64,
    pub recv_starved: u64,
    pub recv_held_back: u64,
    pub sends: u64,
    pub sends_short: u64,
    pub timeouts: u64,
    pub finish_timeouts: u64,
    pub overflows: u64,
    pub stale_completions: u64,
    /// Gauge: descriptors in use.
    pub open: u64,
    /// Gauge: provided buffers in connections' hands.
    pub buffers_out: u64,
}

pub(crate) struct Driver<K> {
    pub(super) kernel: K,
    pub(super) slots: Vec<Slot>,
    free: Vec<u32>,
    pub(super) buffers: Buffers,
    pub(super) wheel: Wheel,
    pub(super) tick: u32,
    /// Completions that were taken and are still to be applied, at most [`limits::COMPLETIONS_AT_ONCE`].
    arrived: Vec<Completion>,
    pub(super) accepted: VecDeque<(u32, OwnedFd)>,
    /// Slots with something new to send.
    dirty: Vec<u32>,
    /// Slots whose send was asked to be silent, and perhaps has spoken since.
    pub(super) silent: Vec<u32>,
    /// Slots that had too much unread when it came.
    pub(super) crowded: Vec<u32>,
    /// Slots whose receive found no buffer.
    starved: Vec<u32>,
    /// Boxed, since the kernel holds pointers into them while they are in a slot.
    #[allow(clippy::vec_box)]
    idle_tx: Vec<Box<Tx>>,
    idle_heads: Vec<Vec<u8>>,
    doorbell: RawFd,
    doorbell_value: Box<u64>,
    pub(super) doorbell_rang: bool,
    pub(super) doorbell_waker: Option<Waker>,
    pub(super) open: usize,
    /// Descriptors that it may hold, about.
    pub(crate) open_max: usize,
    /// What a multishot accept may bring before it can be told to stop: all that waits in the kernel's queue.
    pub(super) accept_burst: usize,
    pub(super) stats: RingStats,
}

/// How a stream ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// What is queued goes out first.
    Finish,
    /// At once, with a reset: the peer must not take what it has for complete.
    Reset,
}

impl<K: Kernel> Driver<K> {
    /// A driver for about `open_max` descriptors, woken by writes to the eventfd `doorbell`.
    pub(crate) fn new(kernel: K, doorbell: RawFd, open_max: usize) -> Self {
        let mut driver = Driver {
            kernel,
            slots: Vec::new(),
            free: Vec::new(),
            buffers: Buffers::new(),
            wheel: Wheel::new(),
            tick: 0,
            arrived: Vec::new(),
            accepted: VecDeque::new(),
            dirty: Vec::new(),
            silent: Vec::new(),
            crowded: Vec::new(),
            starved: Vec::new(),
            idle_tx: Vec::new(),
            idle_heads: Vec::new(),
            doorbell,
            doorbell_value: Box::new(0),
            doorbell_rang: false,
            doorbell_waker: None,
            open: 0,
            open_max,
            accept_burst: limits::LISTEN_BACKLOG as usize,
            stats: RingStats::default(),
        };
        driver.listen_for_doorbell();
        driver
    }

    /// Changes for how many descriptors it is; those that are open already stay.
    pub(crate) fn set_open_max(&mut self, open_max: usize) {
        self.open_max = open_max;
    }

    /// Submits what is queued, waits as told, applies what came back; returns how many completions.
    ///
    /// # Errors
    /// The ring itself is broken; the process cannot go on.
    pub(crate) fn turn(&mut self, wait: Wait) -> io::Result<usize> {
        // A silent send that the kernel has not taken yet may have found a waiter by now, and wakes nobody.
        let wait = if self.silent.is_empty() { wait } else { Wait::No };
        self.flush();
        self.kernel.enter(wait)?;
        let mut count = 0;
        while self.take_arrived() {
            count += self.arrived.len();
            let mut arrived = std::mem::take(&mut self.arrived);
            arrived.drain(..).for_each(|completion| self.complete(completion));
            self.arrived = arrived; // its memory is used again
        }
        self.settle(wait);
        self.stats.completions += count as u64;
        Ok(count)
    }

    /// Takes some completions, and asks for the memory of the tasks that wait for them; false if there is none.
    fn take_arrived(&mut self) -> bool {
        while self.arrived.len() < limits::COMPLETIONS_AT_ONCE
            && let Some(completion) = self.kernel.completion()
        {
            let slot =
                Token::from_bits(completion.token).and_then(|token| self.slots.get(token.slot as usize));
            if let Some(reader) = slot.and_then(|slot| slot.reader.as_ref()) {
                fetch_task(reader);
            }
            self.arrived.push(completion);
        }
        !self.arrived.is_empty()
    }

    fn flush(&mut self) {
        while let Some(slot) = self.dirty.pop() {
            self.start_send(slot, true);
        }
        while let Some(slot) = self.crowded.pop() {
            self.hold_back(slot);
        }
        let kernel = &mut self.kernel;
        self.buffers.top_up(|buffer, at, octets| kernel.provide(buffer, at, octets));
        if !self.starved.is_empty() && self.buffers.available() {
            for slot in std::mem::take(&mut self.starved) {
                self.slots[slot as usize].clear(flag::STARVED);
                self.arm(slot);
            }
        }
    }

    pub(crate) fn stats(&self) -> RingStats {
        let Entries { enters, overflows } = self.kernel.entries();
        RingStats {
            enters,
            overflows,
            open: self.open as u64,
            buffers_out: self.buffers.out() as u64,
            ..self.stats
        }
    }

    // ---- streams: opening

    /// Takes an accepted stream under the driver's care and starts receiving.
    pub(crate) fn adopt(&mut self, stream: OwnedFd) -> u32 {
        let slot = self.take_slot(stream, Phase::Open);
        self.arm(slot);
        slot
    }

    /// Starts connecting to `peer`.
    ///
    /// # Errors
    /// No socket could be made (EMFILE and the like).
    pub(crate) fn connect(&mut self, peer: SockAddr) -> io::Result<u32> {
        let socket = self.kernel.socket(peer.domain())?;
        let mut tx = self.idle_tx.pop().unwrap_or_else(Tx::new);
        let op = tx.connect(socket.as_raw_fd(), peer);
        let slot = self.take_slot(socket, Phase::Connecting);
        self.slots[slot as usize].tx = Some(tx);
        self.push(op, Kind::Connect, slot);
        Ok(slot)
    }

    pub(crate) fn poll_connected(&mut self, slot: u32, waker: &Waker) -> Poll<Result<(), Fault>> {
        let s = &mut self.slots[slot as usize];
        if let Some(fault) = fault(s) {
            return Poll::Ready(Err(fault));
        }
        if s.phase == Phase::Open {
            return Poll::Ready(Ok(()));
        }
        remember(&mut s.writer, waker);
        Poll::Pending
    }

    // ---- streams: receiving

    /// The next received buffer and its fill, or `None` after the peer's FIN. What arrived before an error or a
    /// timeout is handed out first.
    pub(crate) fn poll_recv(&mut self, slot: u32, waker: &Waker) -> Poll<Result<Option<(u16, u16)>, Fault>> {
        let s = &mut self.slots[slot as usize];
        if let Some(received) = self.buffers.pop_front(&mut s.received) {
            self.arm(slot);
            return Poll::Ready(Ok(Some(received)));
        }
        if let Some(fault) = fault(s) {
            return Poll::Ready(Err(fault));
        }
        if s.has(flag::EOF) {
            return Poll::Ready(Ok(None));
        }
        remember(&mut s.reader, waker);
        self.arm(slot);
        Poll::Pending
    }

    /// Ready with true when octets have come, with false when the peer has sent FIN. Until then the slot counts as idle.
    pub(crate) fn poll_idle(&mut self, slot: u32, waker: &Waker) -> Poll<Result<bool, Fault>> {
        let s = &mut self.slots[slot as usize];
        let octets = !s.received.is_empty();
        let fault = if octets { None } else { fault(s) };
        if octets || fault.is_some() || s.has(flag::EOF) {
            s.clear(flag::IDLE);
            return Poll::Ready(fault.map_or(Ok(octets), Err));
        }
        s.set(flag::IDLE);
        remember(&mut s.reader, waker);
        self.arm(slot);
        Poll::Pending
    }

    /// Breaks a stream in that life of its slot, whatever it is at: every wait on it ends with [`Fault::SEVERED`], and it
    /// closes with a reset; one whose owner has let go, at once.
    pub(crate) fn sever(&mut self, slot: u32, life: u32) -> Severed {
        let s = &mut self.slots[slot as usize];
        match s.phase {
            _ if s.generation != life => Severed::Nothing,
            Phase::Open | Phase::Connecting => {
                s.fail(libc::EOWNERDEAD);
                s.wake_reader();
                s.wake_writer();
                Severed::Owned
            }
            Phase::Finishing => {
                s.fail(libc::EOWNERDEAD);
                self.close(slot);
                Severed::Left
            }
            Phase::Free | Phase::Listening | Phase::Closing => Severed::Nothing,
        }
    }

    /// Which of its lives a slot is in.
    pub(crate) fn life(&self, slot: u32) -> u32 {
        self.slots[slot as usize].generation
    }

    pub(crate) fn is_severed(&self, slot: u32) -> bool {
        i32::from(self.slots[slot as usize].errno) == libc::EOWNERDEAD
    }

    /// Memory that waits for the kernel to take what is in it.
    pub(crate) fn queued_octets(&self, slot: u32) -> usize {
        self.slots[slot as usize].queued_octets()
    }

    /// True if nothing has arrived that is not yet read: no octet, no FIN, no error. False too while nothing is being
    /// received (buffers are short), since nobody can know then.
    pub(crate) fn is_quiet(&self, slot: u32) -> bool {
        let s = &self.slots[slot as usize];
        let listening = s.phase == Phase::Open && s.is_flying(Kind::Recv);
        listening && s.received.is_empty() && !s.has(flag::EOF) && s.errno == 0
    }

    /// The error that ended the stream, if one did; asks nothing of the kernel.
    pub(crate) fn poll_fault(&mut self, slot: u32, waker: &Waker) -> Poll<Fault> {
        let s = &mut self.slots[slot as usize];
        if let Some(fault) = fault(s) {
            return Poll::Ready(fault);
        }
        remember(&mut s.reader, waker);
        Poll::Pending
    }

    pub(crate) fn poll_broken(&mut self, slot: u32, waker: &Waker) -> Poll<Fault> {
        let s = &mut self.slots[slot as usize];
        match s.errno {
            0 => {
                remember(&mut s.reader, waker);
                Poll::Pending
            }
            errno => Poll::Ready(Fault::Os(i32::from(errno))),
        }
    }

    /// Keeps a receive in flight while the connection may take more.
    ///
    /// When buffers are short, a connection gets one at a time, and only while its owner waits for it: then a
    /// stalled connection holds none, and slow readers cannot use up what the others need.
    pub(super) fn arm(&mut self, slot: u32) {
        let s = &self.slots[slot as usize];
        let may = s.phase == Phase::Open
            && !s.is_flying(Kind::Recv)
            && s.flags & (flag::EOF | flag::STARVED) == 0
            && s.errno == 0
            && s.received.held_octets() <= limits::RECV_QUEUE_OCTETS / 2;
        let multishot = !self.buffers.pressed();
        if !may || !multishot && (s.reader.is_none() || !s.received.is_empty()) {
            return;
        }
        let fd = s.fd;
        self.push(Op::Recv { fd, multishot }, Kind::Recv, slot);
    }

    pub(super) fn starve(&mut self, slot: u32) {
        let s = &mut self.slots[slot as usize];
        if !s.has(flag::STARVED) {
            s.set(flag::STARVED);
            self.starved.push(slot);
        }
    }

    pub(crate) fn descriptor(&self, slot: u32) -> RawFd {
        self.slots[slot as usize].fd
    }

    pub(crate) fn octets(&self, buffer: u16) -> &[u8] {
        self.buffers.octets(buffer)
    }

    pub(crate) fn give_back(&mut self, buffer: u16) {
        self.buffers.give_back(buffer);
    }

    // ---- streams: sending

    /// Queues a piece; it goes out with the next turn. After an error it is dropped: `poll_sent` tells.
    pub(crate) fn send(&mut self, slot: u32, piece: Piece) {
        let s = &self.slots[slot as usize];
        if s.phase != Phase::Open || s.errno != 0 || piece.len() == 0 {
            return self.dispose(piece);
        }
        let piece = if self.buffers.pressed() { self.copied(piece) } else { piece };
        let tx =
            self.slots[slot as usize].tx.get_or_insert_with(|| self.idle_tx.pop().unwrap_or_else(Tx::new));
        tx.push(piece);
        self.dirty.push(slot);
    }

    /// Frees a provided buffer by copying what is to be sent of it.
    fn copied(&mut self, piece: Piece) -> Piece {
        let Piece::Lent { buffer, from, to, .. } = piece else { return piece };
        let mut octets = self.head_buffer();
        octets.extend_from_slice(&self.buffers.octets(buffer)[usize::from(from)..usize::from(to)]);
        self.buffers.give_back(buffer);
        Piece::Owned { octets, from: 0 }
    }

    /// Ready when at most `left` octets wait for the kernel.
    pub(crate) fn poll_sent(&mut self, slot: u32, left: usize, waker: &Waker) -> Poll<Result<(), Fault>> {
        let s = &mut self.slots[slot as usize];
        if let Some(fault) = fault(s) {
            return Poll::Ready(Err(fault));
        }
        if s.queued_octets() <= left {
            return Poll::Ready(Ok(()));
        }
        remember(&mut s.writer, waker);
        Poll::Pending
    }

    /// Sends FIN once the queue is empty.
    pub(crate) fn finish_sending(&mut self, slot: u32) {
        let s = &mut self.slots[slot as usize];
        if s.phase == Phase::Open && s.errno == 0 && !s.has(flag::FIN_WANTED) {
            s.set(flag::FIN_WANTED);
            self.send_fin_when_empty(slot);
        }
    }

    pub(super) fn send_fin_when_empty(&mut self, slot: u32) {
        let s = &mut self.slots[slot as usize];
        let whole = s.errno == 0 && matches!(s.phase, Phase::Open | Phase::Finishing);
        if whole && s.has(flag::FIN_WANTED) && !s.has(flag::FIN_SENT) && !s.has_unsent() {
            s.set(flag::FIN_SENT);
            let fd = s.fd;
            self.push(Op::Shutdown { fd }, Kind::Shutdown, slot);
        }
    }

    /// Sends what is queued. A send that nobody waits for and that will probably be taken whole is silent: its
    /// completion would end the core's next sleep for nothing, at the price of an enter and a turn.
    pub(super) fn start_send(&mut self, slot: u32, may_be_silent: bool) {
        let s = &mut self.slots[slot as usize];
        if s.is_flying(Kind::Send) || !matches!(s.phase, Phase::Open | Phase::Finishing) {
            return;
        }
        let (fd, silent) = (s.fd, may_be_silent && !s.waits_for_its_send());
        if let Some(tx) = s.tx.as_mut().filter(|tx| !tx.is_empty()) {
            let op = tx.next_send(fd, silent);
            if silent {
                s.set(flag::SILENT);
                self.silent.push(slot);
            }
            self.stats.sends += 1;
            self.push(op, Kind::Send, slot);
        }
    }

    /// Completes the silent sends that have not spoken, once they cannot any more.
    fn settle(&mut self, waited: Wait) {
        if self.silent.is_empty() || !self.kernel.settled() {
            return;
        }
        let mut silent = std::mem::take(&mut self.silent);
        for slot in silent.drain(..) {
            let s = &self.slots[slot as usize];
            if let Some(tx) = s.tx.as_ref().filter(|_| s.has(flag::SILENT)) {
                debug_assert!(waited == Wait::No || !s.waits_for_its_send(), "someone slept on: {slot}");
                let token = Token { kind: Kind::Send, slot, generation: s.generation };
                let result = i32::try_from(tx.octets_in_flight()).unwrap_or(i32::MAX);
                self.complete(Completion { token: token.to_bits(), result, more: false, buffer: None });
            }
        }
        self.silent = silent; // its memory is used again
    }

    /// An empty buffer for a head, reused where possible.
    pub(crate) fn head_buffer(&mut self) -> Vec<u8> {
        self.idle_heads.pop().unwrap_or_else(|| Vec::with_capacity(limits::HEAD_BUFFER_OCTETS))
    }

    pub(super) fn dispose(&mut self, piece: Piece) {
        match piece {
            Piece::Lent { buffer, .. } => self.buffers.give_back(buffer),
            Piece::Owned { octets, .. } => self.keep_head_buffer(octets),
        }
    }

    pub(crate) fn keep_head_buffer(&mut self, mut octets: Vec<u8>) {
        let fits = (1..=limits::HEAD_BUFFER_KEPT_OCTETS).contains(&octets.capacity());
        if fits && self.idle_heads.len() < limits::SEND_POOL {
            octets.clear();
            self.idle_heads.push(octets);
        }
    }

    pub(super) fn keep_tx(&mut self, tx: Box<Tx>) {
        if self.idle_tx.len() < limits::SEND_POOL {
            self.idle_tx.push(tx);
        }
    }

    // ---- ending

    /// The owner lets go. The slot lives on until the kernel has let go too.
    pub(crate) fn release(&mut self, slot: u32, end: End) {
        let s = &mut self.slots[slot as usize];
        (s.reader, s.writer) = (None, None);
        self.buffers.drain(&mut s.received);
        if end == End::Finish && s.phase == Phase::Open && s.errno == 0 && s.has_unsent() {
            s.enter(Phase::Finishing);
            self.set_deadline(slot, self.tick + limits::FINISH_TICKS);
            return;
        }
        if end == End::Reset && s.phase == Phase::Open {
            self.kernel.reset_on_close(s.fd);
        }
        self.close(slot);
    }

    pub(super) fn close(&mut self, slot: u32) {
        let s = &mut self.slots[slot as usize];
        // What was cut must not look complete, so it gets no FIN.
        if matches!(s.phase, Phase::Open | Phase::Finishing) && (s.errno != 0 || s.has_unsent()) {
            self.kernel.reset_on_close(s.fd);
        }
        s.enter(Phase::Closing);
        self.set_deadline(slot, self.tick + limits::CLOSE_RETRY_TICKS);
        let mut tx = self.slots[slot as usize].tx.take();
        if let Some(tx) = &mut tx {
            tx.discard(|piece| self.dispose(piece));
        }
        self.slots[slot as usize].tx = tx;
        self.go_on_closing(slot);
    }

    /// Cancels what flies, then closes, then frees: each when the one before has completed.
    pub(super) fn go_on_closing(&mut self, slot: u32) {
        let s = &mut self.slots[slot as usize];
        let fd = s.fd;
        match s.in_flight {
            0 if fd >= 0 => {
                s.fd = -1;
                if let Some(tx) = s.tx.take() {
                    self.keep_tx(tx);
                }
                self.push(Op::Close { fd }, Kind::Close, slot);
            }
            0 => self.free_slot(slot),
            _ if fd >= 0 && !s.has(flag::CANCELLED) && !s.is_flying(Kind::Cancel) => {
                s.set(flag::CANCELLED);
                // Almost always only a receive flies; by its token the kernel finds it at once, however many others do.
                let op = match Kind::alone_in(s.in_flight) {
                    Some(kind) => Op::Cancel { target: Token { kind, slot, generation: s.generation } },
                    None => Op::CancelAll { fd },
                };
                self.push(op, Kind::Cancel, slot);
            }
            _ => {}
        }
    }

    // ---- slots

    pub(super) fn take_slot(&mut self, descriptor: OwnedFd, phase: Phase) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::new());
            u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX)
        });
        assert!(slot <= Token::MAX_SLOT, "limits::CONNECTIONS_PER_CORE keeps slots below 2^24");
        self.open += 1;
        let s = &mut self.slots[slot as usize];
        s.enter(phase);
        s.fd = descriptor.into_raw_fd();
        slot
    }

    fn free_slot(&mut self, slot: u32) {
        let s = &mut self.slots[slot as usize];
        assert!(s.in_flight == 0 && s.tx.is_none() && s.received.is_empty());
        s.enter(Phase::Free);
        let (generation, in_wheel) = (s.generation.wrapping_add(1), s.in_wheel);
        let starved = s.flags & flag::STARVED;
        *s = Slot { generation, in_wheel, flags: starved, deadline: NEVER, ..Slot::new() };
        self.open -= 1;
        self.free.push(slot);
    }

    pub(super) fn push(&mut self, op: Op, kind: Kind, slot: u32) {
        let s = &mut self.slots[slot as usize];
        debug_assert!(!s.is_flying(kind), "{kind:?} flies already");
        s.in_flight |= 1 << kind as u8;
        self.kernel.push(op, Token { kind, slot, generation: s.generation });
    }

    pub(super) fn listen_for_doorbell(&mut self) {
        let op = Op::Doorbell { fd: self.doorbell, into: &raw mut *self.doorbell_value };
        self.kernel.push(op, Token { kind: Kind::Doorbell, slot: 0, generation: 0 });
    }

    /// Ready when the doorbell rang since the last call that was ready.
    pub(crate) fn poll_doorbell(&mut self, waker: &Waker) -> Poll<()> {
        if std::mem::take(&mut self.doorbell_rang) {
            return Poll::Ready(());
        }
        remember(&mut self.doorbell_waker, waker);
        Poll::Pending
    }
}

/// A timeout is told once; an error stays.
fn fault(s: &mut Slot) -> Option<Fault> {
    if s.errno != 0 {
        return Some(Fault::Os(i32::from(s.errno)));
    }
    let timed_out = s.has(flag::TIMED_OUT);
    s.clear(flag::TIMED_OUT);
    timed_out.then_some(Fault::TimedOut)
}
