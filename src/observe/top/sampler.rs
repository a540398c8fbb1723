//! A core's end: which of its requests tell their host name, and for how much each stands.
//!
//! Of requests, one in [`TOP_REQUESTS`] tells, and stands for so many; of octets, whichever request has one in [`TOP_OCTETS`]
//! of them, so that a request tells by its size, and large ones always do; errors all tell. The gaps between those that tell
//! are drawn, so that no client's rhythm hides in them. What is told is right on average, and a request that does not tell
//! costs two subtractions.

use crate::limits::{HOST_OCTETS_MAX, TOP_OCTETS, TOP_REQUESTS, TOP_RING_OCTETS};
use crate::observe::CoreMetrics;
use crate::observe::cell::Counter;
use rtrb::{Consumer, Producer, RingBuffer};
use std::sync::Arc;

/// Stays with its core.
pub struct TopSink {
    random: fastrand::Rng,
    /// Until the next that tells.
    requests: u64,
    octets: u64,
    ring: Producer<u8>,
    metrics: Arc<CoreMetrics>,
}

/// The other end.
pub struct TopSource(Consumer<u8>);

/// For how much a request stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Weights {
    pub(super) requests: u64,
    pub(super) errors: u64,
    pub(super) octets: u64,
}

/// Requests that reached no service, whose host name is a client's word. All of them, not drawn.
#[derive(Debug, Default)]
pub struct Nowhere {
    pub(super) requests: Counter,
    pub(super) errors: Counter,
    pub(super) octets: Counter,
}

impl Nowhere {
    #[inline]
    pub fn count(&self, octets: u64, is_error: bool) {
        self.requests.inc();
        self.errors.add(u64::from(is_error));
        self.octets.add(octets);
    }
}

/// Both ends. `metrics` are the core's; what finds no room is counted there.
#[must_use]
pub fn ring(seed: u64, metrics: Arc<CoreMetrics>) -> (TopSink, TopSource) {
    let (ring, source) = RingBuffer::new(TOP_RING_OCTETS);
    let mut random = fastrand::Rng::with_seed(seed);
    let (requests, octets) = (gap(&mut random, TOP_REQUESTS), gap(&mut random, TOP_OCTETS));
    (TopSink { random, requests, octets, ring, metrics }, TopSource(source))
}

/// On average `mean`, and at least 1.
fn gap(random: &mut fastrand::Rng, mean: u64) -> u64 {
    random.u64(1..2 * mean)
}

impl TopSink {
    /// Whether this request tells its host name, and for how much it then stands.
    #[inline]
    pub fn draw(&mut self, octets: u64, is_error: bool) -> Option<Weights> {
        self.requests -= 1;
        let is_small = octets < self.octets;
        if is_small {
            self.octets -= octets;
        }
        if self.requests > 0 && is_small && !is_error {
            return None;
        }
        Some(self.drawn(octets, is_small, is_error))
    }

    #[cold]
    fn drawn(&mut self, octets: u64, is_small: bool, is_error: bool) -> Weights {
        let mut weights = Weights { errors: u64::from(is_error), ..Weights::default() };
        if self.requests == 0 {
            weights.requests = TOP_REQUESTS;
            self.requests = gap(&mut self.random, TOP_REQUESTS);
        }
        if octets >= 2 * TOP_OCTETS {
            weights.octets = octets;
        } else if !is_small {
            let mut beyond = octets - self.octets;
            loop {
                weights.octets += TOP_OCTETS;
                let gap = gap(&mut self.random, TOP_OCTETS);
                if gap > beyond {
                    self.octets = gap - beyond;
                    break;
                }
                beyond -= gap;
            }
        }
        weights
    }

    /// Tells of a request of a host name, or of one of those that a wildcard stands for. No system call, no allocation.
    pub fn tell(&mut self, host: &[u8], by_wildcard: bool, weights: Weights) {
        let labels = match by_wildcard {
            true => host.iter().position(|octet| *octet == b'.').map_or(host, |dot| &host[dot..]),
            false => host,
        };
        let mut frame = Frame::new();
        frame.push(&weights.requests.to_le_bytes());
        frame.push(&weights.errors.to_le_bytes());
        frame.push(&weights.octets.to_le_bytes());
        frame.push(if by_wildcard { b"*" } else { b"" });
        frame.push(labels);
        if self.ring.push_entire_slice(frame.finish()).is_err() {
            self.metrics.top_dropped.inc();
        }
    }
}

/// Weights, then the name; its length before all.
struct Frame {
    octets: [u8; FRAME_OCTETS],
    length: usize,
}

const WEIGHTS_OCTETS: usize = 3 * 8;
const FRAME_OCTETS: usize = 1 + WEIGHTS_OCTETS + HOST_OCTETS_MAX;
const _: () = assert!(HOST_OCTETS_MAX <= u8::MAX as usize, "the name's length is an octet");

