//! A target over time, all its rounds in one. Pure.

use std::collections::BTreeMap;

use crate::report::span::Span;
use crate::report::{TargetReport, median};

/// Points of a line.
pub(super) type Points = Vec<(f64, Option<f64>)>;

/// Rates are means over the rounds, latencies medians.
pub(super) struct OverTime {
    pub(super) good: Points,
    pub(super) errors: Points,
    /// In microseconds.
    pub(super) p50: Points,
    pub(super) p99: Points,
}

impl OverTime {
    /// `until`: the end of the time whose figures are kept, after which only late answers come.
    pub(super) fn of(target: &TargetReport, until: Option<f64>) -> Self {
        let mut by_number: BTreeMap<u64, Vec<Span>> = BTreeMap::new();
        for span in target.rounds.iter().flat_map(|round| &round.series) {
            by_number.entry(number(span)).or_default().push(*span);
        }
        let rounds = target.rounds.len().max(1) as f64;
        let length = by_number.values().flatten().map(|span| span.seconds).next().unwrap_or(1.0);
        let last = by_number.keys().next_back().map_or(0, |last| last + 1);
        let nothing = Vec::new();
        let mut all = Self { good: Vec::new(), errors: Vec::new(), p50: Vec::new(), p99: Vec::new() };
        for number in 0..last {
            let spans = by_number.get(&number).unwrap_or(&nothing);
            // A point stands for its interval, in whose middle it is.
            let at = (number as f64 + 0.5) * length;
            let mean = |of: fn(&Span) -> f64| Some(spans.iter().map(of).sum::<f64>() / rounds);
            let middle = |of: fn(&Span) -> Option<f64>| {
                let known: Vec<f64> = spans.iter().filter_map(of).collect();
                (!known.is_empty()).then(|| median(known.into_iter()))
            };
            if until.is_none_or(|until| at < until) {
                all.good.push((at, mean(|span| span.rps)));
            }
            all.errors.push((at, mean(|span| span.eps)));
            all.p50.push((at, middle(|span| span.p50_us)));
            all.p99.push((at, middle(|span| span.p99_us)));
        }
        all
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // at most INTERVALS_MAX
fn number(span: &Span) -> u64 {
    (span.at_s / span.seconds).round().max(0.0) as u64
}
