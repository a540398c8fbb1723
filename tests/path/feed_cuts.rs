//! Open work of a host name that loses its service: it ends within a second, whatever it is at, and nobody else's does.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::support::changes::{append, endpoints, maps, removes, tombstone};
use crate::support::*;

const SECOND: Duration = Duration::from_secs(1);
const HOST: &str = "a.test";

fn get(host: &str) -> String {
    format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n")
}

/// A router with `a.test` at `svc_a`, and `b.test` at `svc_b`, which have these origins.
fn router(a: SocketAddr, b: SocketAddr) -> Router {
    let of = |host, service, address| [maps(host, service, 1), endpoints(service, &[address], 1)].concat();
    Setup::new().feed(Some(&[of(HOST, "svc_a", a), of("b.test", "svc_b", b)].concat())).start()
}

/// Makes a change, and tells when.
fn change(router: &Router, line: &str) -> Instant {
    let now = Instant::now();
    append(&router.folder().join("changes.jsonl"), line);
    now
}

/// Waits until the router has ended a connection.
fn ends(client: &mut Wire) {
    let end = client.end();
    assert!(matches!(end, Cut::Closed | Cut::Reset), "{end:?}");
}

/// Waits until cuts have been told of as done by every core.
fn wait_acknowledged(router: &Router, cuts: u64) {
    router.wait_metric("ringway_feed_cut_duration_seconds_count", cuts);
}

#[test]
fn an_open_response_is_cut_and_does_not_look_whole() {
    let other = Origin::saying("fine");
    // In chunks, by its length, and until the connection's end; and one that never pauses.
    for (head, body, goes_on) in [
        ("Transfer-Encoding: chunked\r\n", "5\r\nbegin\r\n", false),
        ("Content-Length: 1000000\r\n", "begin", false),
        ("Connection: close\r\n", "begin", false),
        ("Content-Length: 1000000000000\r\n", "begin", true),
    ] {
        let origin = Origin::start(move |mut visit| {
            if visit.head().is_err() {
                return;
            }
            visit.say(format!("HTTP/1.1 200 OK\r\n{head}\r\n{body}"));
            let more = vec![b'x'; 100_000];
            while goes_on && visit.wire.send(&more).is_ok() {}
            visit.wait_for_end();
        });
        let router = router(origin.address, other.address);
        let mut client = router.connect();
        client.send(get(HOST)).unwrap();
        assert_eq!(client.response_head().unwrap().0, 200);
        let mut bystander = router.connect();
        assert_eq!(bystander.ask(get("b.test")).text(), "fine");

        let began = change(&router, &tombstone(HOST, 2));
        assert_eq!(client.rest().err(), Some(Cut::Reset), "{head}");
        wait_until("the origin's connection is closed", || origin.open() == 0);
        assert!(began.elapsed() < SECOND, "{head}: {:?}", began.elapsed());
        wait_acknowledged(&router, 1);
        router.wait_metric("ringway_requests_in_flight", 0);
        assert_eq!(router.metric_with("ringway_failures_total", "reason=\"host_taken\""), 1, "{head}");
        assert_eq!(router.metric("ringway_host_cuts_total"), 2);
        // Nobody else notices.
        assert_eq!(bystander.ask(get("b.test")).text(), "fine");
        assert_eq!(router.connect().ask(get(HOST)).status, 404);
        assert_eq!(router.metric("ringway_upstream_backoffs_total"), 0, "no endpoint is blamed");
    }
}

#[test]
fn a_request_is_cut_wherever_it_waits() {
    let (silent, hole, other) =
        (Origin::start(|mut visit| visit.wait_for_end()), BlackHole::new(), Origin::saying("fine"));
    // For the answer's head, with a body on its way up, and for a connection.
    let upload = format!("POST / HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 1000000\r\n\r\nsome of it");
    for (address, request) in
        [(silent.address, get(HOST)), (silent.address, upload), (hole.address, get(HOST))]
    {
        let router = router(address, other.address);
        let mut client = router.connect();
        client.send(&request).unwrap();
        router.wait_metric("ringway_requests_in_flight", 1);
        wait_until("it has an endpoint", || router.metric("ringway_upstream_connects_total") == 1);
        let began = change(&router, &removes(HOST, 2));
        ends(&mut client);
        assert!(began.elapsed() < SECOND, "{request}: {:?}", began.elapsed());
        wait_acknowledged(&router, 1);
        router.wait_metric("ringway_requests_in_flight", 0);
        assert_eq!(router.metric_with("ringway_failures_total", "reason=\"host_taken\""), 1);
        assert_eq!(router.metric("ringway_upstream_backoffs_total"), 0);
    }
}

#[test]
fn a_request_that_waits_for_its_turn_is_cut() {
    let (silent, other) = (Origin::start(|mut visit| visit.wait_for_end()), Origin::saying("fine"));
    let of = |host, service, address| [maps(host, service, 1), endpoints(service, &[address], 1)].concat();
    let begins = [of(HOST, "svc_a", silent.address), of("b.test", "svc_b", other.address)].concat();
    let setup = Setup::new().set("cores", serde_json::json!([0])).set("limits.upstream_requests", 1);
    let router = setup.set("timeouts.upstream_wait", "10s").feed(Some(&begins)).start();
    let mut clients: Vec<Wire> = (0..3).map(|_| router.connect()).collect();
    clients.iter_mut().for_each(|client| client.send(get(HOST)).unwrap());
    router.wait_metric("ringway_upstream_waiting", 2);
    let began = change(&router, &tombstone(HOST, 2));
    clients.iter_mut().for_each(ends);
    assert!(began.elapsed() < SECOND, "{:?}", began.elapsed());
    wait_acknowledged(&router, 1);
    router.wait_metric("ringway_upstream_waiting", 0);
    assert_eq!(router.metric_with("ringway_failures_total", "reason=\"host_taken\""), 3);
}

