//! `run`, against the origin and against targets that misbehave.

use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{ANSWER, Origin, ended, next_request, report, target};

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

#[test]
fn a_closed_loop_reports_what_it_did() {
    let origin = Origin::start("");
    let (connections, seconds) = (8.0, 0.5);
    let options = format!("--connections {connections} --duration {seconds} --warmup 0");
    let report = report(&format!("--target {} {options}", origin.address));
    let target = &report["targets"][0];
    assert_eq!(target["address"], origin.address.to_string());
    assert_eq!((&target["errors"], &target["statuses"]["2xx"]), (&0.into(), &target["requests"]));
    let (requests, in_time) = (number(&target["requests"]), number(&target["rps"]) * seconds);
    assert!(in_time <= requests && in_time >= requests - connections, "{target}");
    let latency = &target["latency_us"];
    let percentiles: Vec<_> = ["p50", "p90", "p99", "p999", "max"].map(|name| number(&latency[name])).into();
    assert!(percentiles.is_sorted() && percentiles[0] > 1.0, "{latency}");
    // Each connection always waits for an answer: its latencies fill the time, and its last reaches beyond.
    let waited = requests * number(&latency["mean"]) / 1e6;
    let (least, most) = (connections * seconds, connections * (seconds + number(&latency["max"]) / 1e6));
    assert!(waited > least * 0.998 && waited < most * 1.002, "{least} {waited} {most}");
}

#[test]
fn counted_requests_are_exact_in_every_turn() {
    let served = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&served);
    let address = target(move |mut stream| {
        while next_request(&stream).is_some() {
            count.fetch_add(1, Ordering::Relaxed);
            stream.write_all(ANSWER).unwrap();
        }
    });
    for load in ["", "--rate 2000", "--rate 2000 --poisson"] {
        served.store(0, Ordering::Relaxed);
        let report = report(&format!(
            "--target a={address},b={address} --rounds 2 --requests 101 --connections 7 {load}"
        ));
        for target in report["targets"].as_array().unwrap() {
            assert_eq!((&target["requests"], &target["errors"]), (&202.into(), &0.into()), "{load}");
            assert_eq!(target["rounds"].as_array().unwrap().len(), 2);
        }
        assert_eq!(served.load(Ordering::Relaxed), 404, "{load}");
        let ratio = &report["ratios"][0];
        assert_eq!((&ratio["target"], &ratio["to"]), (&"b".into(), &"a".into()));
        assert!(number(&ratio["p50"]) > 0.0);
    }
}

/// The target stalls for 400 ms once. A generator that waits for it would send one slow request; all that
/// should have started meanwhile count.
#[test]
fn an_open_loop_counts_the_stall() {
    let stalled = Duration::from_millis(400);
    let begin = Instant::now();
    let address = target(move |mut stream| {
        let mut stall = false;
        while next_request(&stream).is_some() {
            if !stall && begin.elapsed() > Duration::from_millis(500) {
                stall = true;
                nobody_speaks_for(stalled);
            }
            stream.write_all(ANSWER).unwrap();
        }
    });
    let report =
        report(&format!("--target {address} --connections 1 --rate 200 --duration 1.5 --warmup 0.1"));
    let target = &report["targets"][0];
    assert!((299.0..=301.0).contains(&number(&target["requests"])), "{target}");
    assert_eq!(target["errors"], 0);
    // 80 of 300 were meant to start in the stall; the 30 slowest of them waited at least 250 ms.
    assert!(number(&target["latency_us"]["p90"]) > 245_000.0, "{target}");
    assert!(number(&target["latency_us"]["max"]) >= 400_000.0, "{target}");
}

fn nobody_speaks_for(time: Duration) {
    let (_nobody, silence) = mpsc::channel::<()>();
    assert!(silence.recv_timeout(time).is_err());
}

#[test]
fn an_open_loop_keeps_its_rate() {
    let origin = Origin::start("");
    let report =
        report(&format!("--target {} --connections 4 --rate 400 --duration 1 --warmup 0.2", origin.address));
    let target = &report["targets"][0];
    assert!((399.0..=401.0).contains(&number(&target["requests"])), "{target}");
    assert!((number(&target["rps"]) / 400.0 - 1.0).abs() < 0.1, "{target}");
}

