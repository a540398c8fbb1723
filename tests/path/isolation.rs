//! What one service's requests may take of a core, and what that leaves for others.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::origin::ok;
use crate::support::*;

const GET: &str = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";
const OTHER: &str = "GET / HTTP/1.1\r\nHost: b.test\r\n\r\n";

fn one_core(setup: Setup) -> Setup {
    setup.set("cores", json!([ringway::runtime::machine::cpus()[0]]))
}

/// An origin that answers when it is told to, and knows how many requests it had at once.
struct Held {
    origin: Origin,
    release: mpsc::Sender<()>,
    most: Arc<AtomicUsize>,
}

fn held() -> Held {
    let (release, released) = mpsc::channel();
    let (released, now, most) =
        (std::sync::Mutex::new(released), AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
    let seen = Arc::clone(&most);
    let origin = Origin::answering(move |_, _| {
        seen.fetch_max(now.fetch_add(1, Ordering::AcqRel) + 1, Ordering::AcqRel);
        let _ = released.lock().unwrap().recv();
        now.fetch_sub(1, Ordering::AcqRel);
        ok("at last")
    });
    Held { origin, release, most }
}

fn asking(router: &Router, count: usize) -> Vec<Wire> {
    let ask = |_| {
        let mut client = router.connect();
        client.send(GET).unwrap();
        client
    };
    (0..count).map(ask).collect()
}

#[test]
fn requests_beyond_the_limit_wait_and_beyond_that_are_refused() {
    let held = held();
    let limits = json!({ "upstream_requests": 2, "upstream_waiting": 3 });
    let setup = Setup::to(&[held.origin.address]).set("limits", limits).set("timeouts.upstream_wait", "1m");
    let router = one_core(setup).start();
    let mut first = asking(&router, 2);
    wait_until("two are at the origin", || held.origin.requests().len() == 2);
    let mut waiting = asking(&router, 3);
    router.wait_metric("ringway_upstream_waiting", 3);
    for client in &mut asking(&router, 4) {
        let got = client.response().unwrap();
        assert_eq!((got.status, got.problem()["status"].as_u64()), (503, Some(503)));
        assert_eq!(got.head.get("retry-after"), Some("1"));
    }
    assert_eq!(router.metric_with("ringway_failures_total", "reason=\"service_full\""), 4);
    // One that gives up leaves its place, and no turn is lost with it.
    waiting.remove(1).reset();
    router.wait_metric("ringway_upstream_waiting", 2);
    (0..4).for_each(|_| held.release.send(()).unwrap());
    for client in first.iter_mut().chain(&mut waiting) {
        assert_eq!(client.response().unwrap().text(), "at last");
    }
    assert_eq!(held.most.load(Ordering::Acquire), 2);
    assert_eq!(
        (router.metric("ringway_upstream_waits_total"), router.metric("ringway_upstream_waiting")),
        (3, 0)
    );
}

#[test]
fn a_request_does_not_wait_for_ever() {
    let held = held();
    let limits = json!({ "upstream_requests": 1 });
    let setup =
        Setup::to(&[held.origin.address]).set("limits", limits).set("timeouts.upstream_wait", "300ms");
    let router = one_core(setup).start();
    let mut first = asking(&router, 1);
    wait_until("it is at the origin", || held.origin.requests().len() == 1);
    let began = Instant::now();
    let mut client = router.connect();
    assert_eq!(client.ask(GET).status, 503);
    assert!(began.elapsed() >= Duration::from_millis(300), "{:?}", began.elapsed());
    assert_eq!(router.metric_with("ringway_failures_total", "reason=\"turn_timeout\""), 1);
    // Its connection is none the worse.
    held.release.send(()).unwrap();
    assert_eq!(first[0].response().unwrap().status, 200);
    held.release.send(()).unwrap();
    assert_eq!(client.ask(GET).status, 200);
}

/// What mends a jam helps those who stand in it.
#[test]
fn a_limit_that_is_raised_is_raised_for_those_who_wait() {
    let held = held();
    let setup = Setup::to(&[held.origin.address]).set("limits.upstream_requests", 1);
    let mut router = one_core(setup.set("timeouts.upstream_wait", "1m")).start();
    let mut first = asking(&router, 1);
    wait_until("one is at the origin", || held.origin.requests().len() == 1);
    let mut waiting = asking(&router, 5);
    router.wait_metric("ringway_upstream_waiting", 5);
    router.change(|setup| setup.set("limits.upstream_requests", 4));
    assert_eq!(router.reload().status, 200);
    held.release.send(()).unwrap();
    assert_eq!(first[0].response().unwrap().text(), "at last");
    wait_until("four of those who waited are at the origin", || held.origin.requests().len() == 5);
    (0..5).for_each(|_| held.release.send(()).unwrap());
    for client in &mut waiting {
        assert_eq!(client.response().unwrap().text(), "at last");
    }
    assert_eq!(held.most.load(Ordering::Acquire), 4);
}

/// with a limit of L, at most L + 1 connections, however many endpoints share them.
#[test]
fn connections_beyond_the_limit_replace_kept_ones() {
    let origins: Vec<Origin> = (0..4).map(|_| Origin::saying("fine")).collect();
    let addresses: Vec<_> = origins.iter().map(|origin| origin.address).collect();
    let setup = Setup::to(&addresses).set("limits.upstream_connections", 2);
    let router = one_core(setup).start();
    let mut client = router.connect();
    for _ in 0..100 {
        assert_eq!(client.ask(GET).status, 200);
        assert!(router.metric("ringway_upstream_idle") <= 2);
    }
    assert!(router.metric("ringway_upstream_evicted_total") > 0);
    wait_until("what was closed is closed", || origins.iter().map(Origin::open).sum::<usize>() <= 2);
}

/// Thousands of requests to a service whose only endpoint swallows them; another service is asked meanwhile.
#[test]
fn a_service_that_swallows_thousands_leaves_others_alone() {
    const CROWD: usize = 5_000;
    let _alone = alone();
    let (hole, good) = (BlackHole::new(), Origin::saying("fine"));
    let router = Setup::to(&[hole.address])
        .service("svc_b", &["b.test"], &[good.address])
        .set("timeouts.connect", "2s")
        .set("access_log.success_sample", 0)
        .under(["prlimit", "--nofile=20000:20000"])
        .start();
    let (mut client, began) = (router.connect(), Instant::now());
    let mut crowd = asking(&router, CROWD);
    let (mut asked, mut slowest) = (0, Duration::ZERO);
    while began.elapsed() < Duration::from_secs(4) {
        let sent = Instant::now();
        assert_eq!(client.ask(OTHER).text(), "fine");
        slowest = slowest.max(sent.elapsed());
        asked += 1;
    }
    println!("{asked} requests to the other service, the slowest {slowest:?}");
    assert!(asked > 500 && slowest < Duration::from_millis(500), "{asked} requests, {slowest:?}");
    // No more are in flight than may be, and everybody gets an answer.
    let statuses: Vec<u16> = crowd.iter_mut().map(|client| client.response().unwrap().status).collect();
    assert!(statuses.iter().all(|status| matches!(status, 503 | 504)), "{statuses:?}");
    let cores = ringway::runtime::machine::cpus().len();
    let swallowed = statuses.iter().filter(|status| **status == 504).count();
    assert!((1..=2 * cores * 1024).contains(&swallowed), "{swallowed}");
    assert!(router.metric_with("ringway_failures_total", "reason=\"service_full\"") > 0);
    drop(crowd);
    drop(client);
    router.wait_quiet();
    assert_eq!(router.metric("ringway_upstream_waiting"), 0);
}

/// Two routers that have each other for a service's endpoint: a request goes in a circle until its Via tells.
#[test]
fn a_circle_through_another_router_ends() {
    let origin = Origin::saying("fine");
    let mut first = Setup::to(&[origin.address]).start();
    let second = Setup::to(&[first.address]).start();
    let back = second.address;
    first.change(|setup| setup.of_service("endpoints", serde_json::json!([back.to_string()])));
    assert_eq!(first.reload().status, 200);
    let answer = first.connect().ask("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n");
    assert_eq!(answer.status, 508);
    assert!(answer.text().contains("urn:ringway:problem:loop-detected"), "{}", answer.text());
    let detected = |router: &Router| router.metric_with("ringway_failures_total", "reason=\"loop_detected\"");
    assert_eq!(detected(&first) + detected(&second), 1);
    // Nine passes and no tenth: each router saw about half of them.
    wait_until("all have their answers", || {
        first.metric("ringway_requests_total") + second.metric("ringway_requests_total") == 10
    });
}
