//! What completions do to the driver's slots.

use super::driver::Driver;
use super::kernel::{Completion, Kernel, Kind, Op, Token};
use super::slot::{Phase, flag};
use crate::limits;

impl<K: Kernel> Driver<K> {
    pub(super) fn complete(&mut self, completion: Completion) {
        let Some(token) = Token::from_bits(completion.token) else {
            self.stats.stale_completions += 1;
            return;
        };
        if token.kind == Kind::Doorbell {
            return self.ring_doorbell();
        }
        let known = self.slots.get(token.slot as usize);
        if known.is_none_or(|s| s.generation != token.generation || !s.is_flying(token.kind)) {
            return self.stale(completion);
        }
        if !completion.more {
            self.slots[token.slot as usize].in_flight &= !(1 << token.kind as u8);
        }
        match token.kind {
            Kind::Recv => self.received(token.slot, completion),
            Kind::Send => self.sent(token.slot, completion.result),
            Kind::Accept => self.accepted(token.slot, completion),
            Kind::Connect => self.connected(token.slot, completion.result),
            // It may have missed the receive: the next octets that are too many try again.
            Kind::Cancel => self.slots[token.slot as usize].clear(flag::HOLDING_BACK),
            Kind::Shutdown | Kind::Close | Kind::Doorbell => {}
        }
        if self.slots[token.slot as usize].phase == Phase::Closing {
            self.go_on_closing(token.slot);
        }
    }

    /// From an earlier life of the slot. Cannot happen while slots wait for their operations, so it is counted;
    /// a buffer that comes with it must not be lost all the same.
    fn stale(&mut self, completion: Completion) {
        self.stats.stale_completions += 1;
        if let Some(buffer) = completion.buffer {
            self.buffers.taken(buffer, completion.result.max(0) as u32);
            self.buffers.give_back(buffer);
        }
    }

    fn received(&mut self, slot: u32, completion: Completion) {
        let s = &mut self.slots[slot as usize];
        let octets = completion.result.max(0) as u32;
        if !completion.more {
            s.clear(flag::HOLDING_BACK);
        }
        if let Some(buffer) = completion.buffer {
            self.buffers.taken(buffer, octets);
            if octets > 0 && s.phase == Phase::Open {
                self.buffers.push_back(&mut s.received, buffer);
            } else {
                self.buffers.give_back(buffer);
            }
        }
        match -completion.result {
            ..0 => s.wake_reader(),
            0 => {
                s.set(flag::EOF);
                s.wake_reader();
            }
            libc::ENOBUFS => {
                self.stats.recv_starved += 1;
                self.starve(slot);
            }
            libc::ECANCELED | libc::EINTR | libc::EAGAIN => {}
            errno => {
                s.fail(errno);
                s.wake_reader();
                s.wake_writer();
            }
        }
        self.hold_back_or_arm(slot);
    }

    fn hold_back_or_arm(&mut self, slot: u32) {
        let is_crowded = self.is_crowded(slot);
        let s = &mut self.slots[slot as usize];
        if !s.is_flying(Kind::Recv) {
            self.arm(slot);
        } else if is_crowded && !s.has(flag::HOLDING_BACK) {
            s.set(flag::HOLDING_BACK);
            self.crowded.push(slot);
        }
    }

    /// True if a connection has more unread than it may, and receives on.
    fn is_crowded(&self, slot: u32) -> bool {
        let most = if self.buffers.pressed() { 1 } else { limits::RECV_QUEUE_OCTETS };
        let s = &self.slots[slot as usize];
        s.phase == Phase::Open && s.is_flying(Kind::Recv) && s.received.held_octets() >= most
    }

    /// Cancels the receive of a connection that is crowded even now that tasks have run.
    pub(super) fn hold_back(&mut self, slot: u32) {
        let is_crowded = self.is_crowded(slot);
        let s = &mut self.slots[slot as usize];
        if !is_crowded || s.is_flying(Kind::Cancel) {
            return s.clear(flag::HOLDING_BACK);
        }
        self.stats.recv_held_back += 1;
        let target = Token { kind: Kind::Recv, slot, generation: s.generation };
        self.push(Op::Cancel { target }, Kind::Cancel, slot);
    }

    fn sent(&mut self, slot: u32, result: i32) {
        self.slots[slot as usize].clear(flag::SILENT);
        let Some(mut tx) = self.slots[slot as usize].tx.take() else { return };
        // A stream takes at least an octet or fails; "none, try again" without an error would spin for ever.
        let result = if result == 0 { -libc::EPIPE } else { result };
        let again = matches!(-result, libc::EINTR | libc::EAGAIN | libc::ECANCELED);
        if result > 0 || again {
            tx.sent(result.max(0) as usize, |piece| self.dispose(piece));
        } else {
            tx.failed(|piece| self.dispose(piece));
        }
        let s = &mut self.slots[slot as usize];
        if result < 0 && !again {
            s.fail(-result);
            s.wake_reader();
        }
        s.wake_writer();
        if s.phase == Phase::Closing {
            tx.failed(|piece| self.dispose(piece)); // nobody wants the rest
        }
        if tx.is_empty() {
            self.keep_tx(tx);
            self.send_fin_when_empty(slot);
            if self.slots[slot as usize].phase == Phase::Finishing {
                self.close(slot);
            }
        } else {
            self.slots[slot as usize].tx = Some(tx);
            self.stats.sends_short += 1;
            self.start_send(slot, false);
        }
    }

    fn connected(&mut self, slot: u32, result: i32) {
        let s = &mut self.slots[slot as usize];
        if s.phase != Phase::Connecting {
            return;
        }
        let tx = s.tx.take();
        if result < 0 {
            s.fail(-result);
            s.wake_reader();
        } else {
            s.enter(Phase::Open);
        }
        s.wake_writer();
        tx.into_iter().for_each(|tx| self.keep_tx(tx));
        self.arm(slot);
    }

    fn ring_doorbell(&mut self) {
        self.doorbell_rang = true;
        if let Some(waker) = self.doorbell_waker.take() {
            waker.wake();
        }
        self.listen_for_doorbell();
    }
}
