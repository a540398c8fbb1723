//! Power of two choices (Mitzenmacher 2001; R-005): draw two, take the less loaded.

/// Picks one of `count` candidates: of two drawn at random, the one with the smaller load; `None` if there is
/// none that `load` accepts.
///
/// `load(i)` is the candidate's load, or `None` if it must not be picked; `draw(n)` is uniform below `n`. Looks at
/// two candidates as long as both may be picked, at all of them at most; allocates nothing.
pub fn two_choices(
    count: usize,
    mut draw: impl FnMut(usize) -> usize,
    mut load: impl FnMut(usize) -> Option<u32>,
) -> Option<usize> {
    if count <= 1 {
        return (count == 1 && load(0).is_some()).then_some(0);
    }
    let start = draw(count);
    let (first, first_load) = next_usable(start, count, &mut load)?;
    // A second start that is uniform over the others, so that no neighbour of an unusable one is preferred
    // more than it must be.
    let start = (first + 1 + draw(count - 1)) % count;
    match next_usable(start, count, &mut load) {
        Some((second, second_load)) if second_load < first_load => Some(second),
        _ => Some(first),
    }
}

fn next_usable(
    start: usize,
    count: usize,
    load: &mut impl FnMut(usize) -> Option<u32>,
) -> Option<(usize, u32)> {
    (0..count).map(|step| (start + step) % count).find_map(|at| load(at).map(|load| (at, load)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn draws(seed: u64) -> impl FnMut(usize) -> usize {
        let mut rng = fastrand::Rng::with_seed(seed);
        move |n| rng.usize(..n)
    }

    proptest! {
        #[test]
        fn picks_only_what_may_be_picked(seed: u64, loads in prop::collection::vec(prop::option::of(0u32..9), 0..12)) {
            let picked = two_choices(loads.len(), draws(seed), |i| loads[i]);
            match picked {
                Some(at) => prop_assert!(loads[at].is_some()),
                None => prop_assert!(loads.iter().all(Option::is_none)),
            }
        }

        #[test]
        fn the_most_loaded_is_picked_only_when_alone(seed: u64, count in 2usize..9) {
            let picked = two_choices(count, draws(seed), |i| Some(i as u32));
            prop_assert_ne!(picked, Some(count - 1));
        }
    }

    /// equal loads give equal shares, within 5 % of 25 % over 10^5 picks.
    #[test]
    fn equal_loads_give_equal_shares() {
        let mut picks = [0u32; 4];
        let mut draw = draws(1);
        for _ in 0..100_000 {
            picks[two_choices(4, &mut draw, |_| Some(7)).expect("all may be picked")] += 1;
        }
        assert!(picks.iter().all(|n| (23_750..=26_250).contains(n)), "{picks:?}");
    }

    /// with in-flight counts, an endpoint ten times slower than three others gets at most 15 %.
    #[test]
    fn a_slow_endpoint_gets_little() {
        let (mut draw, mut in_flight, mut picks) = (draws(2), [0u32; 4], [0u32; 4]);
        let mut ends: std::collections::BinaryHeap<std::cmp::Reverse<(u64, usize)>> = Default::default();
        for now in 0..100_000u64 {
            while let Some(std::cmp::Reverse((end, at))) = ends.peek().copied() {
                if end > now {
                    break;
                }
                ends.pop();
                in_flight[at] -= 1;
            }
            let at = two_choices(4, &mut draw, |i| Some(in_flight[i])).expect("all may be picked");
            picks[at] += 1;
            in_flight[at] += 1;
            ends.push(std::cmp::Reverse((now + if at == 0 { 100 } else { 10 }, at)));
        }
        assert!(picks[0] < 15_000, "{picks:?}");
    }
}
