//! One of several, by weight.

use fastrand::Rng;

/// Items, each drawn in proportion to its weight. Never empty.
#[derive(Clone, Debug, PartialEq)]
pub struct Weighted<T> {
    items: Vec<T>,
    /// The sum of the weights up to and with each item.
    sums: Vec<u64>,
}

impl<T> Weighted<T> {
    /// `None` if there is no item, or none has a weight.
    #[must_use]
    pub fn new(weighted: impl IntoIterator<Item = (T, u32)>) -> Option<Self> {
        let (mut items, mut sums, mut sum) = (Vec::new(), Vec::new(), 0);
        for (item, weight) in weighted {
            sum += u64::from(weight);
            items.push(item);
            sums.push(sum);
        }
        (sum > 0).then_some(Self { items, sums })
    }

    #[must_use]
    pub fn one(item: T) -> Self {
        Self { items: vec![item], sums: vec![1] }
    }

    /// The index of an item. Of one alone nothing is drawn, which costs nothing.
    pub fn draw(&self, rng: &mut Rng) -> usize {
        match self.sums.as_slice() {
            [] | [_] => 0,
            [.., all] => {
                let point = rng.u64(..*all);
                self.sums.partition_point(|sum| *sum <= point)
            }
        }
    }

    /// Other items with the same weights.
    pub fn map<U>(&self, item: impl FnMut(&T) -> U) -> Weighted<U> {
        Weighted { items: self.items.iter().map(item).collect(), sums: self.sums.clone() }
    }

    #[must_use]
    pub fn items(&self) -> &[T] {
        &self.items
    }

    /// The share of each item, in the order of the items.
    pub fn shares(&self) -> impl Iterator<Item = f64> {
        let all = self.sums.last().copied().unwrap_or(1) as f64;
        (0..self.sums.len()).map(move |at| {
            let before = at.checked_sub(1).map_or(0, |before| self.sums[before]);
            (self.sums[at] - before) as f64 / all
        })
    }
}

impl<T> std::ops::Index<usize> for Weighted<T> {
    type Output = T;

    fn index(&self, at: usize) -> &T {
        &self.items[at]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn shares_are_those_of_the_weights(weights in prop::collection::vec(0u32..20, 1..6), seed: u64) {
            let Some(weighted) = Weighted::new(weights.iter().map(|weight| (*weight, *weight))) else {
                prop_assert!(weights.iter().all(|weight| *weight == 0));
                return Ok(());
            };
            let (mut rng, all) = (fastrand::Rng::with_seed(seed), 4_000);
            let mut drawn = vec![0u32; weights.len()];
            (0..all).for_each(|_| drawn[weighted.draw(&mut rng)] += 1);
            for ((count, share), weight) in drawn.iter().zip(weighted.shares()).zip(&weights) {
                // Five standard deviations at most.
                prop_assert!((f64::from(*count) / f64::from(all) - share).abs() < 0.04, "{drawn:?}");
                prop_assert!(*weight > 0 || *count == 0);
            }
        }
    }
}
