//! What one core has taken up of what was published: written by the core, read by the feed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::limits::FEED_PUBLICATIONS;

/// Aligned so that no two cores share a cache line.
#[derive(Debug)]
#[repr(align(128))]
pub struct Taken {
    /// The core serves from it.
    taken: Mark,
    /// Nothing is open any more for host names that it has taken from their service.
    cut: Mark,
    start: Instant,
}

/// Up to which publication a core has come.
#[derive(Debug)]
struct Mark {
    /// Of the last one; 0 before the first.
    sequence: AtomicU64,
    /// When it came to the last few, in nanoseconds from the start: by their sequences, round and round.
    at: [AtomicU64; FEED_PUBLICATIONS],
}

impl Taken {
    /// `start` is before anything is taken up.
    pub fn new(start: Instant) -> Taken {
        Taken { taken: Mark::new(), cut: Mark::new(), start }
    }

    /// The core serves from publication `sequence`. They come in their order.
    pub fn take(&self, sequence: u64, now: Instant) {
        self.taken.set(sequence, now.saturating_duration_since(self.start));
    }

    /// What it and those before it have taken from its service is cut on this core; it was taken before.
    pub fn cut(&self, sequence: u64, now: Instant) {
        debug_assert!(sequence <= self.taken(), "what is served by an older state cannot be cut for good");
        self.cut.set(sequence, now.saturating_duration_since(self.start));
    }

    pub(super) fn taken(&self) -> u64 {
        self.taken.sequence.load(Ordering::Acquire)
    }

    pub(super) fn is_cut(&self) -> u64 {
        self.cut.sequence.load(Ordering::Acquire)
    }

    /// When the core took up one that it has. Right for as long as no [`FEED_PUBLICATIONS`] later ones were published.
    pub(super) fn taken_at(&self, sequence: u64) -> Instant {
        self.start + self.taken.at(sequence)
    }

    /// The same of what was to be cut; if it was cut together with later ones, when those were.
    pub(super) fn cut_at(&self) -> Instant {
        self.start + self.cut.at(self.is_cut())
    }
}

impl Mark {
    fn new() -> Mark {
        Mark { sequence: AtomicU64::new(0), at: [const { AtomicU64::new(0) }; FEED_PUBLICATIONS] }
    }

    fn set(&self, sequence: u64, since: Duration) {
        self.place(sequence).store(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
        self.sequence.store(sequence, Ordering::Release);
    }

    fn at(&self, sequence: u64) -> Duration {
        Duration::from_nanos(self.place(sequence).load(Ordering::Relaxed))
    }

    fn place(&self, sequence: u64) -> &AtomicU64 {
        #[allow(clippy::cast_possible_truncation)] // it is less than the length
        &self.at[(sequence % FEED_PUBLICATIONS as u64) as usize]
    }
}
