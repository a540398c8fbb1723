//! The figures of a run as they are published: one document, written as JSON and printed as a table.

use serde::Serialize;

use crate::plan::{Extent, Load, Plan, Turn};
use crate::record::Record;

/// A whole run. Times are in microseconds unless the name says otherwise.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub version: &'static str,
    pub seed: u64,
    pub connections: usize,
    pub rounds: u32,
    /// Whether connections were kept at all.
    pub keep_alive: bool,
    /// Requests a second of the open loop, the most that a plan asks for; null for the closed loop.
    pub rate: Option<f64>,
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
    pub rounds: Vec<Figures>,
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

/// From the intended start to the last octet of the answer, of all answers.
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
    /// The document of a plan and the records of its turns.
    #[must_use]
    pub fn new(plan: &Plan, records: &[(Turn, Record)]) -> Self {
        let counted = matches!(plan.extent, Extent::Requests(_));
        let targets: Vec<_> =
            (0..plan.targets.len()).filter_map(|at| target(plan, at, records, counted)).collect();
        let (duration_s, warmup_s) = match plan.extent {
            Extent::Time { warmup, keep } => (Some(keep.as_secs_f64()), Some(warmup.as_secs_f64())),
            Extent::Requests(_) => (None, None),
        };
        Self {
            version: env!("CARGO_PKG_VERSION"),
            seed: plan.seed,
            connections: plan.connections,
            rounds: plan.rounds,
            keep_alive: plan.keep_alive > 0.0,
            rate: match &plan.load {
                Load::Open { rate, .. } => Some(rate.most()),
                Load::Closed { .. } => None,
            },
            duration_s,
            warmup_s,
            ratios: ratios(&targets),
            targets,
        }
    }
}

fn target(plan: &Plan, at: usize, records: &[(Turn, Record)], counted: bool) -> Option<TargetReport> {
    let target = plan.targets.get(at)?;
    let mine: Vec<&Record> =
        records.iter().filter(|(turn, _)| turn.target == at).map(|(_, record)| record).collect();
    let rounds: Vec<_> = mine.iter().map(|record| figures(record, record.rps(counted))).collect();
    let (first, rest) = mine.split_first()?;
    let mut sum = (*first).clone();
    rest.iter().for_each(|record| sum.merge(record));
    let rps = median(rounds.iter().map(|round| round.rps));
    let (name, address) = (target.name.clone(), target.address.to_string());
    Some(TargetReport { name, address, figures: figures(&sum, rps), rounds })
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
        let of = |figure: fn(&Figures) -> f64| median(pairs().map(|(a, b)| quotient(figure(a), figure(b))));
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a failed unwrap is a failed test
    use super::*;
    use crate::plan::Target;
    use crate::record::Failure;
    use std::time::{Duration, Instant};

    fn plan(targets: &[&str], rounds: u32) -> Plan {
        let file = format!("{{about: a, seed: 7, rounds: {rounds}, warm_up: 0s, phases: [{{for: 1s}}]}}");
        let target = |name: &&str| Target {
            name: (*name).to_owned(),
            authority: String::new(),
            address: ([127, 0, 0, 1], 80).into(),
        };
        let plan = crate::plan::parse("f", file.as_bytes()).unwrap();
        plan.aimed_at(targets.iter().map(target).collect()).unwrap()
    }

    /// A turn of a second with one answer after each of `ms`.
    fn record(ms: &[u64]) -> Record {
        let zero = Instant::now();
        let mut record = Record::new(zero, zero + Duration::from_secs(1));
        ms.iter().for_each(|ms| record.ended(zero, zero + Duration::from_millis(*ms), Ok(200)));
        record
    }

    #[test]
    fn ratios_are_medians_of_the_rounds_own() {
        let plan = plan(&["a", "b"], 3);
        let latencies = [(10, 20), (10, 30), (100, 100)];
        let turn = |round, target| Turn { round, target };
        let records: Vec<_> = (0..)
            .zip(latencies)
            .flat_map(|(round, (a, b))| [(turn(round, 0), record(&[a])), (turn(round, 1), record(&[b, b]))])
            .collect();
        let report = Report::new(&plan, &records);
        let [ratio] = report.ratios.as_slice() else { unreachable!("one ratio for two targets") };
        assert_eq!((ratio.target.as_str(), ratio.to.as_str()), ("b", "a"));
        assert!((ratio.p50 - 2.0).abs() < 0.01, "{}", ratio.p50);
        assert!((ratio.rps - 2.0).abs() < 1e-9, "{}", ratio.rps);
        assert_eq!((report.targets[1].figures.requests, report.targets[1].rounds.len()), (6, 3));
    }

    #[test]
    fn the_document_has_its_published_names() {
        let mut turn = record(&[1, 2, 3]);
        let now = Instant::now();
        turn.ended(now, now, Err(Failure::Short));
        turn.ended(now, now, Ok(503));
        let report = Report::new(&plan(&["a"], 1), &[(Turn { round: 0, target: 0 }, turn)]);
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!((&json["seed"], &json["rate"], &json["duration_s"]), (&7.into(), &().into(), &1.0.into()));
        let target = &json["targets"][0];
        assert_eq!(
            (&target["name"], &target["requests"], &target["errors"]),
            (&"a".into(), &5.into(), &2.into())
        );
        assert_eq!((&target["statuses"]["2xx"], &target["statuses"]["5xx"]), (&3.into(), &1.into()));
        assert_eq!(
            (&target["error_kinds"]["short"], &target["error_kinds"]["status"]),
            (&1.into(), &1.into())
        );
        assert_eq!(target["rps"], 3.0);
        for name in ["p50", "p90", "p99", "p999", "max", "mean"] {
            assert!(target["latency_us"][name].as_f64().unwrap() > 0.0, "{name}");
        }
        assert_eq!(target["rounds"][0]["requests"], 5);
    }

    #[test]
    fn medians() {
        let of = |values: &[f64]| median(values.iter().copied());
        assert!(of(&[]).abs() < 1e-9);
        assert!((of(&[3.0, 1.0, 2.0]) - 2.0).abs() < 1e-9);
        assert!((of(&[4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < 1e-9);
    }
}