#[test]
fn a_target_that_never_answers_is_an_error_in_time() {
    let address = target(|stream| while next_request(&stream).is_some() {});
    let begin = Instant::now();
    let line = format!(
        "run --target {address} --connections 1 --rate 50 --duration 0.5 --warmup 0 --timeout 0.2 --json -"
    );
    let (code, out, err) = ended(&line);
    assert_eq!(code, 1);
    assert!(err.contains("not one request was answered"), "{err}");
    let report: Value = serde_json::from_str(&out).unwrap();
    let target = &report["targets"][0];
    assert_eq!((&target["requests"], &target["error_kinds"]["timeout"]), (&25.into(), &25.into()));
    // Whoever waited in vain waited at least so long.
    assert!(number(&target["latency_us"]["p50"]) >= 200_000.0, "{target}");
    assert!(err.contains("25 timed out, and count in latencies"), "{err}");
    assert!(begin.elapsed() < Duration::from_secs(10), "arrivals that wait too long are given up");
}

#[test]
fn every_idle_policy_works() {
    let origin = Origin::start("");
    for idle in ["park", "spin", "adaptive"] {
        for load in ["", "--rate 500"] {
            let options = format!("--connections 2 --requests 50 --idle {idle} {load}");
            let report = report(&format!("--target {} {options}", origin.address));
            let target = &report["targets"][0];
            assert_eq!((&target["requests"], &target["errors"]), (&50.into(), &0.into()), "{options}");
        }
    }
}

/// Serves one good answer, so that the run counts, then as told.
fn one_good_then(bad: impl Fn(TcpStream) + Clone + Send + 'static) -> std::net::SocketAddr {
    let first = Arc::new(AtomicU64::new(0));
    target(move |mut stream| {
        while next_request(&stream).is_some() {
            if first.fetch_add(1, Ordering::Relaxed) > 0 {
                return bad(stream);
            }
            stream.write_all(ANSWER).unwrap();
        }
    })
}

#[test]
fn errors_are_counted_by_kind() {
    let short = one_good_then(|mut stream| stream.write_all(&ANSWER[..ANSWER.len() - 1]).unwrap());
    let malformed = one_good_then(|mut stream| stream.write_all(b"SSH-2.0-none\r\n\r\n").unwrap());
    let surplus = one_good_then(|mut stream| stream.write_all(&[ANSWER, b"x"].concat()).unwrap());
    // Closing with unread octets resets the connection.
    let reset = one_good_then(|mut stream| {
        stream.write_all(&ANSWER[..20]).unwrap();
        stream.set_nonblocking(false).unwrap();
        socket_reset(&stream);
    });
    let silent = one_good_then(drop);
    for (address, kind) in [
        (short, "short"),
        (malformed, "malformed"),
        (surplus, "malformed"),
        (reset, "reset"),
        (silent, "short"),
    ] {
        let report = report(&format!("--target {address} --connections 1 --requests 5"));
        let target = &report["targets"][0];
        assert_eq!((&target["requests"], &target["errors"]), (&5.into(), &4.into()), "{kind}: {target}");
        assert_eq!(target["error_kinds"][kind], 4, "{target}");
    }
}

/// Makes dropping the stream a reset.
fn socket_reset(stream: &TcpStream) {
    socket2::SockRef::from(stream).set_linger(Some(Duration::ZERO)).unwrap();
}

#[test]
fn bad_statuses_are_errors_with_a_latency() {
    let origin = Origin::start("");
    let report =
        report(&format!("--target {} --connections 2 --requests 20 --path /status/503", origin.address));
    let target = &report["targets"][0];
    assert_eq!((&target["errors"], &target["statuses"]["5xx"]), (&20.into(), &20.into()));
    assert_eq!((&target["error_kinds"]["status"], &target["rps"]), (&20.into(), &0.0.into()));
    assert!(number(&target["latency_us"]["p50"]) > 0.0);
}

#[test]
fn reads_answers_in_every_framing() {
    let origin = Origin::start("");
    for path in ["/size/100000", "/chunked/100000", "/close/100000", "/size/0", "/status/204"] {
        let report =
            report(&format!("--target {} --connections 2 --requests 20 --path {path}", origin.address));
        let target = &report["targets"][0];
        assert_eq!((&target["errors"], &target["statuses"]["2xx"]), (&0.into(), &20.into()), "{path}");
    }
}

