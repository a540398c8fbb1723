//! `origin --plan`: what a script says is what clients see.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use ringway_loadgen::origin::script;

use crate::plans::{standard, table_is_of, written};
use crate::support::{Origin, connect, ended, report};

const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";

fn scripted(text: &str, options: &str) -> (tempfile::NamedTempFile, Origin) {
    let plan = written(text);
    let origin = Origin::start(&format!("--plan {} {options}", plan.path().display()));
    (plan, origin)
}

/// Sends a request; what comes until the connection ends.
fn asked(origin: &Origin) -> std::io::Result<Vec<u8>> {
    let mut stream = connect(origin.address);
    stream.write_all(GET)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).map(|_| answer)
}

#[test]
fn each_standard_plan_is_in_the_table_and_answers() {
    let plans = standard("plans/origins");
    table_is_of("plans/origins", &plans, |path| script::load(path).unwrap().about);
    for path in plans {
        let origin = Origin::start(&format!("--plan {}", path.display()));
        let options = "--connections 40 --rate 200 --duration 0.4 --warmup 0 --timeout 0.8";
        let report = report(&format!("--target {} {options}", origin.address));
        let target = &report["targets"][0];
        let (asked, wrong) = (target["requests"].as_f64().unwrap(), target["errors"].as_f64().unwrap());
        let most = match Path::new(&path).file_stem().unwrap().to_str().unwrap() {
            "hostile" => 1.0,
            "failing" => 0.4,
            _ => 0.0,
        };
        assert!((79.0..=81.0).contains(&asked) && wrong <= asked * most, "{}: {target}", path.display());
    }
}

#[test]
fn statuses_and_sizes_come_in_their_shares() {
    let (_plan, origin) = scripted(
        "about: a\nanswers: [{ weight: 3 }, { status: 503, size: 10..20 }, { status: 204 }]\n",
        "--size 100 --seed 6",
    );
    let report = report(&format!("--target {} --connections 1 --requests 1000", origin.address));
    let target = &report["targets"][0];
    let share = |name: &str| target["statuses"][name].as_f64().unwrap() / 1000.0;
    assert!((share("2xx") - 0.8).abs() < 0.05 && (share("5xx") - 0.2).abs() < 0.05, "{target}");
    assert_eq!(&target["error_kinds"]["status"], &target["errors"]);
}

/// The same seed gives the same answers in the same order; the seed is told.
#[test]
fn seeds_decide() {
    let text = "about: a\nseed: 3\nanswers: [{ size: 0..100000 }, { status: 404 }]\n";
    let lengths = |options: &str| {
        let (_plan, origin) = scripted(text, options);
        let ask = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
        (0..8).map(|_| origin.exchange(ask).len()).collect::<Vec<_>>()
    };
    let first = lengths("");
    assert_eq!(first, lengths("--seed 3"));
    assert_ne!(first, lengths("--seed 4"));
    let (_plan, origin) = scripted(text, "--seed 9");
    origin.process.signal("-TERM");
    assert_eq!(origin.process.end().0, "plan: a (seed 9)\n");
}

