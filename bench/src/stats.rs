//! Medians, paired ratios and their interval.
use serde::Serialize;

use crate::limits::BOOTSTRAP_DRAWS;

/// The middle value; the mean of the middle two of an even number; NaN of none.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        len if len % 2 == 1 => sorted[len / 2],
        len => (sorted[len / 2 - 1] + sorted[len / 2]) / 2.0,
    }
}

/// Smallest, middle and largest of some figures, and where the median would lie in 95 of 100 repetitions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    pub min: f64,
    pub median: f64,
    pub max: f64,
    pub low: f64,
    pub high: f64,
}

impl Spread {
    /// Of `values`, one for each round. The interval is a percentile bootstrap of the median, the same for
    /// the same values.
    pub fn of(values: &[f64]) -> Self {
        let (low, high) = bootstrap_of_median(values);
        Self {
            min: values.iter().copied().fold(f64::NAN, f64::min),
            median: median(values),
            max: values.iter().copied().fold(f64::NAN, f64::max),
            low,
            high,
        }
    }
}

/// `ours[i] / theirs[i]`: both were taken in the same round, so that what disturbed the round falls out.
pub fn paired_ratios(ours: &[f64], theirs: &[f64]) -> Vec<f64> {
    ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect()
}

fn bootstrap_of_median(values: &[f64]) -> (f64, f64) {
    if values.is_empty() {
        return (f64::NAN, f64::NAN);
    }
    let mut random = fastrand::Rng::with_seed(1);
    let mut medians: Vec<f64> = (0..BOOTSTRAP_DRAWS)
        .map(|_| median(&values.iter().map(|_| values[random.usize(..values.len())]).collect::<Vec<_>>()))
        .collect();
    medians.sort_by(f64::total_cmp);
    (medians[BOOTSTRAP_DRAWS * 25 / 1000], medians[BOOTSTRAP_DRAWS * 975 / 1000])
}

/// Whether a figure keeps its goal: by its interval, so that luck decides nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The interval's upper end keeps the goal.
    Pass,
    /// Even its lower end misses it.
    Miss,
    /// The goal lies within the interval: more rounds are needed.
    NotResolved,
}

impl Verdict {
    /// Of `spread` against `goal`, an upper bound.
    pub fn of(spread: &Spread, goal: f64) -> Self {
        if spread.high <= goal {
            Self::Pass
        } else if spread.low > goal {
            Self::Miss
        } else {
            Self::NotResolved
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_of_odd_even_and_none() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn a_disturbed_round_falls_out_of_paired_ratios() {
        let ratios = paired_ratios(&[10.0, 40.0, 10.0], &[20.0, 80.0, 20.0]);
        assert_eq!(ratios, vec![0.5; 3]);
    }

    #[test]
    fn interval_holds_the_median_and_lies_within_the_range() {
        let spread = Spread::of(&[0.7, 0.72, 0.74, 0.9, 0.71]);
        assert_eq!(spread.median, 0.72);
        assert!(spread.min <= spread.low && spread.low <= spread.median);
        assert!(spread.median <= spread.high && spread.high <= spread.max);
    }

    #[test]
    fn verdicts_go_by_the_interval() {
        let spread = Spread { min: 0.6, median: 0.7, max: 0.9, low: 0.65, high: 0.75 };
        assert_eq!(Verdict::of(&spread, 0.75), Verdict::Pass);
        assert_eq!(Verdict::of(&spread, 0.70), Verdict::NotResolved);
        assert_eq!(Verdict::of(&spread, 0.64), Verdict::Miss);
    }
}
