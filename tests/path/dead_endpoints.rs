//! Endpoints that refuse, swallow or break connections beside others that serve, and their return.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::*;

const POST: &str = "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 2\r\n\r\nhi";

/// One core, so that what it knows is all that is known.
fn setup(endpoints: &[SocketAddr]) -> Setup {
    Setup::to(endpoints).set("cores", json!([ringway::runtime::machine::cpus()[0]]))
}

/// Asks again and again for as long as `lasting`; statuses that are not 200, and how long the slowest took.
fn ask_for(router: &Router, lasting: Duration) -> (Vec<u16>, Duration) {
    let (mut client, mut bad, mut slowest) = (router.connect(), Vec::new(), Duration::ZERO);
    let began = Instant::now();
    while began.elapsed() < lasting {
        let asked = Instant::now();
        let got = client.ask(POST);
        slowest = slowest.max(asked.elapsed());
        if got.status != 200 {
            bad.push(got.status);
            client = router.connect();
        }
    }
    (bad, slowest)
}

#[test]
fn one_of_three_that_refuses_costs_nobody_anything() {
    let (one, other) = (Origin::saying("fine"), Origin::saying("fine"));
    let dead = ports::free_address();
    let router = setup(&[one.address, dead, other.address]).start();
    let (bad, slowest) = ask_for(&router, Duration::from_millis(1_500));
    assert_eq!(bad, [0; 0]);
    assert!(slowest < Duration::from_millis(500), "{slowest:?}");
    assert_eq!(router.metric("ringway_second_attempts_total"), 1, "only the first finds out");
    assert!(router.metric("ringway_upstream_probes_total") >= 2);
    assert_eq!(router.metric("ringway_upstream_all_bad_total"), 0);
    // It comes back, and gets its share without a request that waits for it.
    let back = Origin::at(dead, "back");
    wait_until("the endpoint that is back is asked", || {
        assert_eq!(router.connect().ask(POST).status, 200);
        back.requests().len() > 20
    });
    assert_eq!(router.metric("ringway_second_attempts_total"), 1);
}

#[test]
fn one_of_three_that_swallows_costs_one_timeout() {
    let (one, other, hole) = (Origin::saying("fine"), Origin::saying("fine"), BlackHole::new());
    let router = setup(&[one.address, hole.address, other.address]).set("timeouts.connect", "700ms").start();
    let (bad, slowest) = ask_for(&router, Duration::from_millis(1_500));
    assert_eq!(bad, [0; 0]);
    assert!(slowest >= Duration::from_millis(700), "the hole was never met: {slowest:?}");
    // From now on nobody waits, however often it is probed.
    let probes = router.metric("ringway_upstream_probes_total");
    let clients: Vec<_> = std::thread::scope(|scope| {
        let clients: Vec<_> =
            (0..8).map(|_| scope.spawn(|| ask_for(&router, Duration::from_millis(3_000)))).collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    for (bad, slowest) in clients {
        assert_eq!(bad, [0; 0]);
        assert!(slowest < Duration::from_millis(500), "{slowest:?}");
    }
    assert!(router.metric("ringway_upstream_probes_total") > probes);
    assert_eq!(router.metric("ringway_second_attempts_total"), 1);
}

/// Behind a balancer whose servers are gone: it takes connections and breaks them.
#[test]
fn one_of_three_that_breaks_connections_is_met_seldom() {
    let (one, other) = (Origin::saying("fine"), Origin::saying("fine"));
    let broken = Origin::start(Visit::reset);
    let router = setup(&[one.address, broken.address, other.address]).start();
    let (bad, _) = ask_for(&router, Duration::from_millis(1_500));
    // A POST that was sent is not sent again. Its endpoint was tried after 0.1 s, 0.3 s, 0.7 s and 1.5 s, or a little sooner.
    assert!((1..=6).contains(&bad.len()), "{bad:?}");
    let answered = one.requests().len() + other.requests().len();
    assert!(answered > 100, "{answered} answers");
}

#[test]
fn where_all_are_dead_the_least_bad_is_tried() {
    let dead = ports::free_address();
    let router = setup(&[dead]).start();
    for _ in 0..20 {
        let got = router.connect().ask(POST);
        assert_eq!(got.problem()["type"], "urn:ringway:problem:origin-unreachable");
    }
    assert!(router.metric("ringway_upstream_all_bad_total") >= 19);
    // The first request after its return is served: nobody waits for the end of a back-off.
    let _back = Origin::at(dead, "back");
    assert_eq!(router.connect().ask(POST).text(), "back");
}
