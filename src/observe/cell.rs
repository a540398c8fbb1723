//! Numbers with one writer and many readers.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A count that only its core raises and anybody reads. Raising it is a load and a store: no other core writes, so
/// no locked instruction is needed.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    #[must_use]
    pub const fn new(count: u64) -> Self {
        Self(AtomicU64::new(count))
    }

    #[inline]
    pub fn inc(&self) {
        self.add(1);
    }

    #[inline]
    pub fn add(&self, n: u64) {
        self.0.store(self.0.load(Relaxed).wrapping_add(n), Relaxed);
    }

    /// Takes over a total that is counted elsewhere.
    #[inline]
    pub fn set(&self, total: u64) {
        self.0.store(total, Relaxed);
    }

    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// A level that only its core moves and anybody reads.
#[derive(Debug, Default)]
pub struct Gauge(AtomicU64);

impl Gauge {
    #[inline]
    pub fn inc(&self) {
        self.0.store(self.0.load(Relaxed) + 1, Relaxed);
    }

    /// Stays at 0 rather than wrap, should a caller count down more often than up.
    #[inline]
    pub fn dec(&self) {
        let level = self.0.load(Relaxed);
        debug_assert!(level > 0, "a gauge counted down more often than up");
        self.0.store(level.saturating_sub(1), Relaxed);
    }

    #[inline]
    pub fn set(&self, level: u64) {
        self.0.store(level, Relaxed);
    }

    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::{Counter, Gauge};

    #[test]
    fn another_thread_sees_a_count_rise_and_never_fall() {
        const ROUNDS: u64 = 200_000;
        let counter = Counter::default();
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let mut last = 0;
                while last < ROUNDS {
                    let now = counter.get();
                    assert!(now >= last, "{now} after {last}");
                    last = now;
                }
                last
            });
            (0..ROUNDS).for_each(|_| counter.inc());
            assert_eq!(reader.join().ok(), Some(ROUNDS));
        });
    }

    #[test]
    fn a_gauge_follows_its_writer() {
        let gauge = Gauge::default();
        gauge.inc();
        gauge.inc();
        gauge.dec();
        assert_eq!(gauge.get(), 1);
        gauge.set(7);
        assert_eq!(gauge.get(), 7);
    }
}