#[test]
fn connections_end_as_told() {
    let (_plan, origin) = scripted("about: a\nanswers: [{ does: reset, size: 1000 }]\n", "");
    let mut stream = connect(origin.address);
    stream.write_all(GET).unwrap();
    let mut got = Vec::new();
    let ended = stream.read_to_end(&mut got).unwrap_err();
    assert_eq!(ended.kind(), std::io::ErrorKind::ConnectionReset);
    let body = got.len() - (got.windows(4).position(|end| end == b"\r\n\r\n").unwrap() + 4);
    assert_eq!(body, 500);

    let (_plan, origin) = scripted("about: a\nanswers: [{ does: close }]\n", "");
    assert_eq!(asked(&origin).unwrap(), b"");

    let (_plan, origin) = scripted("about: a\nanswers: [{ does: never }]\n", "");
    let mut stream = connect(origin.address);
    stream.write_all(GET).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    assert_eq!(stream.read(&mut [0]).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
}

#[test]
fn octets_trickle() {
    let (_plan, origin) = scripted("about: a\nanswers: [{ does: trickle, size: 30 }]\n", "");
    let begin = Instant::now();
    let mut stream = connect(origin.address);
    stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap();
    let (mut octet, mut all, mut reads) = ([0; 100], Vec::new(), 0);
    while let Ok(count @ 1..) = stream.read(&mut octet) {
        all.extend_from_slice(&octet[..count]);
        reads += 1;
    }
    assert!(all.starts_with(b"HTTP/1.1 200 OK\r\n") && all.ends_with(&body(30)), "{all:?}");
    // A reader that is slower than the pause finds some together.
    assert!(reads > 100, "{reads} reads");
    assert!(begin.elapsed() >= Duration::from_millis(all.len() as u64), "a millisecond after each");
}

fn body(octets: usize) -> Vec<u8> {
    let mut body = vec![0; octets];
    ringway_loadgen::pattern::fill(1, 0, &mut body);
    body
}

/// Arrivals every 5 ms; those in the stall of 600 ms wait for its end. So of 400 requests 120 are slow, evenly spread from
/// 0 to 600 ms, and percentiles are known.
#[test]
fn a_stall_is_seen_as_arithmetic_says() {
    let (_plan, origin) = scripted("about: a\ntimes: [{ at: 700ms, for: 600ms, does: stall }]\n", "");
    let options = "--connections 200 --rate 200 --duration 2 --warmup 0";
    let report = report(&format!("--target {} {options}", origin.address));
    let target = &report["targets"][0];
    assert_eq!((&target["requests"], &target["errors"]), (&400.into(), &0.into()), "{target}");
    let ms = |name: &str| target["latency_us"][name].as_f64().unwrap() / 1_000.0;
    // Of all requests 1 in 10 waits longer than 400 ms, 1 in 100 longer than 580 ms.
    for (name, meant) in [("p90", 400.0), ("p99", 580.0), ("max", 600.0)] {
        // Never less; more where the machine is busy with other tests.
        let found = ms(name);
        assert!(found > meant - 10.0 && found < meant + 150.0, "{name}: {found} is not {meant}");
    }
    assert!(ms("p50") < 100.0, "{target}");
}

#[test]
fn connections_are_refused_for_a_time() {
    let (_plan, origin) =
        scripted("about: a\ntimes: [{ at: 200ms, for: 300ms, every: 600ms, does: refuse }]\n", "");
    // The origin counts from the first request, which comes after this.
    let begin = Instant::now();
    let mut kept = connect(origin.address);
    let mut answer = [0; 17];
    kept.write_all(GET).unwrap();
    kept.read_exact(&mut answer).unwrap();
    let until = |refused: bool| {
        while TcpStream::connect(origin.address).is_err() != refused {
            assert!(begin.elapsed() < Duration::from_secs(30), "refused: {}", !refused);
        }
        begin.elapsed().as_millis()
    };
    let times = [until(true), until(false), until(true), until(false)];
    // A busy machine may see any of it later, and so a later window, but nothing sooner.
    for (time, soonest) in times.iter().zip([200, 500, 800, 1_100]) {
        assert!(*time >= soonest, "{times:?}");
    }
    kept.write_all(GET).unwrap();
    kept.read_exact(&mut answer).unwrap();
}

#[test]
fn a_wrong_script_is_told_with_its_lines() {
    let plan = written("about: a\nanswers: [{ dose: reset }]\n");
    let (code, _, err) = ended(&format!("origin --listen 127.0.0.1:0 --plan {}", plan.path().display()));
    assert_eq!(code, 1);
    assert!(err.contains(":2: answers[0]: unknown field \"dose\"; did you mean does?"), "{err}");
}