#[test]
fn an_idle_connection_is_cut_if_its_last_request_was_for_the_host() {
    let (one, two) = (Origin::saying("one"), Origin::saying("two"));
    let router = router(one.address, two.address);
    let (mut last, mut before, mut never) = (router.connect(), router.connect(), router.connect());
    assert_eq!(before.ask(get(HOST)).text(), "one");
    assert_eq!(before.ask(get("b.test")).text(), "two");
    assert_eq!(last.ask(get("b.test")).text(), "two");
    assert_eq!(last.ask(get(HOST)).text(), "one");
    // The host name goes to another service, whose are the requests from then on, on connections of its own.
    let kept = one.requests().len();
    let began = change(&router, &maps(HOST, "svc_b", 2));
    ends(&mut last);
    assert!(began.elapsed() < SECOND, "{:?}", began.elapsed());
    wait_acknowledged(&router, 1);
    assert_eq!(before.ask(get(HOST)).text(), "two");
    assert_eq!(never.ask(get(HOST)).text(), "two");
    assert_eq!(one.requests().len(), kept, "nothing more reaches the service before");
    // The same service once more is no loss, nor is another endpoint of it.
    change(&router, &[maps(HOST, "svc_b", 3), endpoints("svc_b", &[one.address], 2)].concat());
    wait_until("requests go to the new endpoint", || never.ask(get(HOST)).text() == "one");
    assert_eq!(before.ask(get(HOST)).text(), "one");
    assert_eq!(router.metric("ringway_feed_cut_duration_seconds_count"), 1);
}

#[test]
fn a_wildcard_takes_along_what_it_leads_and_nothing_else() {
    let (one, two) = (Origin::saying("one"), Origin::saying("two"));
    let begins = [
        maps("*.apps.test", "svc_a", 1),
        maps("exact.apps.test", "svc_a", 1),
        endpoints("svc_a", &[one.address], 1),
        endpoints("svc_b", &[two.address], 1),
    ];
    let router = Setup::new().feed(Some(&begins.concat())).start();
    let ask = |host: &str| {
        let mut client = router.connect();
        assert_eq!(client.ask(get(host)).text(), "one", "{host}");
        client
    };
    let hosts = ["by.apps.test", "other.apps.test", "exact.apps.test"];
    let [mut by, mut other, mut exact] = hosts.map(ask);
    // A name of its own for one, which leads elsewhere.
    change(&router, &maps("other.apps.test", "svc_b", 1));
    ends(&mut other);
    wait_acknowledged(&router, 1);
    assert_eq!(by.ask(get("by.apps.test")).text(), "one");
    // The wildcard goes elsewhere, with those alone that it leads.
    change(&router, &maps("*.apps.test", "svc_b", 2));
    ends(&mut by);
    wait_acknowledged(&router, 2);
    assert_eq!(exact.ask(get("exact.apps.test")).text(), "one");
    // And a name falls to it.
    change(&router, &removes("exact.apps.test", 2));
    ends(&mut exact);
    wait_acknowledged(&router, 3);
    let mut again = router.connect();
    assert_eq!(again.ask(get("exact.apps.test")).text(), "two");
    // Where it falls to the service that it had, nothing is lost.
    change(
        &router,
        &[maps("by.apps.test", "svc_b", 1), removes("by.apps.test", 2), maps("mark.test", "svc_b", 1)]
            .concat(),
    );
    wait_until("all is read", || router.connect().ask(get("mark.test")).status == 200);
    assert_eq!(again.ask(get("exact.apps.test")).text(), "two");
    assert_eq!(router.metric("ringway_feed_cut_duration_seconds_count"), 3);
}

/// However many host names lose their services among many connections, those that keep theirs go on.
#[test]
fn many_are_cut_among_many() {
    const HOSTS: usize = 200;
    const EACH: usize = 10;
    let _alone = alone();
    let origin = Origin::saying("fine");
    let name = |n: usize| format!("h{n}.test");
    let begins: String = (0..HOSTS).map(|n| maps(&name(n), "svc_a", 1)).collect();
    let router =
        Setup::new().feed(Some(&[begins, endpoints("svc_a", &[origin.address], 1)].concat())).start();
    let mut clients: Vec<(usize, Wire)> = (0..HOSTS * EACH).map(|n| (n % HOSTS, router.connect())).collect();
    for (host, client) in &mut clients {
        assert_eq!(client.ask(get(&name(*host))).status, 200);
    }
    let taken: String = (0..HOSTS).filter(|n| n % 2 == 0).map(|n| tombstone(&name(n), 2)).collect();
    let began = change(&router, &taken);
    wait_acknowledged(&router, HOSTS as u64 / 2);
    println!("{} connections of {} cut within {:?}", HOSTS * EACH / 2, HOSTS * EACH, began.elapsed());
    assert!(began.elapsed() < SECOND, "{:?}", began.elapsed());
    for (host, client) in &mut clients {
        match *host % 2 {
            0 => ends(client),
            _ => assert_eq!(client.ask(get(&name(*host))).status, 200),
        }
    }
}
