//! What a request may measure: 431, 414 and 413, for the router and for one service.

use serde_json::json;

use crate::support::origin::ok;
use crate::support::*;

const POST: &str = "POST / HTTP/1.1\r\nHost: a.test\r\n";

fn too_large(router: &Router) -> u64 {
    router.metric_with("ringway_failures_total", "reason=\"content_too_large\"")
}

/// An origin that tells each body's length, behind a router where bodies have at most `most` octets.
fn bounded(most: u64) -> (Router, Origin) {
    let origin = Origin::answering(|_, body| ok(body.len().to_string()));
    (Setup::to(&[origin.address]).set("limits.request_body_bytes", most).start(), origin)
}

#[test]
fn a_length_beyond_the_limit_is_refused_at_once() {
    let (router, origin) = bounded(1000);
    let mut client = router.connect();
    let fits = format!("{POST}Content-Length: 1000\r\n\r\n{}", "x".repeat(1000));
    assert_eq!(client.ask(&fits).text(), "1000");
    for fields in ["", "Expect: 100-continue\r\n"] {
        let mut client = router.connect();
        let got = client.ask(format!("{POST}Content-Length: 1001\r\n{fields}\r\n"));
        assert_eq!((got.status, got.head.get("connection")), (413, Some("close")));
        assert_eq!(got.problem()["type"], "urn:ringway:problem:content-too-large");
        client.finish_sending();
        assert_eq!(client.end(), Cut::Closed);
    }
    assert_eq!(origin.requests().len(), 1, "a request that is refused does not reach the origin");
    assert_eq!(too_large(&router), 2);
    router.wait_metric("ringway_connections_open", 1);
}

#[test]
fn chunks_beyond_the_limit_are_refused_when_they_come() {
    let (router, origin) = bounded(1000);
    let head = format!("{POST}Transfer-Encoding: chunked\r\n\r\n");
    let chunks = |sizes: &[usize]| {
        sizes.iter().map(|&size| format!("{size:x}\r\n{}\r\n", "x".repeat(size))).collect::<String>()
    };
    let mut client = router.connect();
    assert_eq!(client.ask(format!("{head}{}0\r\n\r\n", chunks(&[500, 500]))).text(), "1000");
    for sizes in [&[1001][..], &[1000, 1], &[500, 501], &[5000]] {
        let mut client = router.connect();
        let got = client.ask(format!("{head}{}0\r\n\r\n", chunks(sizes)));
        assert_eq!((got.status, got.head.get("connection")), (413, Some("close")), "{sizes:?}");
        client.finish_sending();
        assert_eq!(client.end(), Cut::Closed);
    }
    assert_eq!(too_large(&router), 4);
    // `Visit::request` gives whole requests alone, and only those are answered.
    wait_until("the origin's connections are closed", || origin.open() <= 1);
    assert_eq!(client.ask(format!("{head}{}0\r\n\r\n", chunks(&[7]))).text(), "7");
}

/// A body without end is cut where it gets too long, and costs no memory on its way there.
#[test]
fn a_chunk_beyond_the_limit_is_refused_when_it_is_announced() {
    let (router, origin) = bounded(1000);
    for size in ["3e9", "FFFFFFFFFFFFFFFF", "3\r\nabc\r\n3e6"] {
        let mut client = router.connect();
        let got = client.ask(format!("{POST}Transfer-Encoding: chunked\r\n\r\n{size}\r\n"));
        assert_eq!((got.status, got.head.get("connection")), (413, Some("close")), "{size}");
    }
    assert_eq!(too_large(&router), 3);
    wait_until("what the origin was told of them is broken off", || origin.open() == 0);
}

#[test]
fn trailers_beyond_the_bound_are_refused() {
    let (router, origin) = bounded(1000);
    let ask = |octets: usize| {
        let line = format!("X-Long: {}\r\n", "x".repeat(octets));
        let head = format!("{POST}Transfer-Encoding: chunked\r\n\r\n");
        router.connect().ask(format!("{head}1\r\nx\r\n0\r\n{line}\r\n"))
    };
    assert_eq!(ask(8000).text(), "1");
    let got = ask(9000);
    assert_eq!((got.status, got.head.get("connection")), (431, Some("close")));
    let detail = got.problem()["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("trailer section is longer than 8 KiB"), "{detail}");
    wait_until("what the origin was told of it is broken off", || origin.open() <= 1);
}

#[test]
fn an_endless_upload_ends() {
    const MOST: u64 = 4 << 20;
    let (tell, told) = std::sync::mpsc::channel();
    let origin = Origin::start(move |mut visit| {
        if visit.head().is_ok() {
            let _ = tell.send(visit.wire.rest());
        }
    });
    let router = Setup::to(&[origin.address]).set("limits.request_body_bytes", MOST).start();
    let mut client = router.connect();
    let mut up = Wire::new(client.stream.try_clone().unwrap());
    let sending = std::thread::spawn(move || {
        let _ = up.send(format!("{POST}Transfer-Encoding: chunked\r\n\r\n"));
        let piece = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
        // Ends when the router has had enough; bounded in case it never has.
        (0..10_000).take_while(|_| up.send(&piece).is_ok()).count()
    });
    assert_eq!(client.response().unwrap().status, 413);
    assert!(sending.join().unwrap() < 10_000, "the router reads for ever");
    let seen = told.recv().unwrap().unwrap_or_default();
    assert!(!seen.ends_with(b"0\r\n\r\n"), "looks whole to the origin");
    assert!(seen.len() as u64 <= MOST + MOST / 8, "{} octets reached the origin", seen.len());
    assert!(router.resident() < 200 << 20);
    router.wait_quiet();
}

#[test]
fn a_service_has_limits_of_its_own() {
    let origin = Origin::answering(|_, body| ok(body.len().to_string()));
    let own = json!({
        "request_body_bytes": 10, "request_head_bytes": 1024, "head_fields": 16, "target_bytes": 64,
    });
    let router = Setup::new()
        .set("limits.request_body_bytes", 5)
        .service("svc_other", &["other.test"], &[origin.address])
        .service("svc_own", &["own.test"], &[origin.address])
        .of_service("limits", own)
        .start();
    let ask = |host: &str, target: &str, fields: &str, body: &str| {
        let length = body.len();
        let head =
            format!("PUT {target} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\n{fields}\r\n");
        router.connect().ask(format!("{head}{body}")).status
    };
    let many = (0..15).map(|n| format!("X-{n}: 1\r\n")).collect::<String>();
    let long = format!("X: {}\r\n", "x".repeat(1024));
    let target = format!("/{}", "p".repeat(64));
    for (host, statuses) in [("other.test", [413, 200, 200, 200]), ("own.test", [200, 431, 431, 414])] {
        assert_eq!(ask(host, "/", "", "0123456789"), statuses[0], "{host}");
        assert_eq!(ask(host, "/", &many, ""), statuses[1], "{host}");
        assert_eq!(ask(host, "/", &long, ""), statuses[2], "{host}");
        assert_eq!(ask(host, &target, "", ""), statuses[3], "{host}");
        assert_eq!(ask(host, "/", "", "0123456789a"), 413, "{host}");
    }
    // A refused request without a body is framed: its connection goes on.
    let mut client = router.connect();
    let get = |target: &str| format!("GET {target} HTTP/1.1\r\nHost: own.test\r\n\r\n");
    assert_eq!(client.ask(get(&target)).status, 414);
    assert_eq!(client.ask(get("/")).status, 200);
}
