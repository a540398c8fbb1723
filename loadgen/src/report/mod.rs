//! The figures of a run as they are published: one document, written as JSON, printed as a [`table`] and drawn as a page.

pub mod span;
pub mod table;
#[cfg(test)]
mod tests;

use hdrhistogram::Histogram;
use serde::Serialize;

use self::span::Span;
use crate::plan::{Extent, Load, Piece, Plan, Turn, name_of};
use crate::record::Record;

/// A whole run. Times are in microseconds unless the name says otherwise.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub version: &'static str,
    /// What the plan says that it stands for; empty when the load was typed.
    pub about: String,
    pub seed: u64,
    pub connections: usize,
    pub rounds: u32,
    /// Whether connections were kept at all.
    pub keep_alive: bool,
    /// The share of requests that leave their connection open.
    pub keep_alive_share: f64,
    /// Requests a second of the open loop, the most that a plan asks for; null for the closed loop.
    pub rate: Option<f64>,
    /// The rates over time, warm-up first; the last piece may have no end (null). Empty for the closed loop.
    pub rates: Vec<Rate>,
    /// Connections a second beside, over time; empty without a storm.
    pub storm: Vec<Rate>,
    /// Kinds of request, and the share of each.
    pub kinds: Vec<KindReport>,
    pub timeout_s: f64,
    /// Seconds of each turn; null where requests were counted.
    pub duration_s: Option<f64>,
    pub warmup_s: Option<f64>,
    pub targets: Vec<TargetReport>,
    /// Of each target after the first to the first: the median of the rounds' own ratios.
    pub ratios: Vec<Ratio>,
}

/// All rounds of one target: latencies of all together, the median of the rates.
#[derive(Clone, Debug, Serialize)]
pub struct TargetReport {
    pub name: String,
    pub address: String,
    #[serde(flatten)]
    pub figures: Figures,
    /// Latency at rising shares of the answers and of what timed out, as many as the figures bear.
    pub percentiles: Vec<Percentile>,
    pub rounds: Vec<Round>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Round {
    #[serde(flatten)]
    pub figures: Figures,
    /// The round over time.
    pub series: Vec<Span>,
}

/// So large a share of the answers, and of what timed out, took at most so long.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Percentile {
    /// Below 1.
    pub share: f64,
    pub us: f64,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct Rate {
    pub seconds: Option<f64>,
    pub from: f64,
    pub to: f64,
}

#[derive(Clone, Debug, Serialize)]
pub struct KindReport {
    pub method: &'static str,
    pub path: String,
    /// Octets sent with it; null for none.
    pub body: Option<String>,
    pub share: f64,
}

#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    pub requests: u64,
    /// Requests that failed, and answers of class 4xx or 5xx.
    pub errors: u64,
    /// Good answers a second.
    pub rps: f64,
    pub latency_us: Latency,
    pub statuses: Statuses,
    pub error_kinds: ErrorKinds,
    /// Sent again because a kept connection had been closed; no error.
    pub retried: u64,
}

