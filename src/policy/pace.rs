//! Whether a peer that is waited for is fast enough: not each octet, but the mean while it was waited for.

use std::time::Duration;

/// One peer's pace. Only time that was spent waiting for it counts, so that it is not blamed for others.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Octets a second that it must come to; 0 for any.
    least: u64,
    /// The longest single wait, and the time over which the mean is taken.
    window: Duration,
    waited: Duration,
    octets: u64,
}

impl Pace {
    #[must_use]
    pub fn new(least: u64, window: Duration) -> Pace {
        Pace { least, window, waited: Duration::ZERO, octets: 0 }
    }

    /// The longest single wait.
    #[must_use]
    pub fn window(&self) -> Duration {
        self.window
    }

    /// After a wait that brought so many octets: true if the peer is fast enough so far.
    #[must_use]
    pub fn is_kept(&mut self, waited: Duration, octets: u64) -> bool {
        self.waited = self.waited.saturating_add(waited);
        self.octets = self.octets.saturating_add(octets);
        if self.waited < self.window {
            return true;
        }
        let (waited, octets) = (std::mem::take(&mut self.waited), std::mem::take(&mut self.octets));
        u128::from(octets) * 1_000_000 >= u128::from(self.least) * waited.as_micros()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn the_mean_counts_and_not_each_wait() {
        let mut pace = Pace::new(100, ms(1_000));
        assert!(pace.is_kept(ms(900), 0), "the window is not over");
        assert!(pace.is_kept(ms(100), 100));
        assert!(pace.is_kept(ms(0), 1_000_000) && pace.is_kept(ms(999), 0), "what came at once counts");
        assert!(pace.is_kept(ms(1), 0));
        assert!(pace.is_kept(ms(999), 99) && !pace.is_kept(ms(1), 0));
        // A new window begins, without what was before.
        assert!(pace.is_kept(ms(500), 0) && pace.is_kept(ms(500), 100));
    }

    proptest! {
        /// Who always keeps the pace is never found too slow; who comes to half of it, as soon as the window is over.
        #[test]
        fn nobody_is_wronged_and_nobody_escapes(
            least in 1u64..1_000,
            window in 100u64..10_000,
            waits in prop::collection::vec(1u64..500, 1..200),
        ) {
            let (mut fast, mut slow) = (Pace::new(least, ms(window)), Pace::new(least, ms(window)));
            let (mut waited, mut found) = (0, false);
            for wait in waits {
                prop_assert!(fast.is_kept(ms(wait), (least * wait).div_ceil(1_000)));
                found |= !slow.is_kept(ms(wait), least * wait / 2_000);
                waited += wait;
                prop_assert_eq!(found, waited >= window);
            }
            prop_assert!(Pace::new(0, ms(window)).is_kept(ms(waited), 0));
        }
    }
}
