//! Axes: from values to places, and the values that are worth a line. Pure.

/// How values lie along an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    Linear {
        from: f64,
        to: f64,
    },
    /// Both ends are above 0.
    Log {
        from: f64,
        to: f64,
    },
}

impl Scale {
    /// From 0 to a round number that is not below `most`.
    #[must_use]
    pub fn from_zero(most: f64) -> Self {
        let most = if most > 0.0 { most } else { 1.0 };
        let step = step_for(most);
        Self::Linear { from: 0.0, to: (most / step).ceil() * step }
    }

    /// Whole powers of ten around the values from `least` to `most`, two at least.
    #[must_use]
    pub fn decades(least: f64, most: f64) -> Self {
        let least = if least > 0.0 { least.log10().floor() } else { 0.0 };
        let most = if most > 0.0 { most.log10().ceil() } else { 0.0 };
        Self::Log { from: 10f64.powf(least), to: 10f64.powf(most.max(least + 1.0)) }
    }

    /// 0 at its begin, 1 at its end; values beyond lie at the ends.
    #[must_use]
    pub fn share(self, value: f64) -> f64 {
        let share = match self {
            Self::Linear { from, to } => (value - from) / (to - from),
            Self::Log { from, to } => (value.max(from) / from).ln() / (to / from).ln(),
        };
        share.clamp(0.0, 1.0)
    }

    /// Values to mark, rising: on a log axis of few decades 1, 2 and 5 of each, otherwise 1.
    #[must_use]
    pub fn ticks(self) -> Vec<f64> {
        match self {
            Self::Linear { from, to } => {
                let step = step_for(to - from);
                let count = ((to - from) / step + 1e-9).floor();
                let mut ticks = Vec::new();
                while (ticks.len() as f64) <= count {
                    ticks.push(from + step * ticks.len() as f64);
                }
                ticks
            }
            Self::Log { from, to } => {
                let decades = (to / from).log10().round();
                let of_each: &[f64] = if decades <= 3.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
                let mut ticks = Vec::new();
                let mut decade = from;
                while decade <= to * 1.001 {
                    ticks.extend(of_each.iter().map(|one| one * decade).filter(|tick| *tick <= to * 1.001));
                    decade *= 10.0;
                }
                ticks
            }
        }
    }
}

/// 1, 2 or 5 times a power of ten, so that there are four to ten steps.
fn step_for(length: f64) -> f64 {
    let power = 10f64.powf((length / 4.0).log10().floor());
    let steps = [5.0, 2.0, 1.0].map(|one| one * power);
    steps.into_iter().find(|step| length / step >= 4.0).unwrap_or(power)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ticks_are_few_in_order_and_within(least in 0.0..1e6f64, most in 0.001..1e9f64) {
            for scale in [Scale::from_zero(most), Scale::decades(least.min(most), most)] {
                let ticks = scale.ticks();
                prop_assert!((2..=14).contains(&ticks.len()), "{scale:?} {ticks:?}");
                let shares: Vec<f64> = ticks.iter().map(|tick| scale.share(*tick)).collect();
                prop_assert!(shares.is_sorted() && shares[0].abs() < 1e-9, "{shares:?}");
                prop_assert!(scale.share(most) <= 1.0 && scale.share(most) > 0.0);
            }
        }
    }

    #[test]
    fn axes_end_at_round_numbers() {
        assert_eq!(Scale::from_zero(1_730.0), Scale::Linear { from: 0.0, to: 1_800.0 });
        assert_eq!(Scale::from_zero(0.0), Scale::Linear { from: 0.0, to: 1.0 });
        assert_eq!(Scale::decades(35.0, 1_200.0), Scale::Log { from: 10.0, to: 10_000.0 });
        let middle = Scale::Log { from: 1.0, to: 100.0 }.share(10.0);
        assert!((middle - 0.5).abs() < 1e-12);
    }
}
