//! The exposition read back by the rules of OpenMetrics 1.0.
#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test

use super::{Exposition, FeedFiles, NodeLabels, Registry, TableFigures, TableFile};
use crate::observe::access::LogStats;
use crate::observe::{Counter, ErrorKind, PendingErrors, Readiness, Reason, Times};
use crate::observe::{SlowNotes, TopHosts};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A registry of so many cores that have counted nothing yet.
pub(crate) fn registry(cores: usize) -> Registry {
    Registry {
        cores: (0..cores).map(|_| Arc::default()).collect(),
        log: Arc::new(LogStats::default()),
        readiness: Arc::new(Readiness::default()),
        config: Arc::default(),
        names: Arc::default(),
        feed: Arc::default(),
        feed_files: Some(FeedFiles { source: "changes.jsonl".into(), dir: "state".into() }),
        services: Arc::default(),
        slow: SlowNotes::default(),
        top: TopHosts::default(),
        admin_evicted: Counter::default(),
        node: NodeLabels { id: "edge-1".into(), region: "local".into(), pop: "a\"b\\c\nd".into() },
        table: Box::new(|| {
            Some(TableFigures {
                hosts: 4_000_000,
                digest: "00ff".into(),
                overlay_keys: 3,
                overlay_octets: 500,
                base: Some(TableFile { path: "0.snap".into(), octets: 7 }),
                levels: vec![
                    TableFile { path: "2.snap".into(), octets: 2 },
                    TableFile { path: "1.snap".into(), octets: 3 },
                ],
            })
        }),
    }
}

pub(crate) fn exposition(cores: usize) -> String {
    Exposition::new(Arc::new(registry(cores))).render().unwrap()
}

/// One line of figures.
#[derive(Debug)]
pub(crate) struct Sample {
    name: String,
    /// Names and values, unescaped.
    labels: Vec<(String, String)>,
    value: f64,
}

/// A family as it was announced, and its lines.
#[derive(Debug)]
pub(crate) struct Family {
    name: String,
    pub(crate) help: String,
    pub(crate) kind: String,
    samples: Vec<Sample>,
}

impl Family {
    /// The name that one asks Prometheus for.
    pub(crate) fn exported_name(&self) -> String {
        match &*self.kind {
            "counter" => format!("{}_total", self.name),
            "info" => format!("{}_info", self.name),
            _ => self.name.clone(),
        }
    }

    /// Without `le`, which every histogram has.
    pub(crate) fn labels(&self) -> BTreeSet<&str> {
        let names = self.samples.iter().flat_map(|sample| &sample.labels).map(|(name, _)| &**name);
        names.filter(|&name| name != "le").collect()
    }

    fn allows(&self, sample: &str) -> bool {
        let suffixes: &[&str] = match &*self.kind {
            "counter" => &["_total"],
            "gauge" => &[""],
            "info" => &["_info"],
            "histogram" => &["_sum", "_count", "_bucket"],
            other => panic!("a kind of metric that is not expected: {other}"),
        };
        sample.strip_prefix(&*self.name).is_some_and(|suffix| suffixes.contains(&suffix))
    }
}

/// Reads an exposition strictly; panics on whatever OpenMetrics does not allow, or we do not mean.
pub(crate) fn families(text: &str) -> Vec<Family> {
    let body = text.strip_suffix("# EOF\n").expect("the text ends with its mark");
    let mut families: Vec<Family> = Vec::new();
    for line in body.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').unwrap();
            assert!(families.iter().all(|family| family.name != name), "{name} is announced twice");
            let (name, help) = (name.to_owned(), help.to_owned());
            families.push(Family { name, help, kind: String::new(), samples: Vec::new() });
            continue;
        }
        let family = families.last_mut().expect("help comes first");
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            family.kind = rest.strip_prefix(&*family.name).unwrap().trim_start().to_owned();
        } else if let Some(rest) = line.strip_prefix("# UNIT ") {
            let unit = rest.strip_prefix(&*family.name).unwrap().trim_start();
            assert!(family.name.ends_with(&format!("_{unit}")), "{} is in {unit}", family.name);
        } else {
            let sample = sample(line);
            assert!(family.allows(&sample.name), "{line} under {}", family.name);
            family.samples.push(sample);
        }
    }
    families
}

