//! One of many endpoints.
use std::hint::black_box;

use ringway::pick::two_choices;

use super::timing::Case;

pub(super) fn cases() -> Vec<Case> {
    vec![of("pick of 2", 2), of("pick of 4", 4), of("pick of 64", 64)]
}

fn of(name: &'static str, endpoints: usize) -> Case {
    let mut random = fastrand::Rng::with_seed(1);
    let mut in_flight = vec![0_u32; endpoints];
    Case::new(name, "power of two choices, loads changing", move |count| {
        (0..count).fold(0, |sum, _| {
            let picked =
                two_choices(endpoints, |below| random.usize(..below), |at| in_flight.get(at).copied());
            let picked = black_box(picked).unwrap_or(0);
            in_flight[picked] = (in_flight[picked] + 1) % 16;
            sum + picked as u64
        })
    })
}
