//! What one core has taken up of what was published: written by the core, read by the feed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::limits::FEED_PUBLICATIONS;

/// Aligned so that no two cores share a cache line.
#[derive(Debug)]
#[repr(align(128))]
pub struct Taken {
    /// Of the last publication that the core serves from; 0 before the first.
    sequence: AtomicU64,
    /// When it took up the last few, in nanoseconds from `start`: by their sequences, round and round.
    at: [AtomicU64; FEED_PUBLICATIONS],
    start: Instant,
}

impl Taken {
    /// `start` is before anything is taken up.
    pub fn new(start: Instant) -> Taken {
        Taken { sequence: AtomicU64::new(0), at: [const { AtomicU64::new(0) }; FEED_PUBLICATIONS], start }
    }

    /// The core serves from publication `sequence`. They come in their order.
    pub fn take(&self, sequence: u64, now: Instant) {
        let since = now.saturating_duration_since(self.start).as_nanos();
        self.place(sequence).store(u64::try_from(since).unwrap_or(u64::MAX), Ordering::Relaxed);
        self.sequence.store(sequence, Ordering::Release);
    }

    pub(super) fn sequence(&self) -> u64 {
        self.sequence.load(Ordering::Acquire)
    }

    /// When the core took up one that it has. Right for as long as no [`FEED_PUBLICATIONS`] later ones were published.
    pub(super) fn at(&self, sequence: u64) -> Instant {
        self.start + Duration::from_nanos(self.place(sequence).load(Ordering::Relaxed))
    }

    fn place(&self, sequence: u64) -> &AtomicU64 {
        #[allow(clippy::cast_possible_truncation)] // it is less than the length
        &self.at[(sequence % FEED_PUBLICATIONS as u64) as usize]
    }
}
