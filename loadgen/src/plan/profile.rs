//! A rate that changes over time: ramps and steps. Pure.

use std::time::Duration;

/// A rate a second over time: pieces, in each of which it stays or changes evenly.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile(Vec<Piece>);

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Piece {
    /// Seconds; the last may be endless.
    pub seconds: f64,
    /// A second, at its begin and end.
    pub from: f64,
    pub to: f64,
}

impl Piece {
    /// Arrivals within it.
    fn area(&self) -> f64 {
        // An endless piece keeps its rate, and 0 times infinity is no number.
        if self.from + self.to == 0.0 { 0.0 } else { f64::midpoint(self.from, self.to) * self.seconds }
    }

    /// Seconds from its begin until `area` arrivals have come.
    fn when(&self, area: f64) -> f64 {
        if area <= 0.0 {
            return 0.0;
        }
        let slope = (self.to - self.from) / self.seconds;
        // The root of from t + slope t² / 2 = area, in the form in which nothing cancels.
        2.0 * area / (self.from + (self.from * self.from + 2.0 * slope * area).max(0.0).sqrt())
    }
}

impl Profile {
    #[must_use]
    pub fn new(pieces: Vec<Piece>) -> Self {
        Self(pieces)
    }

    /// For ever.
    #[must_use]
    pub fn constant(rate: f64) -> Self {
        Self(vec![Piece { seconds: f64::INFINITY, from: rate, to: rate }])
    }

    #[must_use]
    pub fn pieces(&self) -> &[Piece] {
        &self.0
    }

    /// The highest rate.
    #[must_use]
    pub fn most(&self) -> f64 {
        self.0.iter().flat_map(|piece| [piece.from, piece.to]).fold(0.0, f64::max)
    }

    /// The rate if it is one and the same.
    #[must_use]
    pub fn constant_rate(&self) -> Option<f64> {
        match self.0.as_slice() {
            [Piece { from, to, .. }] if from.to_bits() == to.to_bits() => Some(*from),
            _ => None,
        }
    }

    /// Its time, zero if it is endless.
    #[must_use]
    pub fn length(&self) -> Duration {
        Duration::try_from_secs_f64(self.0.iter().map(|piece| piece.seconds).sum()).unwrap_or_default()
    }

    /// The same in so much of the time.
    #[must_use]
    pub fn shortened(&self, by: f64) -> Self {
        Self(self.0.iter().map(|piece| Piece { seconds: piece.seconds / by, ..*piece }).collect())
    }
}

/// Finds when the area under a profile reaches rising values.
#[derive(Debug)]
pub struct Clock {
    profile: Profile,
    /// The current piece, and the seconds and the area before it.
    at: usize,
    seconds: f64,
    area: f64,
}

impl Clock {
    #[must_use]
    pub fn new(profile: Profile) -> Self {
        Self { profile, at: 0, seconds: 0.0, area: 0.0 }
    }

    /// Seconds from the start until the profile's area is `area`, which never falls from call to call; `None` when the
    /// profile ends before.
    pub fn when(&mut self, area: f64) -> Option<f64> {
        loop {
            let piece = self.profile.0.get(self.at)?;
            let end = self.area + piece.area();
            if area < end {
                return Some(self.seconds + piece.when(area - self.area));
            }
            (self.area, self.seconds, self.at) = (end, self.seconds + piece.seconds, self.at + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a failed unwrap is a failed test
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against the plain sum of many thin slices.
        #[test]
        fn areas_are_those_under_the_rate(
            pieces in prop::collection::vec((1u32..50, 0u32..1_000, 0u32..1_000), 1..6),
            share in 0.0..1.0f64,
        ) {
            let piece = |&(tenths, from, to): &(u32, u32, u32)| {
                Piece { seconds: f64::from(tenths) / 10.0, from: from.into(), to: to.into() }
            };
            let profile = Profile::new(pieces.iter().map(piece).collect());
            let whole: f64 = profile.pieces().iter().map(Piece::area).sum();
            let area = whole * share;
            let Some(when) = Clock::new(profile.clone()).when(area) else {
                prop_assert!(area >= whole);
                return Ok(());
            };
            let slices = 20_000;
            let mut sum = 0.0;
            let mut begin = 0.0;
            for piece in profile.pieces() {
                for slice in 0..slices {
                    let middle = (f64::from(slice) + 0.5) / f64::from(slices);
                    if begin + piece.seconds * middle < when {
                        sum += (piece.from + (piece.to - piece.from) * middle) * piece.seconds / f64::from(slices);
                    }
                }
                begin += piece.seconds;
            }
            prop_assert!((sum - area).abs() < 1.0, "{sum} {area} at {when}");
            prop_assert!(Clock::new(profile).when(whole + 1.0).is_none());
        }
    }

    #[test]
    fn a_pause_has_no_arrivals() {
        let piece = |seconds, from, to| Piece { seconds, from, to };
        let mut clock =
            Clock::new(Profile::new(vec![piece(1.0, 2.0, 2.0), piece(5.0, 0.0, 0.0), piece(2.0, 0.0, 2.0)]));
        let times: Vec<f64> = (0..4).filter_map(|count| clock.when(f64::from(count))).collect();
        assert_eq!(times.len(), 4);
        for (found, meant) in times.iter().zip([0.0, 0.5, 6.0, 6.0 + 2f64.sqrt()]) {
            assert!((found - meant).abs() < 1e-12, "{times:?}");
        }
        assert!(clock.when(4.0).is_none());
    }
}
