//! One descriptor's place in the driver's table, and the legal moves of its life.

use std::task::Waker;

use super::buffers::Queue;
use super::kernel::Kind;
use super::tx::Tx;

/// Where a slot is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// On the free list.
    Free,
    /// A listening socket.
    Listening,
    /// An outbound stream whose handshake is under way.
    Connecting,
    /// A stream that may be read and written.
    Open,
    /// Given up by its owner; sends what is queued, then closes.
    Finishing,
    /// Cancelled and being closed; free when the kernel has let go of everything.
    Closing,
}

impl Phase {
    /// All legal moves in one place.
    fn may_become(self, next: Phase) -> bool {
        use Phase::{Closing, Connecting, Finishing, Free, Listening, Open};
        matches!(
            (self, next),
            (Free, Listening | Connecting | Open)
                | (Connecting, Open | Closing)
                | (Open, Finishing | Closing)
                | (Listening | Finishing, Closing)
                | (Closing, Free)
        )
    }
}

/// Bits of [`Slot::flags`].
pub(crate) mod flag {
    /// A multishot (or single) receive must not be re-armed until buffers are back.
    pub(crate) const STARVED: u16 = 1 << 0;
    /// Too much waits to be read: if that is still so when tasks have run, the receive is cancelled.
    pub(crate) const HOLDING_BACK: u16 = 1 << 1;
    /// The peer's FIN has arrived.
    pub(crate) const EOF: u16 = 1 << 2;
    /// Our FIN goes out when the send queue is empty.
    pub(crate) const FIN_WANTED: u16 = 1 << 3;
    /// Our FIN is out.
    pub(crate) const FIN_SENT: u16 = 1 << 4;
    /// The deadline passed while someone could wait.
    pub(crate) const TIMED_OUT: u16 = 1 << 5;
    /// A listener that does not accept for a while.
    pub(crate) const PAUSED: u16 = 1 << 6;
    /// A stream between two requests: what a drain may close at once.
    pub(crate) const IDLE: u16 = 1 << 7;
    /// A closing slot's operations have been cancelled; those that the cancel missed are tried again later.
    pub(crate) const CANCELLED: u16 = 1 << 8;
    /// The send in flight completes only if the kernel does not take all of it at once.
    pub(crate) const SILENT: u16 = 1 << 9;
}

/// Small on purpose: an idle connection is this and little else.
pub(crate) struct Slot {
    pub(crate) generation: u32,
    pub(crate) fd: i32,
    pub(crate) phase: Phase,
    /// Operations that the kernel has not completed for good, a bit per [`Kind`].
    pub(crate) in_flight: u8,
    pub(crate) flags: u16,
    /// First errno that receiving or sending met, 0 if none.
    pub(crate) errno: u16,
    pub(crate) received: Queue,
    pub(crate) tx: Option<Box<Tx>>,
    /// Tick at which the owner wants to be woken, `u32::MAX` for never.
    pub(crate) deadline: u32,
    /// Tick of this slot's live entry in the wheel, `u32::MAX` if none.
    pub(crate) in_wheel: u32,
    pub(crate) reader: Option<Waker>,
    pub(crate) writer: Option<Waker>,
}

pub(crate) const NEVER: u32 = u32::MAX;

impl Slot {
    pub(crate) fn new() -> Slot {
        Slot {
            generation: 0,
            fd: -1,
            phase: Phase::Free,
            in_flight: 0,
            flags: 0,
            errno: 0,
            received: Queue::EMPTY,
            tx: None,
            deadline: NEVER,
            in_wheel: NEVER,
            reader: None,
            writer: None,
        }
    }

    pub(crate) fn enter(&mut self, next: Phase) {
        assert!(self.phase.may_become(next), "a slot cannot go from {:?} to {next:?}", self.phase);
        self.phase = next;
    }

    pub(crate) fn is_flying(&self, kind: Kind) -> bool {
        self.in_flight & 1 << kind as u8 != 0
    }

    pub(crate) fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }

    pub(crate) fn set(&mut self, flag: u16) {
        self.flags |= flag;
    }

    pub(crate) fn clear(&mut self, flag: u16) {
        self.flags &= !flag;
    }

    pub(crate) fn queued_octets(&self) -> usize {
        self.tx.as_ref().map_or(0, |tx| tx.held_octets())
    }

    pub(crate) fn has_unsent(&self) -> bool {
        self.tx.as_ref().is_some_and(|tx| !tx.is_empty())
    }

    /// True if something happens when the send queue has drained: a task goes on, FIN or the close follows, or
    /// the rest of a queue that is longer than a message.
    pub(crate) fn waits_for_its_send(&self) -> bool {
        self.writer.is_some()
            || self.phase != Phase::Open
            || self.has(flag::FIN_WANTED)
            || self.tx.as_ref().is_some_and(|tx| !tx.fits_one_message())
    }

    /// The first error stays: later ones follow from it.
    pub(crate) fn fail(&mut self, errno: i32) {
        if self.errno == 0 {
            self.errno = u16::try_from(errno.unsigned_abs()).unwrap_or(u16::MAX);
        }
    }

    pub(crate) fn wake_reader(&mut self) {
        if let Some(waker) = self.reader.take() {
            waker.wake();
        }
    }

    pub(crate) fn wake_writer(&mut self) {
        if let Some(waker) = self.writer.take() {
            waker.wake();
        }
    }
}

/// Remembers who to wake, without cloning a waker that is remembered already.
pub(crate) fn remember(place: &mut Option<Waker>, waker: &Waker) {
    match place {
        Some(known) if known.will_wake(waker) => {}
        _ => *place = Some(waker.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_connection_is_small() {
        assert!(size_of::<Slot>() <= 88, "{} octets", size_of::<Slot>());
    }
}
