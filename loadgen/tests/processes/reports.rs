//! What a run writes: the page, the document, and the log of latencies, which tell the same.

use base64::Engine;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogHistogram, IntervalLogIterator, LogEntry};
use serde_json::Value;

use crate::plans::written;
use crate::support::{Origin, ended};

/// A run against two targets in two rounds, of which one stalls; its document, page and log.
fn run(options: &str) -> (Value, String, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).display().to_string();
    let stall = written("about: a\ntimes: [{ at: 200ms, for: 200ms, does: stall }]\n");
    let (quick, slow) = (Origin::start(""), Origin::start(&format!("--plan {}", stall.path().display())));
    let (json, page, log) = (place("a.json"), place("a.html"), place("a.hlog"));
    let (code, out, err) = ended(&format!(
        "run --target quick={},slow={} --rounds 2 --connections 100 --json {json} --report {page} --hdr {log} {options}",
        quick.address, slow.address
    ));
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("| quick"), "{out}");
    let json = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    (json, std::fs::read_to_string(page).unwrap(), std::fs::read(log).unwrap())
}

fn intervals(log: &[u8]) -> Vec<IntervalLogHistogram<'_>> {
    let entries = IntervalLogIterator::new(log).map(|entry| entry.unwrap());
    let interval = |entry| if let LogEntry::Interval(interval) = entry { Some(interval) } else { None };
    entries.filter_map(interval).collect()
}

fn decoded(interval: &IntervalLogHistogram<'_>) -> Histogram<u64> {
    let octets = base64::engine::general_purpose::STANDARD.decode(interval.encoded_histogram()).unwrap();
    Deserializer::new().deserialize(&mut octets.as_slice()).unwrap()
}

#[test]
fn page_document_and_log_agree() {
    let (json, page, log) = run("--rate 200 --duration 1 --warmup 0.1");
    let intervals = intervals(&log);
    for (at, name) in ["quick", "slow"].into_iter().enumerate() {
        let target = &json["targets"][at];
        assert_eq!((&target["name"], &target["errors"]), (&name.into(), &0.into()));
        let mine = || intervals.iter().filter(|interval| interval.tag().unwrap().as_str() == name);
        let mut sum = Histogram::<u64>::new_with_bounds(1, 60_000_000_000, 3).unwrap();
        mine().for_each(|interval| sum.add(decoded(interval)).unwrap());
        assert_eq!(target["requests"], sum.len(), "every answer is in the log");
        for (name, quantile) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999)] {
            let us = sum.value_at_quantile(quantile) as f64 / 1_000.0;
            let told = target["latency_us"][name].as_f64().unwrap();
            assert!((us / told - 1.0).abs() < 0.002, "{name}: {us} {told}");
        }
        let rounds = target["rounds"].as_array().unwrap();
        let spans: Vec<_> = rounds.iter().flat_map(|round| round["series"].as_array().unwrap()).collect();
        assert_eq!(spans.len(), mine().count(), "a part for each interval");
        let good: f64 = spans.iter().map(|span| span["rps"].as_f64().unwrap() * 0.1).sum();
        assert!((good - sum.len() as f64).abs() < 0.5, "{good} {}", sum.len());
        let last = target["percentiles"].as_array().unwrap().last().unwrap();
        assert!(last["share"].as_f64().unwrap() >= 0.99, "{last}");
        assert!(page.contains(name));
    }
    assert!(intervals.windows(2).all(|pair| pair[0].start_timestamp() < pair[1].start_timestamp()));
    let text = String::from_utf8_lossy(&log);
    assert!(
        text.contains("#[Histogram log format version 1.3]\n") && text.contains("#[BaseTime: "),
        "{text}"
    );
    assert!(page.ends_with("</html>\n") && page.len() < 200_000, "{}", page.len());
}

/// Before anything is asked.
#[test]
fn places_that_cannot_be_written_are_told_at_once() {
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for option in ["--report", "--hdr", "--json"] {
        let (code, _, err) = ended(&format!("run --target {nobody} --requests 5 {option} /nowhere/file"));
        assert_eq!(code, 1);
        assert!(err.contains(&format!("{option} /nowhere/file: cannot be written: No such file")), "{err}");
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a").display().to_string();
    let (code, _, err) = ended(&format!("run --target {nobody} --json {file} --report {file}"));
    assert!(code == 2 && err.contains("--report and --json: both would be written to"), "{err}");
    // What stood there stays, and nothing is left of a run that came to nothing.
    std::fs::write(&file, "before").unwrap();
    let line = format!("run --target {nobody} --requests 5 --json {file} --report {file}.html");
    assert_eq!(ended(&line).0, 1);
    let left = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!((left, std::fs::read_to_string(&file).unwrap().as_str()), (1, "before"));
    let verify = format!("verify --target {nobody} --known {file} --json /nowhere/file");
    assert!(ended(&verify).2.contains("--json /nowhere/file: cannot be written"), "{verify}");
}

/// As on a disk that is full.
#[test]
fn what_finds_no_room_on_standard_output_is_not_fine() {
    for (line, said) in
        [("--help", "No space left on device"), ("--version", "No space left"), ("digest 5", "No space left")]
    {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let ended = loadgen(line, full.into());
        assert_eq!((ended.0, ended.1.contains(said)), (Some(3), true), "{line}: {}", ended.1);
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        assert_eq!(loadgen(line, writer.into()), (Some(141), String::new()), "{line}");
    }
}

fn loadgen(line: &str, stdout: std::process::Stdio) -> (Option<i32>, String) {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_ringway-loadgen"));
    command.args(line.split(' ')).stdin(std::process::Stdio::null()).stdout(stdout);
    let ended = command.stderr(std::process::Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
    (ended.status.code(), String::from_utf8(ended.stderr).unwrap())
}