impl Frame {
    fn new() -> Frame {
        Frame { octets: [0; FRAME_OCTETS], length: 1 }
    }

    /// What a name has beyond its most is cut off.
    fn push(&mut self, octets: &[u8]) {
        let room = &mut self.octets[self.length..];
        let length = octets.len().min(room.len());
        room[..length].copy_from_slice(&octets[..length]);
        self.length += length;
    }

    fn finish(&mut self) -> &[u8] {
        let name = self.length - 1 - WEIGHTS_OCTETS;
        self.octets[0] = u8::try_from(name).unwrap_or(u8::MAX);
        &self.octets[..self.length]
    }
}

impl TopSource {
    /// Takes out what is there.
    pub(super) fn take(&mut self, mut told: impl FnMut(&str, Weights)) {
        let Ok(chunk) = self.0.read_chunk(self.0.slots()) else { return };
        let (first, second) = chunk.as_slices();
        let octets = [first, second].concat();
        chunk.commit_all();
        let mut rest = octets.as_slice();
        // Frames are pushed whole.
        while let Some((name, weights, after)) = split(rest) {
            if let Ok(name) = std::str::from_utf8(name) {
                told(name, weights);
            }
            rest = after;
        }
    }
}

fn split(octets: &[u8]) -> Option<(&[u8], Weights, &[u8])> {
    let (length, rest) = octets.split_first()?;
    let mut rest = rest;
    let mut number = || {
        let (number, after) = rest.split_first_chunk::<8>()?;
        rest = after;
        Some(u64::from_le_bytes(*number))
    };
    let weights = Weights { requests: number()?, errors: number()?, octets: number()? };
    let (name, after) = rest.split_at_checked(usize::from(*length))?;
    Some((name, weights, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(source: &mut TopSource) -> Vec<(String, Weights)> {
        let mut all = Vec::new();
        source.take(|name, weights| all.push((name.to_owned(), weights)));
        all
    }

    #[test]
    fn what_is_told_comes_out_whole() {
        let (mut sink, mut source) = ring(1, Arc::default());
        let long = format!("{}.test", "a".repeat(248));
        let weights = Weights { requests: 32, errors: 1, octets: u64::MAX };
        sink.tell(b"a.test", false, weights);
        sink.tell(b"b.a.test", true, Weights::default());
        sink.tell(long.as_bytes(), false, weights);
        let expected = [("a.test", weights), ("*.a.test", Weights::default()), (&long, weights)];
        assert_eq!(told(&mut source), expected.map(|(name, weights)| (name.to_owned(), weights)));
        assert!(told(&mut source).is_empty());
    }

    #[test]
    fn what_finds_no_room_is_counted() {
        let metrics = Arc::<CoreMetrics>::default();
        let (mut sink, mut source) = ring(1, Arc::clone(&metrics));
        for _ in 0..TOP_RING_OCTETS {
            sink.tell(b"a.test", false, Weights::default());
        }
        assert_eq!(told(&mut source).len() as u64 + metrics.top_dropped.get(), TOP_RING_OCTETS as u64);
        sink.tell(b"a.test", false, Weights::default());
        assert_eq!(told(&mut source).len(), 1);
    }

    /// Two clients that take turns, one with small answers and one with large: both come out right.
    #[test]
    fn what_is_drawn_is_right_on_average() {
        let (mut sink, _source) = ring(7, Arc::default());
        let mut sums = [Weights::default(); 2];
        const ROUNDS: u64 = 4_000_000;
        let sizes = [1_000, 30_000];
        for _ in 0..ROUNDS {
            for (sum, octets) in sums.iter_mut().zip(sizes) {
                let drawn = sink.draw(octets, false).unwrap_or_default();
                sum.requests += drawn.requests;
                sum.octets += drawn.octets;
            }
        }
        for (sum, octets) in sums.iter().zip(sizes) {
            let near = |got: u64, is: u64| got.abs_diff(is) < is / 10;
            assert!(near(sum.requests, ROUNDS), "{sums:?}");
            assert!(near(sum.octets, ROUNDS * octets), "{sums:?}");
        }
    }

    #[test]
    fn errors_and_large_answers_always_tell() {
        let (mut sink, _source) = ring(7, Arc::default());
        let mut sum = Weights::default();
        for _ in 0..1_000 {
            let drawn = sink.draw(10, true).unwrap_or_default();
            sum.errors += drawn.errors;
            let drawn = sink.draw(5 * TOP_OCTETS, false).unwrap_or_default();
            sum.octets += drawn.octets;
        }
        assert_eq!(sum.errors, 1_000);
        assert!(sum.octets.abs_diff(5_000 * TOP_OCTETS) <= 2 * TOP_OCTETS, "{sum:?}");
    }
}
