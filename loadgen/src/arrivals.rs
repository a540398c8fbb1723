//! When requests of an open loop are meant to start. Pure: offsets from the window's start, in order.

use std::time::Duration;

use crate::plan::{Clock, Profile};

/// How arrivals lie in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spacing {
    /// All gaps are equal.
    Even,
    /// Gaps are exponential, as from many clients that know nothing of one another.
    Poisson,
}

/// The arrivals under a profile, in order; endless if it is.
#[derive(Debug)]
pub struct Arrivals {
    clock: Clock,
    spacing: Spacing,
    /// The area under the profile before the next arrival: how many have come, or would have in the mean.
    area: f64,
    rng: fastrand::Rng,
}

impl Arrivals {
    /// The same seed gives the same arrivals.
    #[must_use]
    pub fn new(profile: Profile, spacing: Spacing, seed: u64) -> Self {
        Self { clock: Clock::new(profile), spacing, area: 0.0, rng: fastrand::Rng::with_seed(seed) }
    }
}

impl Iterator for Arrivals {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        if self.spacing == Spacing::Poisson {
            self.area -= (1.0 - self.rng.f64()).ln();
        }
        let seconds = self.clock.when(self.area)?;
        if self.spacing == Spacing::Even {
            self.area += 1.0;
        }
        Duration::try_from_secs_f64(seconds).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn even_arrivals_keep_the_rate(rate in 0.1..1e6f64, n in 1usize..5_000) {
            let last = Arrivals::new(Profile::constant(rate), Spacing::Even, 1).nth(n).map(|at| at.as_secs_f64());
            let meant = n as f64 / rate;
            prop_assert!(last.is_some_and(|last| (last - meant).abs() <= 1e-9 + meant * 1e-12));
        }

        #[test]
        fn arrivals_are_in_order_and_repeatable(rate in 0.1..1e6f64, seed: u64, poisson: bool) {
            let spacing = if poisson { Spacing::Poisson } else { Spacing::Even };
            let arrivals: Vec<_> = Arrivals::new(Profile::constant(rate), spacing, seed).take(500).collect();
            prop_assert!(arrivals.is_sorted());
            prop_assert!(Arrivals::new(Profile::constant(rate), spacing, seed).take(500).eq(arrivals));
        }
    }

    #[test]
    fn poisson_gaps_have_the_mean_and_the_spread() {
        let (rate, n) = (1_000.0, 100_000);
        let arrivals: Vec<f64> = Arrivals::new(Profile::constant(rate), Spacing::Poisson, 7)
            .take(n)
            .map(|at| at.as_secs_f64())
            .collect();
        let gaps: Vec<f64> = arrivals.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean * rate - 1.0).abs() < 0.02, "{mean}");
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.02, "{variance}");
    }
}
