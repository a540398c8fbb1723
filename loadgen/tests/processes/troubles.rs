//! Targets that do their worst: every run ends in time, with a report that is true.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::plans::written;
use crate::support::{Origin, connect, ended, next_request, target};

/// A run that fails because nothing was answered well, or succeeds; its one target's figures. It must end within `limit`.
fn figures(line: &str, limit: Duration) -> Value {
    let begin = Instant::now();
    let (code, out, err) = ended(&format!("run --json - {line}"));
    assert!(begin.elapsed() < limit, "{line}: took {:?}", begin.elapsed());
    assert!(code <= 1, "{line}: {err}");
    let report: Value = serde_json::from_str(&out).unwrap_or_else(|e| unreachable!("{line}: {e}: {err}"));
    report["targets"][0].clone()
}

fn kind(figures: &Value, name: &str) -> u64 {
    figures["error_kinds"][name].as_u64().unwrap()
}

/// All requests are told as something, once each.
fn adds_up(figures: &Value) {
    let statuses: u64 = ["1xx", "2xx", "3xx", "4xx", "5xx"]
        .iter()
        .map(|class| figures["statuses"][class].as_u64().unwrap())
        .sum();
    let failed: u64 = ["connect", "reset", "timeout", "short", "malformed", "dropped"]
        .iter()
        .map(|one| kind(figures, one))
        .sum();
    assert_eq!(figures["requests"], statuses + failed, "{figures}");
}

#[test]
fn garbage_is_no_answer() {
    let seed = 0x5eed;
    let count = Arc::new(AtomicU64::new(0));
    let address = target(move |mut stream| {
        while next_request(&stream).is_some() {
            let mut rng = fastrand::Rng::with_seed(seed + count.fetch_add(1, Ordering::Relaxed));
            let mut garbage = vec![0; rng.usize(1..3_000)];
            rng.fill(&mut garbage);
            // Half of it begins like an answer.
            let start: &[u8] = if rng.bool() { b"HTTP/1.1 200 OK\r\nContent-Length: " } else { b"" };
            if stream.write_all(&[start, &garbage].concat()).is_err() {
                return;
            }
        }
    });
    let line = format!("--target {address} --connections 16 --requests 400 --timeout 0.5");
    let figures = figures(&line, Duration::from_secs(20));
    assert_eq!(
        (&figures["requests"], &figures["errors"]),
        (&400.into(), &400.into()),
        "seed {seed}: {figures}"
    );
    adds_up(&figures);
    assert!(kind(&figures, "malformed") > 300, "{figures}");
}

#[test]
fn heads_and_bodies_without_end_are_given_up() {
    for (endless, kinds) in [
        (
            "HTTP/1.1 200 OK\r\nX-A: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            ["malformed", "timeout"],
        ),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", ["timeout", "timeout"]),
        ("HTTP/1.1 103 Early\r\n\r\n", ["timeout", "malformed"]),
    ] {
        let address = target(move |mut stream| {
            if next_request(&stream).is_none() || stream.write_all(endless.as_bytes()).is_err() {
                return;
            }
            let more: &[u8] = match endless {
                head if head.contains("X-A") => b"a",
                body if body.contains("chunked") => b"1\r\na\r\n",
                interim => interim.as_bytes(),
            };
            while stream.write_all(&more.repeat(50)).is_ok() {
                if stream.set_nodelay(true).is_err() {
                    return;
                }
            }
        });
        let line = format!("--target {address} --connections 4 --requests 8 --timeout 0.3");
        let figures = figures(&line, Duration::from_secs(15));
        assert_eq!(figures["errors"], 8, "{endless:?}: {figures}");
        adds_up(&figures);
        assert_eq!(
            8,
            kinds
                .iter()
                .take(1 + usize::from(kinds[0] != kinds[1]))
                .map(|one| kind(&figures, one))
                .sum::<u64>()
        );
    }
}

