//! Timers of the request path: a wheel of ticks, one entry per slot, moved lazily.
//!
//! A connection's deadline moves with every request, nearly always to later. So a deadline is a number in the
//! slot, and the wheel holds one entry that may come too early: the driver looks at the slot then and puts the
//! entry where it belongs now. Setting a timeout thus costs a store, not a list operation.

use crate::limits;

const TICKS: usize = limits::WHEEL_TICKS as usize;

pub(crate) struct Wheel {
    slots: Box<[Vec<u32>]>,
    /// A bit per wheel position that holds anything.
    occupied: [u64; TICKS / 64],
    /// All ticks before this one have been swept.
    next: u32,
}

impl Wheel {
    pub(crate) fn new() -> Wheel {
        Wheel { slots: vec![Vec::new(); TICKS].into(), occupied: [0; TICKS / 64], next: 0 }
    }

    /// Enters `slot` for `tick`, or for the furthest tick that the wheel can hold, and returns which it was.
    pub(crate) fn insert(&mut self, slot: u32, tick: u32) -> u32 {
        let tick = tick.clamp(self.next, self.next.saturating_add(limits::WHEEL_TICKS - 1));
        let at = tick as usize % TICKS;
        self.slots[at].push(slot);
        self.occupied[at / 64] |= 1 << (at % 64);
        tick
    }

    /// Takes out one wheel position with tick ≤ `now`: its tick and who was entered there.
    pub(crate) fn sweep(&mut self, now: u32) -> Option<(u32, Vec<u32>)> {
        let Some(tick) = self.first().filter(|tick| *tick <= now) else {
            self.next = self.next.max(now);
            return None;
        };
        self.next = tick;
        let at = tick as usize % TICKS;
        self.occupied[at / 64] &= !(1 << (at % 64));
        Some((tick, std::mem::take(&mut self.slots[at])))
    }

    /// Gives the memory of a swept position back.
    pub(crate) fn recycle(&mut self, tick: u32, mut entries: Vec<u32>) {
        let place = &mut self.slots[tick as usize % TICKS];
        if place.is_empty() {
            entries.clear();
            *place = entries;
        }
    }

    /// The earliest tick at which anything is entered.
    pub(crate) fn first(&self) -> Option<u32> {
        let start = self.next as usize % TICKS;
        let words = self.occupied.len();
        (0..=words).find_map(|step| {
            let word = (start / 64 + step) % words;
            let mut bits = self.occupied[word];
            match step {
                0 => bits &= u64::MAX << (start % 64),
                last if last == words => bits &= !(u64::MAX << (start % 64)),
                _ => {}
            }
            (bits != 0).then(|| {
                let at = word * 64 + bits.trailing_zeros() as usize;
                self.next + u32::try_from((at + TICKS - start) % TICKS).unwrap_or(limits::WHEEL_TICKS)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a sorted list: everything comes out once, never late, and early only beyond the horizon.
        #[test]
        fn sweeps_like_a_sorted_list(steps in prop::collection::vec((0u32..3000, 0u32..400), 1..200)) {
            let mut wheel = Wheel::new();
            let mut model: Vec<(u32, u32)> = Vec::new();
            let mut now = 0;
            for (slot, (ahead, pass)) in steps.into_iter().enumerate() {
                let slot = slot as u32;
                let tick = wheel.insert(slot, now + ahead);
                prop_assert!(tick == now + ahead || tick < now + ahead && ahead >= limits::WHEEL_TICKS - 1);
                model.push((tick, slot));
                prop_assert_eq!(wheel.first(), model.iter().map(|(tick, _)| *tick).min());
                now += pass;
                let mut swept = Vec::new();
                while let Some((tick, entries)) = wheel.sweep(now) {
                    swept.extend(entries.iter().map(|slot| (tick, *slot)));
                    wheel.recycle(tick, entries);
                }
                let mut due: Vec<_> = model.iter().copied().filter(|(tick, _)| *tick <= now).collect();
                model.retain(|(tick, _)| *tick > now);
                due.sort_unstable();
                swept.sort_unstable();
                prop_assert_eq!(swept, due);
            }
        }
    }
}
