//! How long a core's turns take. What arrives during a turn is noticed at its end, and a timer that falls due in one
//! is late by the rest of it: so this is how far behind the loop runs.

use std::time::{Duration, Instant};

use crate::limits;

/// Where the buckets end, in microseconds; one without an end follows.
pub const LAG_ENDS_US: [u64; 14] =
    [20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 1_000_000];

/// Turns by how long they took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LagStats {
    pub counts: [u64; LAG_ENDS_US.len() + 1],
    pub sum_ns: u64,
    /// Turns of [`limits::STALL_MS`] and more.
    pub stalls: u64,
}

/// A turn that took too long, and what ran in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stall {
    /// When the turn ended.
    pub at: Instant,
    pub took: Duration,
    /// Kinds of tasks by name, and how often one was run.
    pub tasks: Vec<(&'static str, u32)>,
}

/// Kept by a core. Reads no clock.
#[derive(Default)]
pub(super) struct Lag {
    pub(super) stats: LagStats,
    /// Of the turn under way. Kinds beyond the array's end are not told.
    tasks: [(&'static str, u32); limits::STALL_TASKS],
    stalls: Vec<Stall>,
}

impl Lag {
    /// A task of this kind runs.
    #[inline]
    pub(super) fn ran(&mut self, name: &'static str) {
        // Kinds are few and their names are the same octets each time.
        let mine = self.tasks.iter_mut().find(|(known, count)| *count == 0 || std::ptr::eq(*known, name));
        if let Some((known, count)) = mine {
            (*known, *count) = (name, *count + 1);
        }
    }

    /// The turn has ended.
    #[inline]
    pub(super) fn turned(&mut self, at: Instant, took: Duration) {
        let ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.stats.counts[LAG_ENDS_US.partition_point(|end| end * 1000 < ns)] += 1;
        self.stats.sum_ns = self.stats.sum_ns.wrapping_add(ns);
        if took >= Duration::from_millis(limits::STALL_MS) {
            self.stalled(at, took);
        }
        self.tasks[0].1 = 0;
        self.tasks[1..].iter_mut().take_while(|(_, count)| *count > 0).for_each(|(_, count)| *count = 0);
    }

    #[cold]
    fn stalled(&mut self, at: Instant, took: Duration) {
        self.stats.stalls += 1;
        if self.stalls.len() < limits::STALLS_PENDING {
            let tasks = self.tasks.iter().copied().take_while(|(_, count)| *count > 0).collect();
            self.stalls.push(Stall { at, took, tasks });
        }
    }

    /// The stalls since this was asked last; of many only the first.
    pub(super) fn take_stalls(&mut self) -> Vec<Stall> {
        std::mem::take(&mut self.stalls)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_land_where_they_belong_and_long_ones_are_told() {
        let (mut lag, now) = (Lag::default(), Instant::now());
        let names = ["accept", "serve", "housekeep"];
        for (us, ran) in [(5, 0), (20, 1), (21, 2), (50_000, 3), (3_000_000, 1), (7, 3)] {
            (0..ran).for_each(|at| lag.ran(names[at]));
            lag.ran(names[0]);
            lag.turned(now, Duration::from_micros(us));
        }
        let mut counts = [0; LAG_ENDS_US.len() + 1];
        (counts[0], counts[1], counts[10], counts[14]) = (3, 1, 1, 1);
        assert_eq!(lag.stats, LagStats { counts, sum_ns: 3_050_053_000, stalls: 2 });
        let told: Vec<_> =
            lag.take_stalls().into_iter().map(|stall| (stall.took.as_millis(), stall.tasks)).collect();
        let first = (50, vec![("accept", 2), ("serve", 1), ("housekeep", 1)]);
        assert_eq!(told, [first, (3000, vec![("accept", 2)])]);
        assert_eq!(lag.take_stalls(), []);
    }

    #[test]
    fn many_kinds_and_many_stalls_are_bounded() {
        const NAMES: [&str; 12] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];
        let (mut lag, now) = (Lag::default(), Instant::now());
        for _ in 0..3 * limits::STALLS_PENDING {
            NAMES.iter().for_each(|name| lag.ran(name));
            lag.turned(now, Duration::from_secs(1));
        }
        let stalls = lag.take_stalls();
        assert_eq!((stalls.len(), stalls[0].tasks.len()), (limits::STALLS_PENDING, limits::STALL_TASKS));
        assert!(stalls.iter().all(|stall| stall.tasks.iter().all(|(_, count)| *count == 1)));
        assert_eq!(lag.stats.stalls, 3 * limits::STALLS_PENDING as u64);
    }
}
