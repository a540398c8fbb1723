//! The document: its names, its medians, its parts over time.
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
    let mut record = Record::new(zero, zero + Duration::from_secs(1), Duration::from_secs(1));
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
    let report = Report::new(&plan, &records, &[]);
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
    let report = Report::new(&plan(&["a"], 1), &[(Turn { round: 0, target: 0 }, turn)], &[]);
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!((&json["seed"], &json["rate"], &json["duration_s"]), (&7.into(), &().into(), &1.0.into()));
    let target = &json["targets"][0];
    assert_eq!(
        (&target["name"], &target["requests"], &target["errors"]),
        (&"a".into(), &5.into(), &2.into())
    );
    assert_eq!((&target["statuses"]["2xx"], &target["statuses"]["5xx"]), (&3.into(), &1.into()));
    assert_eq!((&target["error_kinds"]["short"], &target["error_kinds"]["status"]), (&1.into(), &1.into()));
    assert_eq!(target["rps"], 3.0);
    assert_eq!(
        json["kinds"][0],
        serde_json::json!({"method": "GET", "path": "/", "body": null, "share": 1.0})
    );
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

#[test]
fn percentiles_rise_to_the_share_that_one_answer_is() {
    let mut latency = crate::record::histogram();
    (1..=1_000u64).for_each(|us| latency.record(us * 1_000).unwrap());
    let points = percentiles(&latency);
    assert_eq!(points.len(), 31, "ten for each of three nines, and none");
    assert!(points.windows(2).all(|pair| pair[0].share < pair[1].share && pair[0].us <= pair[1].us));
    assert!((points[10].us / 900.0 - 1.0).abs() < 0.002 && (points[20].us / 990.0 - 1.0).abs() < 0.002);
    assert!(super::percentiles(&crate::record::histogram()).is_empty());
}