/// A target may close an idle connection whenever it likes; that is no error of a request.
#[test]
fn a_connection_closed_between_requests_is_opened_anew() {
    let address = target(|mut stream| {
        if next_request(&stream).is_some() {
            stream.write_all(ANSWER).unwrap();
        }
    });
    let report = report(&format!("--target {address} --connections 3 --requests 60"));
    let target = &report["targets"][0];
    assert_eq!((&target["errors"], &target["statuses"]["2xx"]), (&0.into(), &60.into()), "{target}");
}

#[test]
fn without_keep_alive_each_request_has_a_connection() {
    let connections = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&connections);
    let address = target(move |mut stream| {
        count.fetch_add(1, Ordering::Relaxed);
        while let Some(request) = next_request(&stream) {
            assert!(request.contains("\r\nConnection: close\r\n"), "{request}");
            stream.write_all(ANSWER).unwrap();
        }
    });
    let report = report(&format!("--target {address} --connections 3 --requests 50 --no-keep-alive"));
    assert_eq!((&report["targets"][0]["errors"], &report["keep_alive"]), (&0.into(), &false.into()));
    assert_eq!(connections.load(Ordering::Relaxed), 50);
}

#[test]
fn hosts_are_drawn_alike_for_every_target() {
    let asked: Arc<Mutex<Vec<Vec<String>>>> = Arc::default();
    let listen = |at: usize| {
        asked.lock().unwrap().push(Vec::new());
        let asked = Arc::clone(&asked);
        target(move |mut stream| {
            while let Some(request) = next_request(&stream) {
                let host = request.lines().find_map(|line| line.strip_prefix("Host: ")).unwrap().to_owned();
                asked.lock().unwrap()[at].push(host);
                stream.write_all(ANSWER).unwrap();
            }
        })
    };
    let (a, b) = (listen(0), listen(1));
    let targets = format!("--target a={a},b={b} --connections 1 --requests 100");
    report(&format!("{targets} --hosts dataset:1000 --seed 5"));
    let mut asked = asked.lock().unwrap();
    assert_eq!(asked[0].len(), 100);
    assert_eq!(asked[0], asked[1]);
    asked[0].sort_unstable();
    asked[0].dedup();
    assert!(asked[0].len() > 20, "{asked:?}");
}

#[test]
fn whoever_is_at_fault_the_exit_code_tells() {
    let (code, _, err) = ended("run --target 127.0.0.1:1 --connections 2 --duration 1");
    assert!(code == 1 && err.contains("no connection to 127.0.0.1:1: Connection refused"), "{code}: {err}");
    let (code, _, err) = ended("run --target nowhere.invalid:80 --duration 1");
    assert!(code == 1 && err.contains("--target nowhere.invalid:80: "), "{code}: {err}");
    let (code, _, err) = ended("run --target 127.0.0.1:1 --hosts /nowhere/hosts");
    assert!(code == 1 && err.contains("/nowhere/hosts: cannot be read"), "{code}: {err}");
    let (code, _, err) = ended("run --target 127.0.0.1:1,127.0.0.1:1");
    assert!(code == 2 && err.contains("is there twice"), "{code}: {err}");
    let (code, _, err) = ended("run --target 127.0.0.1:1 --rate 0");
    assert!(code == 2 && err.contains("--rate"), "{code}: {err}");
    let (code, _, err) = ended("run --target 127.0.0.1:1 --cpu 1000000");
    assert!(code == 3 && err.contains("choose one of ["), "{code}: {err}");
}

#[test]
fn the_table_and_the_file_are_written() {
    let origin = Origin::start("");
    let file = tempfile::NamedTempFile::new().unwrap();
    let (address, path) = (origin.address, file.path().display());
    let (code, out, err) =
        ended(&format!("run --target web={address} --connections 2 --requests 40 --json {path}"));
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("| web ") && out.contains("p99 µs"), "{out}");
    let report: Value = serde_json::from_slice(&std::fs::read(file.path()).unwrap()).unwrap();
    assert_eq!(report["targets"][0]["requests"], 40);
}
