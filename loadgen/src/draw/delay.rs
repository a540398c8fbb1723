//! How long something takes.

use std::time::Duration;

use fastrand::Rng;

use crate::limits;

/// A time, or times by a law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Delay {
    Constant(Duration),
    /// Any within, each as often.
    Uniform(Duration, Duration),
    /// The logarithm is distributed normally: most near the median, some far above.
    Lognormal {
        median: Duration,
        /// Standard deviation of the natural logarithm.
        sigma: f64,
    },
}

/// How many standard deviations of a normal distribution 99 in 100 lie below.
const NORMAL_P99: f64 = 2.326_347_874_040_841;

impl Delay {
    pub const NONE: Self = Self::Constant(Duration::ZERO);

    /// The lognormal law with this median and 99th percentile, of which the median is above 0 and not above the other.
    #[must_use]
    pub fn lognormal(median: Duration, p99: Duration) -> Self {
        let sigma = (p99.as_secs_f64() / median.as_secs_f64()).ln() / NORMAL_P99;
        Self::Lognormal { median, sigma }
    }

    /// At most [`limits::DELAY_MS_MAX`].
    pub fn draw(self, rng: &mut Rng) -> Duration {
        let drawn = match self {
            Self::Constant(time) => return time,
            Self::Uniform(least, most) => least + (most.saturating_sub(least)).mul_f64(rng.f64()),
            Self::Lognormal { median, sigma } => {
                Duration::try_from_secs_f64(median.as_secs_f64() * (sigma * normal(rng)).exp())
                    .unwrap_or(Duration::MAX)
            }
        };
        drawn.min(Duration::from_millis(limits::DELAY_MS_MAX))
    }
}

/// A number of the standard normal distribution (Box and Muller 1958).
fn normal(rng: &mut Rng) -> f64 {
    let radius = (-2.0 * (1.0 - rng.f64()).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.f64()).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_follow_their_laws() {
        let (ms, mut rng) = (Duration::from_millis, Rng::with_seed(3));
        let mut percentiles = |delay: Delay| {
            let mut drawn: Vec<Duration> = (0..100_000).map(|_| delay.draw(&mut rng)).collect();
            drawn.sort_unstable();
            [0, 50_000, 99_000, 99_999].map(|at| drawn[at].as_secs_f64() * 1_000.0)
        };
        let near = |found: f64, meant: f64| assert!((found / meant - 1.0).abs() < 0.06, "{found} {meant}");
        let [_, median, p99, most] = percentiles(Delay::lognormal(ms(5), ms(50)));
        near(median, 5.0);
        near(p99, 50.0);
        assert!(most > 100.0 && most <= 60_000.0, "{most}");
        let [least, median, p99, most] = percentiles(Delay::Uniform(ms(10), ms(20)));
        near(median, 15.0);
        near(p99, 19.9);
        assert!(least >= 10.0 && most <= 20.0, "{least} {most}");
        assert_eq!(Delay::Constant(ms(7)).draw(&mut rng), ms(7));
        assert_eq!(Delay::lognormal(ms(7), ms(7)).draw(&mut rng), ms(7), "no spread");
    }
}
