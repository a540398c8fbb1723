//! The admin listener over real sockets.
#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test

use super::{Admin, AdminError, AdminThread, Bounds, Reloaded, bind};
use crate::limits::ADMIN_CONNECTIONS_MAX;
use crate::observe::Readiness;
use crate::observe::registry::tests::{families, registry};
use serde_json::{Value, json};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const ANY: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);
/// Far longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(20);

/// A running admin listener and what its answers hang on.
struct Served {
    thread: AdminThread,
    readiness: Arc<Readiness>,
    drains: Arc<AtomicUsize>,
}

fn served(bounds: Bounds) -> Served {
    let registry = registry(2);
    registry.cores[1].connections_open.set(5);
    let readiness = Arc::clone(&registry.readiness);
    let drains = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&drains);
    let asked = AtomicUsize::new(0);
    let admin = Admin {
        registry: Arc::new(registry),
        guards: Arc::default(),
        drain: Box::new(move || {
            count.fetch_add(1, Ordering::Relaxed);
        }),
        reload: Box::new(move |tell| {
            // The file is right, then wrong, then the process has no time.
            match asked.fetch_add(1, Ordering::Relaxed) {
                0 => {
                    tell(Reloaded { applied: true, changed: vec!["a: 1 -> 2".into()], ..Reloaded::default() })
                }
                1 => tell(Reloaded { mistakes: vec!["f:3: wrong".into()], ..Reloaded::default() }),
                _ => drop(tell),
            }
        }),
        explain: Box::new(|query, tell| {
            match query {
                [] => return Err("host is missing".to_owned()),
                [(_, busy)] if busy == "busy" => drop(tell),
                query => tell(200, json!(query)),
            }
            Ok(())
        }),
        routes: Box::new(|host, tell| {
            match host {
                "a.test" => tell(200, json!({ "host": host })),
                _ => tell(404, json!({ "type": "urn:ringway:problem:unknown-host", "host": host })),
            }
            Ok(())
        }),
    };
    let thread = bind(ANY).unwrap().serve_within(bounds, admin).unwrap();
    Served { thread, readiness, drains }
}

struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn json(&self) -> Value {
        assert!(self.head.contains("content-type: application/json\r\n"), "{}", self.head);
        serde_json::from_str(&self.body).unwrap()
    }
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Sends a request of HTTP/1.1 with these field lines and reads until the server closes.
fn ask(address: SocketAddr, request_line: &str, fields: &str) -> Answer {
    let mut stream = connect(address);
    write!(stream, "{request_line} HTTP/1.1\r\nHost: {address}\r\n{fields}\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let status = head.strip_prefix("HTTP/1.1 ").unwrap()[..3].parse().unwrap();
    assert!(head.contains("\r\nconnection: close"), "{head}");
    Answer { status, head: format!("{head}\r\n"), body: body.to_owned() }
}

#[test]
fn metrics_are_open_metrics() {
    let served = served(Bounds::default());
    let answer = ask(served.thread.address(), "GET /metrics", "");
    assert_eq!(answer.status, 200);
    assert!(
        answer.head.contains("content-type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n")
    );
    let names: Vec<String> = families(&answer.body).iter().map(|family| family.exported_name()).collect();
    for name in [
        "ringway_requests_total",
        "ringway_failures_total",
        "ringway_ring_enters_total",
        "ringway_build_info",
    ] {
        assert!(names.iter().any(|exported| exported == name), "{name} in {names:?}");
    }
    served.thread.stop();
}

#[test]
fn readiness_tells_its_reasons_and_health_stays() {
    let served = served(Bounds::default());
    let address = served.thread.address();
    let ready = || ask(address, "GET /readyz", "");
    served.readiness.set("table", "the base is being verified");
    let answer = ready();
    assert_eq!(answer.status, 503);
    let reasons = json!([{ "name": "table", "why": "the base is being verified" }]);
    assert_eq!(answer.json(), json!({ "ready": false, "reasons": reasons }));
    served.readiness.clear("table");
    let answer = ready();
    assert_eq!((answer.status, answer.json()), (200, json!({ "ready": true, "reasons": [] })));
    served.readiness.drain();
    let answer = ready();
    assert_eq!((answer.status, &answer.json()["reasons"][0]["name"]), (503, &json!("draining")));
    assert_eq!(ask(address, "GET /healthz", "").status, 200);
    served.thread.stop();
}

#[test]
fn state_tells_version_base_and_cores() {
    let served = served(Bounds::default());
    let state = ask(served.thread.address(), "GET /v1/state", "").json();
    assert_eq!(state["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(state["base"], json!({ "file": "0.snap", "hosts": 4_000_000, "octets": 7 }));
    assert_eq!(state["levels"][0], json!({ "file": "2.snap", "octets": 2 }));
    assert_eq!((&state["digest"], &state["overlay"]["keys"]), (&json!("00ff"), &json!(3)));
    assert_eq!(state["feed"]["quarantine"]["file"], "state/quarantine.jsonl");
    assert_eq!(state["draining"], false);
    assert!(state["uptime_seconds"].as_u64().unwrap() < 60);
    let open: Vec<&Value> =
        state["cores"].as_array().unwrap().iter().map(|core| &core["connections_open"]).collect();
    assert_eq!(open, [&json!(0), &json!(5)]);
    served.thread.stop();
}

#[test]
fn only_a_post_from_no_web_page_drains() {
    let served = served(Bounds::default());
    let address = served.thread.address();
    assert_eq!(ask(address, "GET /v1/drain", "").status, 405);
    let page = "Origin: https://evil.example\r\nContent-Length: 0\r\n";
    assert_eq!(ask(address, "POST /v1/drain", page).status, 403);
    assert_eq!(served.drains.load(Ordering::Relaxed), 0);
    assert_eq!(ask(address, "POST /v1/drain", "Content-Length: 0\r\n").status, 202);
    assert_eq!(served.drains.load(Ordering::Relaxed), 1);
    assert_eq!(ask(address, "GET /nothing", "").status, 404);
    served.thread.stop();
}

#[test]
fn a_reload_tells_what_came_of_it() {
    let served = served(Bounds::default());
    let address = served.thread.address();
    let reload = |fields: &str| ask(address, "POST /v1/reload", &format!("{fields}Content-Length: 0\r\n"));
    assert_eq!(ask(address, "GET /v1/reload", "").status, 405);
    assert_eq!(reload("Origin: https://evil.example\r\n").status, 403);
    let (right, wrong, busy) = (reload(""), reload(""), reload(""));
    assert_eq!((right.status, wrong.status, busy.status), (200, 422, 503));
    let changed = json!({ "applied": true, "changed": ["a: 1 -> 2"], "needs_restart": [], "mistakes": [] });
    assert_eq!(right.json(), changed);
    assert_eq!(wrong.json()["mistakes"], json!(["f:3: wrong"]));
    served.thread.stop();
}

#[test]
fn a_request_is_explained() {
    let served = served(Bounds::default());
    let explain = |query: &str| ask(served.thread.address(), &format!("GET /v1/explain{query}"), "");
    let told = explain("?host=a.test&path=%2Fb%3Fc%26d&header=X%3A+%C3%A9");
    let query = json!([["host", "a.test"], ["path", "/b?c&d"], ["header", "X: \u{e9}"]]);
    assert_eq!((told.status, told.json()), (200, query));
    let wrong = explain("");
    assert_eq!((wrong.status, wrong.json()), (422, json!({ "error": "host is missing" })));
    assert_eq!(explain("?host=busy").status, 503);
    served.thread.stop();
}

#[test]
fn what_serves_a_host_name_is_told_or_why_nothing_does() {
    let served = served(Bounds::default());
    let routes = |query: &str| ask(served.thread.address(), &format!("GET /v1/routes{query}"), "");
    let told = routes("?host=a.test");
    assert_eq!((told.status, told.json()), (200, json!({ "host": "a.test" })));
    let not = routes("?host=b.test");
    assert_eq!(not.status, 404);
    assert!(not.head.contains("content-type: application/problem+json\r\n"), "{}", not.head);
    for query in ["", "?path=/", "?host=a.test&host=b.test"] {
        let wrong = routes(query);
        let why = json!({ "error": "give one host name, as in ?host=shop.example.com" });
        assert_eq!((wrong.status, wrong.json()), (422, why), "{query}");
    }
    served.thread.stop();
}

/// Reads until the server ends the connection, which it must; returns after how long.
fn time_until_closed(mut stream: &TcpStream) -> Duration {
    let begun = Instant::now();
    match stream.read(&mut [0; 64]) {
        Ok(0) => {}
        Err(error) if error.kind() == ErrorKind::ConnectionReset => {}
        other => panic!("not closed: {other:?}"),
    }
    begun.elapsed()
}

#[test]
fn silent_and_slow_clients_hold_it_for_their_time_only() {
    let head = Duration::from_millis(300);
    let served = served(Bounds { head, ..Bounds::default() });
    let address = served.thread.address();
    let begun = Instant::now();
    let silent = connect(address);
    let slow = connect(address);
    let mut drip = slow.try_clone().unwrap();
    let dripping = std::thread::spawn(move || {
        // A request line that never ends, an octet at a time.
        let octets = b"GET /".iter().chain(std::iter::repeat(&b'a')).take(4000);
        octets
            .take_while(|&&octet| {
                std::thread::park_timeout(Duration::from_millis(5));
                drip.write_all(&[octet]).is_ok()
            })
            .count()
    });
    assert!(time_until_closed(&silent) < PATIENCE);
    assert!(begun.elapsed() >= head, "closed after {:?}", begun.elapsed());
    assert!(time_until_closed(&slow) < PATIENCE);
    assert!(dripping.join().unwrap() < 4000, "the slow client was cut");
    served.thread.stop();
}

/// Places that idle clients hold are not lost to those who ask: the longest idle one makes room.
#[test]
fn idle_clients_starve_nobody() {
    let served = served(Bounds { head: PATIENCE, ..Bounds::default() });
    let address = served.thread.address();
    let idle: Vec<TcpStream> = (0..ADMIN_CONNECTIONS_MAX).map(|_| connect(address)).collect();
    let begun = Instant::now();
    assert_eq!(ask(address, "GET /healthz", "").status, 200);
    assert!(begun.elapsed() < Duration::from_secs(1), "answered after {:?}", begun.elapsed());
    assert!(time_until_closed(&idle[0]) < Duration::from_secs(1));
    let counted = ask(address, "GET /metrics", "").body;
    assert!(counted.contains("\nringway_admin_evicted_total 1\n"), "one made room");
    // The others are as they were.
    for mut stream in idle.into_iter().skip(1) {
        write!(stream, "GET /healthz HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    }
    served.thread.stop();
}

/// Who has asked is not sent away for others; they wait until he is answered.
#[test]
fn a_request_under_way_keeps_its_place() {
    let time = Duration::from_millis(400);
    let served = served(Bounds { connections: 1, time, ..Bounds::default() });
    let address = served.thread.address();
    let begun = Instant::now();
    let mut asked = connect(address);
    // Its body never comes.
    let fields = "Content-Length: 5\r\nExpect: 100-continue\r\n";
    write!(asked, "PUT /v1/log-level HTTP/1.1\r\nHost: {address}\r\n{fields}\r\n").unwrap();
    let leave = b"HTTP/1.1 100 Continue\r\n\r\n";
    let mut got = [0; 25];
    asked.read_exact(&mut got).unwrap();
    assert_eq!(&got, leave);
    let mut later = connect(address);
    assert!(time_until_closed(&asked) < PATIENCE);
    assert!(begun.elapsed() >= time, "closed after {:?}", begun.elapsed());
    write!(later, "GET /healthz HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
    let mut answer = String::new();
    later.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    served.thread.stop();
}

#[test]
fn garbage_costs_its_own_connection() {
    let served = served(Bounds::default());
    let address = served.thread.address();
    let mut stream = connect(address);
    stream.write_all(b"\x16\x03\x01\x00\xff\xff\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 400"), "{answer:?}");
    assert_eq!(ask(address, "GET /healthz", "").status, 200);
    served.thread.stop();
}

/// A request for what is alive whose head has these lines.
fn alive(address: SocketAddr, version: &str, fields: &str) -> String {
    let mut stream = connect(address);
    write!(stream, "GET /healthz HTTP/{version}\r\n{fields}\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_page_whose_name_was_made_to_mean_loopback_reads_nothing() {
    let served = served(Bounds::default());
    let status = |version, fields: &str| {
        let answer = alive(served.thread.address(), version, fields);
        assert!(answer.contains("\r\nconnection: close\r\n"), "{answer}");
        answer[9..12].parse::<u16>().unwrap()
    };
    for own in [
        "127.0.0.1",
        "127.0.0.1:9180",
        "[::1]:9180",
        "localhost",
        "LocalHost:9180",
        "edge.localhost",
        "10.1.2.3",
    ] {
        assert_eq!(status("1.1", &format!("Host: {own}\r\n")), 200, "{own}");
    }
    for other in ["rebound.example", "localhost.example:9180", "notlocalhost", "127.0.0.1.example"] {
        assert_eq!(status("1.1", &format!("Host: {other}\r\n")), 421, "{other}");
    }
    for none in ["", "Host:\r\n", "Host: a b\r\n", "Host: localhost\r\nHost: localhost\r\n"] {
        assert_eq!(status("1.1", none), 400, "{none:?}");
    }
    assert_eq!(status("1.0", ""), 200);
    served.thread.stop();
}

#[test]
fn a_taken_address_is_named_with_the_mending() {
    let taken = TcpListener::bind(ANY).unwrap();
    let address = taken.local_addr().unwrap();
    let error = bind(address).unwrap_err();
    assert!(matches!(error, AdminError::Bind { .. }));
    let message = error.to_string();
    let port = address.port();
    assert!(
        message.starts_with(&format!("cannot listen on {address} for the admin listener: ")),
        "{message}"
    );
    assert!(message.contains(&format!("sport = :{port}")) && message.contains("admin.address"), "{message}");
}

#[test]
fn stopping_frees_the_address_and_cuts_what_is_open() {
    let served = served(Bounds::default());
    let address = served.thread.address();
    let open = connect(address);
    assert_eq!(ask(address, "GET /healthz", "").status, 200);
    served.thread.stop();
    assert!(time_until_closed(&open) < PATIENCE);
    assert!(bind(address).is_ok());
}