/// `name{label="value",…} value`
fn sample(line: &str) -> Sample {
    let name_end = line.find(['{', ' ']).unwrap();
    let name = line[..name_end].to_owned();
    let mut rest = line[name_end..].strip_prefix('{').unwrap_or(&line[name_end..]);
    let mut labels = Vec::new();
    while !rest.starts_with([' ', '}']) {
        let (label, after) = rest.split_once("=\"").unwrap();
        let (value, after) = quoted(after);
        labels.push((label.trim_start_matches(',').to_owned(), value));
        rest = after;
    }
    let value = rest.strip_prefix('}').unwrap_or(rest).strip_prefix(' ').unwrap().parse().unwrap();
    Sample { name, labels, value }
}

/// An escaped string up to its quote, and what follows.
fn quoted(text: &str) -> (String, &str) {
    let mut value = String::new();
    let mut chars = text.char_indices();
    loop {
        match chars.next().unwrap() {
            (at, '"') => return (value, &text[at + 1..]),
            (_, '\\') => value.push(match chars.next().unwrap().1 {
                'n' => '\n',
                other => other,
            }),
            (_, other) => value.push(other),
        }
    }
}

/// The value of a series given as `name label=value label=value`.
fn value(families: &[Family], series: &str) -> f64 {
    let (name, labels) = series.split_once(' ').unwrap_or((series, ""));
    let mut wanted: Vec<(&str, &str)> =
        labels.split_whitespace().map(|label| label.split_once('=').unwrap()).collect();
    wanted.sort_unstable();
    let is_it = |sample: &&Sample| {
        let mut labels: Vec<(&str, &str)> =
            sample.labels.iter().map(|(name, value)| (&**name, &**value)).collect();
        labels.sort_unstable();
        sample.name == name && labels == wanted
    };
    let samples = families.iter().flat_map(|family| &family.samples);
    samples.filter(is_it).map(|sample| sample.value).next().unwrap_or_else(|| panic!("no series {series}"))
}

#[test]
fn what_cores_count_is_summed_or_told_apart() {
    let registry = registry(2);
    let [one, two] = &registry.cores[..] else { panic!("two cores") };
    one.ended(200, &Times::split(Duration::from_micros(20), Duration::from_micros(16)));
    two.ended(204, &Times::split(Duration::from_micros(21), Duration::from_micros(16)));
    two.ended(502, &Times::split(Duration::from_secs(100), Duration::ZERO));
    one.ended(0, &Times::default());
    two.errors.count(ErrorKind::Origin, 502);
    one.errors.count(ErrorKind::Client, 0);
    let mut pending = PendingErrors::default();
    pending.count("svc_a", ErrorKind::Origin);
    pending.count("", ErrorKind::Client);
    registry.services.take(&mut pending, Instant::now());
    two.failed(Reason::OriginReset);
    one.connections_open.set(3);
    two.connections_accepted.add(5);
    two.ring.enters.set(9);
    registry.log.octets.add(77);
    registry.readiness.set("table", "loading");
    let families = families(&Exposition::new(Arc::new(registry)).render().unwrap());
    for (series, expected) in [
        ("ringway_requests_total class=2xx", 2.0),
        ("ringway_requests_total class=5xx", 1.0),
        ("ringway_requests_total class=1xx", 0.0),
        ("ringway_failures_total reason=origin_reset fault=origin", 1.0),
        ("ringway_failures_total reason=malformed_request fault=client", 0.0),
        ("ringway_failures_total reason=overloaded fault=gateway", 0.0),
        ("ringway_connections_open core=0", 3.0),
        ("ringway_connections_accepted_total core=0", 0.0),
        ("ringway_connections_accepted_total core=1", 5.0),
        ("ringway_ring_enters_total core=1", 9.0),
        ("ringway_ring_buffers_out core=0", 0.0),
        ("ringway_request_duration_seconds_bucket le=0.000016", 1.0),
        ("ringway_request_duration_seconds_bucket le=0.00002", 2.0),
        ("ringway_request_duration_seconds_bucket le=0.000024", 3.0),
        ("ringway_request_duration_seconds_bucket le=67.108864", 3.0),
        ("ringway_request_duration_seconds_bucket le=+Inf", 4.0),
        ("ringway_request_duration_seconds_count", 4.0),
        ("ringway_request_duration_seconds_sum", 100.000_041),
        ("ringway_origin_duration_seconds_bucket le=0.000016", 4.0),
        ("ringway_overhead_duration_seconds_bucket le=0.000016", 3.0),
        ("ringway_errors_total fault=origin by=ringway status=5xx", 1.0),
        ("ringway_errors_total fault=origin by=origin status=5xx", 0.0),
        ("ringway_errors_total fault=client by=ringway status=none", 1.0),
        ("ringway_service_errors_total service=svc_a fault=origin by=ringway", 1.0),
        ("ringway_service_errors_total service=(none) fault=client by=ringway", 1.0),
        ("ringway_service_errors_total service=(others) fault=gateway by=ringway", 0.0),
        ("ringway_log_octets_total", 77.0),
        ("ringway_ready", 0.0),
        ("ringway_table_base_hosts", 4_000_000.0),
    ] {
        assert!((value(&families, series) - expected).abs() < 1e-9, "{series} {}", value(&families, series));
    }
}

