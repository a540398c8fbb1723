//! So many of something in so much time. Pure.

use std::time::{Duration, Instant};

/// Allows `most` in each `every`, which begins with the first of them.
pub(super) struct Allowance {
    most: u32,
    every: Duration,
    since: Option<Instant>,
    used: u32,
    /// Those of this time that were not allowed.
    denied: u64,
}

impl Allowance {
    pub(super) fn new(most: u32, every: Duration) -> Allowance {
        Allowance { most, every, since: None, used: 0, denied: 0 }
    }

    /// Whether one more is allowed. Ask [`over`](Self::over) first.
    pub(super) fn take(&mut self, now: Instant) -> bool {
        self.since.get_or_insert(now);
        let is_allowed = self.used < self.most;
        match is_allowed {
            true => self.used += 1,
            false => self.denied += 1,
        }
        is_allowed
    }

    /// How many were denied, once the time is over in which any were; then the next begins.
    pub(super) fn over(&mut self, now: Instant) -> Option<u64> {
        if now.saturating_duration_since(self.since?) < self.every {
            return None;
        }
        (self.since, self.used) = (None, 0);
        Some(std::mem::take(&mut self.denied)).filter(|denied| *denied > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_in_a_time_and_the_rest_is_told_after_it() {
        let (mut allowance, start) = (Allowance::new(2, Duration::from_secs(10)), Instant::now());
        let at = |s| start + Duration::from_secs(s);
        assert_eq!(allowance.over(at(0)), None);
        assert_eq!([0, 1, 1, 9].map(|s| allowance.take(at(s))), [true, true, false, false]);
        assert_eq!(allowance.over(at(9)), None);
        assert_eq!((allowance.over(at(10)), allowance.over(at(10))), (Some(2), None));
        // The next time begins with its first.
        assert!(allowance.take(at(15)));
        assert_eq!(allowance.over(at(24)), None);
        assert!(allowance.take(at(24)) && !allowance.take(at(24)));
        assert_eq!(allowance.over(at(25)), Some(1));
        assert!(allowance.take(at(30)));
        assert_eq!(allowance.over(at(40)), None, "nobody was denied");
        assert!(allowance.take(at(40)));
    }
}
