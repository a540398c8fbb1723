//! A part of a round, as it is published.

use serde::Serialize;

use crate::intervals::Interval;

/// What ended within it. Rates are a second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Span {
    /// Seconds from the begin of the time whose figures are kept.
    pub at_s: f64,
    pub seconds: f64,
    /// Good answers a second.
    pub rps: f64,
    /// Errors a second.
    pub eps: f64,
    /// Latencies in microseconds; null where nothing was answered.
    pub p50_us: Option<f64>,
    pub p99_us: Option<f64>,
    pub max_us: Option<f64>,
}

impl Span {
    #[must_use]
    pub fn of(interval: &Interval) -> Self {
        let seconds = interval.length.as_secs_f64();
        let latency = &interval.latency;
        let us = |ns: u64| (!latency.is_empty()).then(|| ns as f64 / 1_000.0);
        Self {
            at_s: f64::from(interval.number) * seconds,
            seconds,
            rps: interval.good as f64 / seconds,
            eps: interval.errors as f64 / seconds,
            p50_us: us(latency.value_at_quantile(0.5)),
            p99_us: us(latency.value_at_quantile(0.99)),
            max_us: us(latency.max()),
        }
    }
}
