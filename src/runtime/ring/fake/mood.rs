//! How a fake kernel behaves: chances in percent, drawn once per case.

use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
pub(in crate::runtime::ring) struct Mood {
    /// An operation that could go on does so in a turn.
    pub(in crate::runtime::ring) pace: u8,
    /// An operation fails, or is interrupted, for no reason of the driver's.
    pub(in crate::runtime::ring) trouble: u8,
    /// A multishot ends though it need not.
    pub(in crate::runtime::ring) stop: u8,
    /// Fewer octets move than could.
    pub(in crate::runtime::ring) short: u8,
    /// A cancel misses its operation, which goes on.
    pub(in crate::runtime::ring) miss: u8,
    /// Completions are there but not collected in the same turn.
    pub(in crate::runtime::ring) late: u8,
    /// Buffers that one receive fills in a turn at most; the real kernel stops at 32.
    pub(in crate::runtime::ring) burst: u8,
    /// Cancels work, and before anything else: what the bound on received octets rests on.
    pub(in crate::runtime::ring) prompt: bool,
}

impl Mood {
    /// Does at once, and whole, whatever is asked.
    pub(in crate::runtime::ring) const CALM: Mood =
        Mood { pace: 100, trouble: 0, stop: 0, short: 0, miss: 0, late: 0, burst: 32, prompt: true };

    /// From nearly calm to vicious.
    pub(in crate::runtime::ring) fn any() -> impl Strategy<Value = Mood> {
        let percents = (20u8..=100, 0u8..8, 0u8..50, 0u8..60, 0u8..60, 0u8..50);
        (percents, 1u8..=32, any::<bool>(), any::<bool>()).prop_map(|(percents, burst, steady, prompt)| {
            let (pace, trouble, stop, short, miss, late) = percents;
            let trouble = if steady { 0 } else { trouble };
            let mood = Mood { pace, trouble, stop, short, miss, late, burst, prompt };
            if prompt { Mood { pace: 100, miss: 0, late: 0, ..mood } } else { mood }
        })
    }
}
