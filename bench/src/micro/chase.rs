//! A pointer chase: what one dependent load costs over so many octets.
use ringway_state::hash::splitmix64;

use memmap2::{Advice, MmapMut};

use crate::failure::Failure;

const LINE_BYTES: usize = 64;

/// A ring through all cache lines of a mapping with 4 KiB pages, in random order.
pub(super) struct Chase {
    map: MmapMut,
    at: usize,
}

impl Chase {
    pub(super) fn over(octets: usize) -> Result<Self, Failure> {
        let lines = (octets / LINE_BYTES).max(1);
        let mut map = MmapMut::map_anon(lines * LINE_BYTES).map_err(Failure::file("anonymous memory"))?;
        map.advise(Advice::NoHugePage).map_err(Failure::file("anonymous memory"))?;
        let mut order: Vec<usize> = (0..lines).collect();
        shuffle(&mut order);
        for (&here, &next) in order.iter().zip(order.iter().cycle().skip(1)) {
            map[here * LINE_BYTES..][..size_of::<usize>()]
                .copy_from_slice(&(next * LINE_BYTES).to_le_bytes());
        }
        Ok(Self { map, at: 0 })
    }

    /// Follows the ring for `steps` and returns where it stands.
    pub(super) fn follow(&mut self, steps: u64) -> u64 {
        for _ in 0..steps {
            let mut next = [0; size_of::<usize>()];
            next.copy_from_slice(&self.map[self.at..][..size_of::<usize>()]);
            self.at = usize::from_le_bytes(next);
        }
        self.at as u64
    }
}

/// Fisher and Yates, seed 1.
pub(super) fn shuffle<T>(items: &mut [T]) {
    let mut random = 1;
    for last in (1..items.len()).rev() {
        // Below `last`, a usize.
        #[allow(clippy::cast_possible_truncation)]
        items.swap(last, (splitmix64(&mut random) % (last as u64 + 1)) as usize);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a failed unwrap is the test's failure
    use super::*;

    #[test]
    fn the_ring_visits_every_line_and_closes() {
        const LINES: usize = 1000;
        let mut chase = Chase::over(LINES * LINE_BYTES).unwrap();
        let mut seen: Vec<u64> = (0..LINES).map(|_| chase.follow(1)).collect();
        assert_eq!(seen.last(), Some(&0));
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), LINES);
    }
}