/// From the intended start to the last octet of the answer, of all answers; and of requests that timed out, until they did: so
/// long at least.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Latency {
    pub p50: f64,
    pub p90: f64,
    pub p99: f64,
    pub p999: f64,
    pub max: f64,
    pub mean: f64,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct Statuses {
    #[serde(rename = "1xx")]
    pub interim: u64,
    #[serde(rename = "2xx")]
    pub success: u64,
    #[serde(rename = "3xx")]
    pub redirect: u64,
    #[serde(rename = "4xx")]
    pub client_error: u64,
    #[serde(rename = "5xx")]
    pub server_error: u64,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct ErrorKinds {
    pub connect: u64,
    pub reset: u64,
    pub timeout: u64,
    pub short: u64,
    pub malformed: u64,
    /// Answers of class 4xx or 5xx.
    pub status: u64,
    /// Arrivals given up because too many waited for a connection.
    pub dropped: u64,
}

#[derive(Clone, Debug, Serialize)]
pub struct Ratio {
    pub target: String,
    pub to: String,
    pub p50: f64,
    pub p99: f64,
    pub rps: f64,
}

impl Report {
    /// The document of a plan, the records of its turns, and their parts over time.
    #[must_use]
    pub fn new(plan: &Plan, records: &[(Turn, Record)], spans: &[(Turn, Span)]) -> Self {
        let targets: Vec<_> =
            (0..plan.targets.len()).filter_map(|at| target(plan, at, records, spans)).collect();
        let (duration_s, warmup_s) = match plan.extent {
            Extent::Time { warmup, keep } => (Some(keep.as_secs_f64()), Some(warmup.as_secs_f64())),
            Extent::Requests(_) => (None, None),
        };
        let rate = match &plan.load {
            Load::Open { rate, .. } => Some(rate),
            Load::Closed { .. } => None,
        };
        Self {
            version: env!("CARGO_PKG_VERSION"),
            about: plan.about.clone(),
            seed: plan.seed,
            connections: plan.connections,
            rounds: plan.rounds,
            keep_alive: plan.keep_alive > 0.0,
            keep_alive_share: plan.keep_alive,
            rate: rate.map(crate::plan::Profile::most),
            rates: rate.map(|rate| rates(rate.pieces())).unwrap_or_default(),
            storm: plan.storm.as_ref().map(|storm| rates(storm.pieces())).unwrap_or_default(),
            kinds: kinds(plan),
            timeout_s: plan.timeout.as_secs_f64(),
            duration_s,
            warmup_s,
            ratios: ratios(&targets),
            targets,
        }
    }
}

fn rates(pieces: &[Piece]) -> Vec<Rate> {
    let seconds = |piece: &Piece| piece.seconds.is_finite().then_some(piece.seconds);
    pieces.iter().map(|piece| Rate { seconds: seconds(piece), from: piece.from, to: piece.to }).collect()
}

fn kinds(plan: &Plan) -> Vec<KindReport> {
    let body = |sizes: &crate::draw::Sizes| {
        sizes.items().iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    };
    let kinds = plan.kinds.items().iter().zip(plan.kinds.shares());
    kinds
        .map(|(kind, share)| KindReport {
            method: name_of(kind.method),
            path: kind.path.clone(),
            body: kind.body.as_ref().map(body),
            share,
        })
        .collect()
}

fn target(
    plan: &Plan,
    at: usize,
    records: &[(Turn, Record)],
    spans: &[(Turn, Span)],
) -> Option<TargetReport> {
    let target = plan.targets.get(at)?;
    let counted = matches!(plan.extent, Extent::Requests(_));
    let mine: Vec<&(Turn, Record)> = records.iter().filter(|(turn, _)| turn.target == at).collect();
    let round = |(turn, record): &&(Turn, Record)| Round {
        figures: figures(record, record.rps(counted)),
        series: spans.iter().filter(|(of, _)| of == turn).map(|(_, span)| *span).collect(),
    };
    let rounds: Vec<_> = mine.iter().map(round).collect();
    let ((_, first), rest) = mine.split_first()?;
    let mut sum = first.clone();
    rest.iter().for_each(|(_, record)| sum.merge(record));
    let rps = median(rounds.iter().map(|round| round.figures.rps));
    let (name, address) = (target.name.clone(), target.address.to_string());
    let percentiles = percentiles(&sum.latency);
    Some(TargetReport { name, address, figures: figures(&sum, rps), percentiles, rounds })
}

/// Ten points for each further nine, up to the share that one answer is.
fn percentiles(latency: &Histogram<u64>) -> Vec<Percentile> {
    let count = latency.len();
    let shares = (0..).map(|step| 1.0 - 10f64.powf(-f64::from(step) / 10.0));
    let borne = shares.take_while(|share| count > 0 && 1.0 - share >= 1.0 / count as f64);
    borne.map(|share| Percentile { share, us: latency.value_at_quantile(share) as f64 / 1_000.0 }).collect()
}

fn figures(record: &Record, rps: f64) -> Figures {
    let [interim, success, redirect, client_error, server_error] = record.statuses;
    let us = |ns: u64| ns as f64 / 1_000.0;
    let at = |quantile| us(record.latency.value_at_quantile(quantile));
    let failures = record.failures;
    Figures {
        requests: record.requests(),
        errors: record.errors(),
        rps,
        latency_us: Latency {
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p999: at(0.999),
            max: us(record.latency.max()),
            mean: record.latency.mean() / 1_000.0,
        },
        statuses: Statuses { interim, success, redirect, client_error, server_error },
        error_kinds: ErrorKinds {
            connect: failures.connect,
            reset: failures.reset,
            timeout: failures.timeout,
            short: failures.short,
            malformed: failures.malformed,
            status: record.bad_statuses(),
            dropped: record.dropped,
        },
        retried: record.retried,
    }
}

fn ratios(targets: &[TargetReport]) -> Vec<Ratio> {
    let Some((first, others)) = targets.split_first() else { return Vec::new() };
    let ratio = |other: &TargetReport| {
        let pairs = || other.rounds.iter().zip(&first.rounds);
        let of = |figure: fn(&Figures) -> f64| {
            median(pairs().map(|(a, b)| quotient(figure(&a.figures), figure(&b.figures))))
        };
        Ratio {
            target: other.name.clone(),
            to: first.name.clone(),
            p50: of(|figures| figures.latency_us.p50),
            p99: of(|figures| figures.latency_us.p99),
            rps: of(|figures| figures.rps),
        }
    };
    others.iter().map(ratio).collect()
}

/// 0 where there is nothing to compare with, since JSON knows no infinity.
fn quotient(a: f64, b: f64) -> f64 {
    if b > 0.0 { a / b } else { 0.0 }
}

/// The middle value, or the mean of the two middle ones; 0 of none.
#[must_use]
pub fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<_> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => 0.0,
        odd if odd % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}
