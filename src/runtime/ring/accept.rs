//! Accepting, and pausing when descriptors run out.

use std::os::fd::{FromRawFd, OwnedFd};
use std::task::{Poll, Waker};

use super::driver::{Driver, End};
use super::kernel::{Completion, Kernel, Kind, Op};
use super::slot::{Phase, flag, remember};
use crate::limits;

impl<K: Kernel> Driver<K> {
    /// Takes a listening socket under the driver's care and starts accepting.
    pub(crate) fn listen(&mut self, listener: OwnedFd) -> u32 {
        let slot = self.take_slot(listener, Phase::Listening);
        self.accept_on(slot);
        slot
    }

    /// The next accepted stream of a listener.
    pub(crate) fn poll_accept(&mut self, listener: u32, waker: &Waker) -> Poll<OwnedFd> {
        let mine = self.accepted.iter().position(|(slot, _)| *slot == listener);
        match mine.and_then(|at| self.accepted.remove(at)) {
            Some((_, stream)) => Poll::Ready(stream),
            None => {
                remember(&mut self.slots[listener as usize].reader, waker);
                Poll::Pending
            }
        }
    }

    /// Stops accepting and closes the listener; streams accepted but not taken up are closed.
    pub(crate) fn stop_listening(&mut self, listener: u32) {
        self.accepted.retain(|(slot, _)| *slot != listener);
        self.slots[listener as usize].wake_reader();
        self.release(listener, End::Finish);
    }

    #[allow(unsafe_code)] // takes ownership of a descriptor that the kernel just made
    pub(super) fn accepted(&mut self, slot: u32, completion: Completion) {
        if completion.result >= 0 {
            // SAFETY: an accept's result is a descriptor that the kernel opened for us and nobody else knows.
            let stream = unsafe { OwnedFd::from_raw_fd(completion.result) };
            self.stats.accepted += 1;
            if self.slots[slot as usize].phase == Phase::Listening
                && self.accepted.len() < limits::ACCEPTED_WAITING
            {
                self.accepted.push_back((slot, stream));
                self.slots[slot as usize].wake_reader();
            }
        }
        if self.slots[slot as usize].phase != Phase::Listening {
            return;
        }
        // Anything else is EMFILE and its like, or an error that would come back at once.
        let passing = [libc::ECONNABORTED, libc::EPROTO, libc::ECANCELED, libc::EINTR, libc::EAGAIN];
        let failed = completion.result < 0 && !passing.contains(&-completion.result);
        if failed || self.room() == 0 {
            self.pause(slot);
        } else if !completion.more {
            self.accept_on(slot);
        } else if self.room() <= self.accept_burst {
            self.cancel_accept(slot);
        }
    }

    /// With so many open, accepting pauses. An eighth is for streams that we open: clients that take all there is could not
    /// be served.
    pub(super) fn accept_max(&self) -> usize {
        self.open_max - self.open_max / 8
    }

    /// Connections that may still be accepted.
    fn room(&self) -> usize {
        self.accept_max().saturating_sub(self.open + self.accepted.len())
    }

    /// Leaves new connections in the kernel's queue for a while: closing them would only bring them back.
    fn pause(&mut self, slot: u32) {
        if !self.slots[slot as usize].has(flag::PAUSED) {
            self.slots[slot as usize].set(flag::PAUSED);
            self.stats.accept_pauses += 1;
            self.set_deadline(slot, self.tick + limits::ACCEPT_PAUSE_TICKS);
        }
        self.cancel_accept(slot);
    }

    fn cancel_accept(&mut self, slot: u32) {
        let s = &self.slots[slot as usize];
        if s.is_flying(Kind::Accept) && !s.is_flying(Kind::Cancel) {
            let fd = s.fd;
            self.push(Op::CancelAll { fd }, Kind::Cancel, slot);
        }
    }

    /// The pause is over: tries again, or pauses on if nothing has become free.
    pub(super) fn resume(&mut self, slot: u32) {
        self.slots[slot as usize].clear(flag::PAUSED);
        if self.room() == 0 {
            self.pause(slot);
        } else {
            self.accept_on(slot);
        }
    }

    /// Near the limit one at a time: a crowd in the kernel's queue must not take the descriptors that are for others.
    fn accept_on(&mut self, slot: u32) {
        let multishot = self.room() > self.accept_burst;
        let s = &self.slots[slot as usize];
        if !s.is_flying(Kind::Accept) && !s.has(flag::PAUSED) {
            let fd = s.fd;
            self.push(Op::Accept { fd, multishot }, Kind::Accept, slot);
        }
    }
}