#[test]
fn series_are_unique_and_histograms_complete() {
    let families = families(&exposition(3));
    let mut seen = HashSet::new();
    for sample in families.iter().flat_map(|family| &family.samples) {
        assert!(seen.insert(format!("{} {:?}", sample.name, sample.labels)), "twice: {sample:?}");
        assert!(sample.value >= 0.0, "{sample:?}");
    }
    for family in &families {
        assert!(!family.samples.is_empty() && !family.help.is_empty(), "{}", family.name);
        let mut ends: HashMap<Vec<&(String, String)>, Vec<f64>> = HashMap::new();
        for sample in &family.samples {
            let (le, others): (Vec<_>, Vec<_>) = sample.labels.iter().partition(|(name, _)| name == "le");
            ends.entry(others).or_default().extend(le.iter().map(|(_, end)| end.parse::<f64>().unwrap()));
        }
        for ends in ends.values() {
            assert!(ends.is_sorted(), "{}", family.name);
            let last = (family.kind == "histogram").then_some(f64::INFINITY);
            assert_eq!(ends.last().copied(), last, "{}", family.name);
        }
    }
}

#[test]
fn labels_survive_what_an_operator_may_write() {
    let families = families(&exposition(1));
    let node = families.iter().find(|family| family.name == "ringway_node").unwrap();
    let pop = node.samples[0].labels.iter().find(|(name, _)| name == "pop").unwrap();
    assert_eq!(pop.1, "a\"b\\c\nd");
}

/// Scraping reads while the cores write.
#[test]
fn a_scrape_beside_a_busy_core_is_consistent() {
    let registry = registry(1);
    let core = Arc::clone(&registry.cores[0]);
    let exposition = Exposition::new(Arc::new(registry));
    let rounds = 20_000;
    let busy = std::thread::spawn(move || {
        (0..rounds).for_each(|n| core.ended(200, &Times::split(Duration::from_micros(n), Duration::ZERO)));
    });
    let (mut last, mut done) = (0.0, false);
    while !done {
        done = busy.is_finished();
        let families = families(&exposition.render().unwrap());
        let count = value(&families, "ringway_request_duration_seconds_count");
        assert!((count - value(&families, "ringway_request_duration_seconds_bucket le=+Inf")).abs() < 0.5);
        assert!(count >= last, "{count} after {last}");
        last = count;
    }
    assert!((last - rounds as f64).abs() < 0.5);
}
