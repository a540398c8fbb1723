//! Deadlines of slots, over the lazily moved wheel.

use super::driver::Driver;
use super::kernel::Kernel;
use super::slot::{NEVER, Phase, Slot, flag};
use crate::limits;
use std::time::Duration;

const TICKS_PER_SECOND: u64 = 1000 / limits::TICK_MS;

impl<K: Kernel> Driver<K> {
    /// Sets when a slot's owner is woken with [`Fault::TimedOut`](super::driver::Fault::TimedOut); [`NEVER`] for
    /// never. Replaces the one before.
    pub(crate) fn set_deadline(&mut self, slot: u32, tick: u32) {
        let s = &mut self.slots[slot as usize];
        s.deadline = tick;
        s.clear(flag::TIMED_OUT);
        if tick < s.in_wheel {
            s.in_wheel = self.wheel.insert(slot, tick);
        }
    }

    /// Brings the deadline of every idle slot forward to `tick`, unless it is earlier or has passed.
    pub(crate) fn hasten_idle(&mut self, tick: u32) {
        let is_later = |s: &Slot| s.deadline > tick && !s.has(flag::TIMED_OUT);
        for slot in 0u32.. {
            let Some(s) = self.slots.get(slot as usize) else { break };
            if s.phase == Phase::Open && s.has(flag::IDLE) && is_later(s) {
                self.set_deadline(slot, tick);
            }
        }
    }

    /// The tick by which `timeout` from now has passed; never early, since the current tick began before now.
    pub(crate) fn tick_after(&self, timeout: Duration) -> u32 {
        let whole = timeout.as_secs().saturating_mul(TICKS_PER_SECOND);
        let ticks = whole.saturating_add(u64::from(timeout.subsec_millis()) / limits::TICK_MS + 2);
        self.tick.saturating_add(u32::try_from(ticks).unwrap_or(NEVER)).min(NEVER - 1)
    }

    /// Moves time on to `tick` and fires what is due; returns how many deadlines passed.
    pub(crate) fn advance(&mut self, tick: u32) -> usize {
        self.tick = self.tick.max(tick);
        let mut fired = 0;
        while let Some((swept, entries)) = self.wheel.sweep(self.tick) {
            for slot in &entries {
                fired += usize::from(self.visit(*slot, swept));
            }
            self.wheel.recycle(swept, entries);
        }
        fired
    }

    /// The next tick at which [`advance`](Self::advance) may have something to do.
    pub(crate) fn next_timer(&self) -> Option<u32> {
        self.wheel.first()
    }

    fn visit(&mut self, slot: u32, swept: u32) -> bool {
        let s = &mut self.slots[slot as usize];
        if s.in_wheel != swept {
            return false; // an entry that a nearer one has replaced
        }
        s.in_wheel = NEVER;
        let deadline = s.deadline;
        if deadline <= self.tick {
            s.deadline = NEVER;
            self.due(slot);
            return true;
        }
        if deadline != NEVER {
            s.in_wheel = self.wheel.insert(slot, deadline);
        }
        false
    }

    fn due(&mut self, slot: u32) {
        let s = &mut self.slots[slot as usize];
        match s.phase {
            Phase::Connecting | Phase::Open => {
                self.stats.timeouts += 1;
                s.set(flag::TIMED_OUT);
                s.wake_reader();
                s.wake_writer();
            }
            Phase::Listening => self.resume(slot),
            Phase::Finishing => {
                self.stats.finish_timeouts += 1;
                self.close(slot);
            }
            // A cancel that met its operation half way may have missed it.
            Phase::Closing => {
                s.clear(flag::CANCELLED);
                self.set_deadline(slot, self.tick + limits::CLOSE_RETRY_TICKS);
                self.go_on_closing(slot);
            }
            Phase::Free => {}
        }
    }
}
