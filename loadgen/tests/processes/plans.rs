//! Plan files: each of the standard ones is documented and runs, and what they ask is asked.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use ringway_loadgen::plan::{self, Extent, Load};

use crate::support::{ANSWER, Origin, ended, next_request, report, target};

/// The plans of a folder of the package.
pub(crate) fn standard(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut plans: Vec<_> = files.filter(|path| path.extension().is_some_and(|end| end == "yaml")).collect();
    plans.sort();
    plans
}

/// The folder's table names these plans, each with its sentence, and no others.
pub(crate) fn table_is_of(folder: &str, plans: &[PathBuf], about: impl Fn(&Path) -> String) {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).join("README.md");
    let text = fs::read_to_string(readme).unwrap();
    let mut rows: Vec<_> = text.lines().filter(|line| line.contains(".yaml](")).map(str::to_owned).collect();
    let row = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        format!("| [{name}]({name}) | {} |", about(path))
    };
    rows.sort_unstable();
    let mut meant: Vec<_> = plans.iter().map(row).collect();
    meant.sort_unstable();
    assert_eq!(rows, meant);
}

pub(crate) fn written(text: &str) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), text).unwrap();
    file
}

#[test]
fn each_standard_plan_is_in_the_table() {
    table_is_of("plans", &standard("plans"), |path| plan::load(path).unwrap().about);
}

#[test]
fn each_standard_plan_runs() {
    let origin = Origin::start("");
    for path in standard("plans") {
        let plan = plan::load(&path).unwrap();
        let Extent::Time { keep, .. } = plan.extent else { unreachable!("plans have a time") };
        let by = (keep.as_secs_f64() / 0.5).max(1.0);
        let place = path.display();
        let report = report(&format!("--target {} --plan {place} --shorten {by}", origin.address));
        let target = &report["targets"][0];
        assert_eq!(target["errors"], 0, "{place}: {target}");
        let asked = target["requests"].as_f64().unwrap();
        match plan.load {
            Load::Open { rate, .. } => {
                let most = rate.most() + plan.storm.map_or(0.0, |storm| storm.most());
                assert!(asked > 10.0 && asked < most * 0.6 + 10.0, "{place}: {asked} of {most}/s");
            }
            Load::Closed { .. } => assert!(asked > 10.0, "{place}: {asked}"),
        }
    }
}

/// Reads a request with its body; its method and how many octets of body.
fn whole_request(stream: &mut TcpStream) -> Option<(String, usize, bool)> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut octet = [0];
        stream.read_exact(&mut octet).ok()?;
        head.push(octet[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
    let length = length.map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).unwrap();
    let method = head.split(' ').next().unwrap().to_owned();
    Some((method, length, head.contains("\r\nConnection: close\r\n")))
}

#[test]
fn methods_and_bodies_are_those_of_the_plan() {
    let asked: Arc<Mutex<BTreeMap<String, Vec<usize>>>> = Arc::default();
    let (seen, connections) = (Arc::clone(&asked), Arc::new(AtomicU64::new(0)));
    let opened = Arc::clone(&connections);
    let address = target(move |mut stream| {
        opened.fetch_add(1, Ordering::Relaxed);
        while let Some((method, octets, closes)) = whole_request(&mut stream) {
            let head = method == "HEAD";
            seen.lock().unwrap().entry(method).or_default().push(octets);
            stream.write_all(if head { &ANSWER[..ANSWER.len() - 2] } else { ANSWER }).unwrap();
            if closes {
                return;
            }
        }
    });
    let plan = written(
        "about: a\nconnections: 4\nkeep_alive: 0.5\nwarm_up: 0s\n\
         requests:\n  - { weight: 2 }\n  - { method: HEAD }\n  - { method: PUT, body: 100000..200000 }\n\
         phases: [{ for: 1s, rate: 400 }]\n",
    );
    let report = report(&format!("--target {address} --plan {}", plan.path().display()));
    assert_eq!(
        (&report["targets"][0]["errors"], &report["targets"][0]["requests"]),
        (&0.into(), &400.into())
    );
    let asked = asked.lock().unwrap();
    let count = |method: &str| asked[method].len();
    assert_eq!(count("GET") + count("HEAD") + count("PUT"), 400);
    assert!((150..250).contains(&count("GET")) && (60..140).contains(&count("HEAD")), "{asked:?}");
    assert!(asked["PUT"].iter().all(|octets| (100_000..=200_000).contains(octets)));
    assert!((150..260).contains(&connections.load(Ordering::Relaxed)), "half of 400, and 4");
}

#[test]
fn a_storm_opens_a_connection_for_each_request() {
    let connections = Arc::new(AtomicU64::new(0));
    let opened = Arc::clone(&connections);
    let address = target(move |mut stream| {
        opened.fetch_add(1, Ordering::Relaxed);
        while next_request(&stream).is_some() {
            stream.write_all(ANSWER).unwrap();
        }
    });
    let plan = written(
        "about: a\nconnections: 3\nwarm_up: 0s\nphases: [{ for: 500ms, rate: 100 }, { for: 500ms, rate: 0, storm: 200 }]\n",
    );
    let report = report(&format!("--target {address} --plan {}", plan.path().display()));
    assert_eq!(
        (&report["targets"][0]["errors"], &report["targets"][0]["requests"]),
        (&0.into(), &150.into())
    );
    assert_eq!(connections.load(Ordering::Relaxed), 3 + 100);
}

/// Four clients that think for 50 ms ask at most 4 × 20 times in a second, and not much less.
#[test]
fn clients_think() {
    let origin = Origin::start("");
    let plan = written("about: a\nconnections: 4\nwarm_up: 0s\nthink: 50ms\nphases: [{ for: 1s }]\n");
    let report = report(&format!("--target {} --plan {}", origin.address, plan.path().display()));
    let asked = report["targets"][0]["requests"].as_u64().unwrap();
    assert!((40..=80).contains(&asked), "{asked}");
}

#[test]
fn a_wrong_plan_is_told_with_its_lines() {
    let plan = written("about: a\nconections: 3\nphases: [{ for: 1 }]\n");
    let place = plan.path().display();
    let (code, out, err) = ended(&format!("run --target 127.0.0.1:1 --plan {place}"));
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(
        err.contains(&format!("{place}:2: unknown field \"conections\"; did you mean connections?\n")),
        "{err}"
    );
    assert!(err.contains(&format!("{place}:3: phases[0].for: \"1\" is not a duration")), "{err}");
    let (code, _, err) = ended("run --target 127.0.0.1:1 --plan /nowhere/plan");
    assert!(code == 1 && err.contains("/nowhere/plan: cannot be read: No such file"), "{err}");
}