#[test]
fn silence_and_closed_doors_end_in_time() {
    // Never accepts, though the kernel does.
    let deaf = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = deaf.local_addr().unwrap();
    let line = format!("--target {address} --connections 8 --duration 1 --warmup 0 --timeout 0.3");
    let silent = figures(&line, Duration::from_secs(10));
    assert_eq!(silent["errors"], silent["requests"]);
    assert!(kind(&silent, "timeout") >= 8, "{silent}");
    adds_up(&silent);

    let address = target(drop::<TcpStream>);
    let line = format!("--target {address} --connections 8 --rate 200 --duration 1 --warmup 0 --timeout 0.3");
    let closing = figures(&line, Duration::from_secs(10));
    assert_eq!((&closing["requests"], &closing["errors"]), (&200.into(), &200.into()), "{closing}");
    adds_up(&closing);
}

/// Ten thousand connections that nobody listens for, opened by clients that keep none, and by a storm.
#[test]
fn refused_connections_are_counted() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let line = format!(
        "--target {nobody} --connections 200 --no-keep-alive --rate 5000 --duration 2 --warmup 0 --timeout 1"
    );
    let refused = figures(&line, Duration::from_secs(20));
    assert_eq!((&refused["requests"], &refused["errors"]), (&10_000.into(), &10_000.into()), "{refused}");
    assert!(kind(&refused, "connect") > 1_000, "{refused}");
    adds_up(&refused);
    let plan = written(
        "about: a\nkeep_alive: 0\ntimeout: 1s\nwarm_up: 0s\nphases: [{ for: 2s, rate: 0, storm: 5000 }]\n",
    );
    let line = format!("--target {nobody} --plan {}", plan.path().display());
    let refused = figures(&line, Duration::from_secs(20));
    assert_eq!((&refused["requests"], &refused["errors"]), (&10_000.into(), &10_000.into()), "{refused}");
    adds_up(&refused);
}

/// A target that dies in the middle of a run, and is back before its end.
#[test]
fn a_target_may_die_and_come_back() {
    let origin = Origin::start("");
    let address = origin.address;
    let (told, tells) = mpsc::channel();
    let run = std::thread::spawn(move || {
        told.send(()).unwrap();
        figures(
            &format!("--target {address} --connections 8 --rate 400 --duration 3 --warmup 0 --timeout 1"),
            Duration::from_secs(20),
        )
    });
    tells.recv().unwrap();
    // It has answered some by then.
    let mut probe = connect(address);
    for _ in 0..50 {
        probe.write_all(b"GET /delay/10 HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        let mut answer = [0; 1_300];
        assert!(probe.read(&mut answer).unwrap() > 0);
    }
    drop(origin);
    let back = crate::support::Started::new(&format!("origin --listen {address}"));
    let figures = run.join().unwrap();
    drop(back);
    assert_eq!(figures["requests"], 1_200, "{figures}");
    assert!(figures["statuses"]["2xx"].as_u64().unwrap() > 400, "{figures}");
    adds_up(&figures);
}

/// Clients that leave in the middle of everything do not keep an origin from answering others.
#[test]
fn an_origin_outlives_its_clients() {
    let plan = written(
        "about: a\nanswers: [{}, { does: trickle }, { does: never }, { does: reset, size: 1MiB }, { latency: 50ms }]\n",
    );
    let origin = Origin::start(&format!("--plan {}", plan.path().display()));
    let mut rng = fastrand::Rng::with_seed(7);
    for _ in 0..300 {
        let mut stream = connect(origin.address);
        let request = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello";
        stream.write_all(&request[..rng.usize(1..=request.len())]).unwrap();
        if rng.bool() {
            stream.set_read_timeout(Some(Duration::from_millis(2))).unwrap();
            let _ = stream.read(&mut [0; 100]);
        }
    }
    let mut answers = connect(origin.address);
    answers.write_all(b"GET /size/2 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap();
    let mut whole = Vec::new();
    answers.read_to_end(&mut whole).unwrap();
    assert!(whole.starts_with(b"HTTP/1.1 200 OK\r\n"), "{whole:?}");
}
