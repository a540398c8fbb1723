//! Connections kept to origins: made when they are needed, closed when they are not.

use std::time::Duration;

use serde_json::json;

use crate::support::*;

fn get(host: usize) -> String {
    format!("GET / HTTP/1.1\r\nHost: h{host}.test\r\n\r\n")
}

/// a thousand services are configured and ten are used.
#[test]
fn only_services_in_use_have_connections() {
    let origin = Origin::saying("fine");
    let setup = (0..1_000).fold(Setup::new(), |setup, n| {
        setup.service(&format!("svc_{n}"), &[&format!("h{n}.test")], &[origin.address])
    });
    let router = setup.set("timeouts.upstream_idle", "400ms").start();
    assert_eq!(origin.connections(), 0, "nobody has asked yet");
    let mut client = router.connect();
    for n in 0..1_000 {
        assert_eq!(client.ask(get(n % 10)).status, 200);
    }
    // Each service has its own, though the endpoint is the same for all.
    assert_eq!((origin.connections(), router.metric("ringway_upstream_idle")), (10, 10));
    assert!(router.metric("ringway_upstream_reused_total") >= 950);
    router.wait_metric("ringway_upstream_idle", 0);
    wait_until("all are closed", || origin.open() == 0);
    assert_eq!(client.ask(get(3)).status, 200);
}

/// Ten services that have an endpoint in common, `shared` of which say so: how many connections they come to.
fn connections_of_ten(shared: usize) -> usize {
    let origin = Origin::saying("fine");
    let setup = (0..10).fold(Setup::new(), |setup, n| {
        let setup = setup.service(&format!("svc_{n}"), &[&format!("h{n}.test")], &[origin.address]);
        setup.of_service("reuse", if n < shared { "endpoint" } else { "service" })
    });
    let router = setup.set("cores", json!([ringway::runtime::machine::cpus()[0]])).start();
    let mut client = router.connect();
    for n in 0..100 {
        assert_eq!(client.ask(get(n * 7 % 10)).status, 200);
    }
    let made = origin.connections();
    assert_eq!(router.metric("ringway_upstream_idle"), made as u64);
    made
}

/// What one service's requests make of a connection only that service meets, unless it says otherwise.
#[test]
fn connections_are_shared_by_those_only_that_say_so() {
    assert_eq!(connections_of_ten(0), 10);
    assert_eq!(connections_of_ten(4), 7);
    assert_eq!(connections_of_ten(10), 1);
}

/// A reload that ends the sharing ends the use of what was shared.
#[test]
fn sharing_ends_with_the_reload_that_ends_it() {
    let origin = Origin::saying("fine");
    let setup =
        Setup::new().set("reuse", "endpoint").set("cores", json!([ringway::runtime::machine::cpus()[0]]));
    let setup = setup.service("svc_0", &["h0.test"], &[origin.address]);
    let mut router = setup.service("svc_1", &["h1.test"], &[origin.address]).start();
    let mut client = router.connect();
    let mut ask = |n| {
        assert_eq!(client.ask(get(n)).status, 200);
        origin.connections()
    };
    assert_eq!([ask(0), ask(1), ask(0)], [1, 1, 1]);
    router.change(|setup| setup.set("reuse", "service"));
    assert_eq!(router.reload().status, 200);
    assert_eq!([ask(0), ask(1), ask(0), ask(1)], [2, 3, 3, 3]);
    router.change(|setup| setup.set("reuse", "endpoint"));
    assert_eq!(router.reload().status, 200);
    ask(0);
    ask(1);
    // What nobody can use any more is closed, and not counted.
    wait_until("as many are open as are kept", || {
        origin.open() as u64 == router.metric("ringway_upstream_idle")
    });
}

/// Connections kept for services that come once leave room for clients.
#[test]
fn kept_connections_take_a_part_of_the_descriptors_only() {
    const SERVICES: usize = 300;
    let origin = Origin::saying("fine");
    let setup = (0..SERVICES).fold(Setup::new(), |setup, n| {
        setup.service(&format!("svc_{n}"), &[&format!("h{n}.test")], &[origin.address])
    });
    let setup = setup.set("cores", json!([ringway::runtime::machine::cpus()[0]]));
    let router = setup.set("limits.connections_per_core", 400).start();
    let mut client = router.connect();
    for n in 0..SERVICES {
        assert_eq!(client.ask(get(n)).status, 200);
        assert!(router.metric("ringway_upstream_idle") <= 100);
    }
    assert_eq!(origin.connections(), SERVICES);
    assert!(router.metric("ringway_upstream_evicted_total") >= 200);
    assert_eq!(router.metric("ringway_ring_accept_pauses_total"), 0);
    wait_until("what was closed is closed", || origin.open() <= 100);
}

/// An origin that closes idle connections says so, and is not met as it closes.
#[test]
fn a_kept_connection_is_given_up_before_its_origin_does() {
    let origin = Origin::answering(|head, _| {
        let keep = match head.path() {
            "/short" => "timeout=1, max=100",
            "/never" => "timeout=0",
            _ => "timeout=60",
        };
        format!("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nKeep-Alive: {keep}\r\n\r\n").into_bytes()
    });
    let setup = Setup::to(&[origin.address]).set("cores", json!([ringway::runtime::machine::cpus()[0]]));
    let router = setup.start();
    let mut client = router.connect();
    for (path, wait, connections) in [
        ("/long", 0, 1),
        ("/long", 700, 1),
        ("/short", 0, 1),
        ("/long", 700, 2),
        ("/never", 0, 2),
        ("/long", 0, 3),
    ] {
        pause(Duration::from_millis(wait));
        let got = client.ask(format!("GET {path} HTTP/1.1\r\nHost: a.test\r\n\r\n"));
        assert_eq!((got.status, origin.connections()), (200, connections), "{path} after {wait} ms");
    }
}
