//! Peers that take their time.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::origin::ok;
use crate::support::*;

fn failures(router: &Router, reason: &str) -> u64 {
    router.metric_with("ringway_failures_total", &format!("reason=\"{reason}\""))
}

#[test]
fn an_octet_at_a_time_both_ways() {
    let origin = Origin::start(|mut visit| {
        while let Ok((_, body)) = visit.request() {
            for octet in ok(body) {
                visit.say([octet]);
            }
        }
    });
    let router = Setup::to(&[origin.address]).start();
    let mut client = router.connect();
    for body in [
        "Content-Length: 5\r\n\r\nhello",
        "Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n",
    ] {
        for octet in format!("POST / HTTP/1.1\r\nHost: a.test\r\n{body}").bytes() {
            client.send([octet]).unwrap();
        }
        assert_eq!(client.response().unwrap().text(), "hello");
    }
    assert_eq!(origin.connections(), 1);
}

#[test]
fn a_head_that_never_ends_is_answered_408() {
    let origin = Origin::saying("fine");
    let router = Setup::to(&[origin.address]).set("timeouts.request_head", "400ms").start();
    let mut client = router.connect();
    let began = Instant::now();
    client.send("GET / HTTP/1.1\r\nHost: a.test\r\n").unwrap();
    // The clock runs from the first octet: more of them win no time.
    for _ in 0..3 {
        pause(Duration::from_millis(100));
        client.send("X: 1\r\n").unwrap();
    }
    let got = client.response().unwrap();
    let took = began.elapsed();
    assert_eq!((got.status, got.problem()["status"].as_u64()), (408, Some(408)));
    assert!((400..1500).contains(&took.as_millis()), "{took:?}");
    assert_eq!(client.end(), Cut::Closed);
    assert_eq!((failures(&router, "request_timeout"), origin.connections()), (1, 0));
    router.wait_quiet();
}

#[test]
fn an_idle_connection_is_closed_without_a_word() {
    let origin = Origin::saying("fine");
    let router = Setup::to(&[origin.address]).set("timeouts.idle", "300ms").start();
    let mut fresh = router.connect();
    let mut used = router.connect();
    assert_eq!(used.ask("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n").status, 200);
    let began = Instant::now();
    assert_eq!((used.end(), fresh.end()), (Cut::Closed, Cut::Closed));
    assert!(began.elapsed() >= Duration::from_millis(250), "{:?}", began.elapsed());
    router.wait_quiet();
    assert_eq!(router.metric("ringway_idle_timeouts_total"), 2);
}

#[test]
fn an_upload_that_stalls_is_cut() {
    let origin = Origin::start(|mut visit| {
        let _ = visit.request();
    });
    let router = Setup::to(&[origin.address]).set("timeouts.body_progress", "300ms").start();
    for framing in ["Content-Length: 100\r\n\r\nsome of it", "Transfer-Encoding: chunked\r\n\r\na\r\nsome"] {
        let mut client = router.connect();
        client.send(format!("POST / HTTP/1.1\r\nHost: a.test\r\n{framing}")).unwrap();
        let began = Instant::now();
        assert_eq!(client.response().unwrap().status, 408);
        assert!(began.elapsed() < Duration::from_millis(1500), "{:?}", began.elapsed());
        assert_eq!(client.end(), Cut::Closed);
    }
    wait_until("the origin's connections are closed", || origin.open() == 0);
    assert_eq!(failures(&router, "body_stalled"), 2);
}

#[test]
fn a_reader_that_stands_still_is_cut() {
    let origin = Origin::answering(|_, _| ok(vec![b'x'; 64 << 20]));
    let router = Setup::to(&[origin.address]).set("timeouts.body_progress", "500ms").start();
    let mut client = router.connect();
    client.send("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n").unwrap();
    client.response_head().unwrap();
    wait_until("the reader is given up", || failures(&router, "body_stalled") == 1);
    let given_up = std::time::Instant::now();
    wait_until("the origin's connection is closed", || origin.open() == 0);
    router.wait_metric("ringway_connections_open", 0);
    assert!(given_up.elapsed() < Duration::from_secs(4), "waited again for who has stopped reading");
    assert!(client.exactly(64 << 20).is_err(), "a body that was cut looks whole");
    router.wait_quiet();
}

/// Slow is not still: as long as octets move, nobody is cut.
#[test]
fn a_reader_that_is_slow_but_moves_is_not_cut() {
    const SIZE: usize = 12 << 20;
    let origin = Origin::answering(|_, _| ok(noise(SIZE)));
    let router = Setup::to(&[origin.address]).set("timeouts.body_progress", "1s").start();
    let mut client = router.connect();
    client.send("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n").unwrap();
    client.response_head().unwrap();
    // 128 KiB every 100 ms: the kernel's buffers alone take several times body_progress to empty.
    let mut body = Vec::new();
    for _ in 0..40 {
        body.extend(client.exactly(128 << 10).unwrap());
        pause(Duration::from_millis(100));
    }
    body.extend(client.exactly(SIZE - body.len()).unwrap());
    assert!(body == noise(SIZE), "another body came");
}

#[test]
fn an_origin_that_does_not_read_is_given_up() {
    let origin = Origin::start(|mut visit| {
        if visit.head().is_ok() {
            // Holds the connection open without reading, until the router ends it.
            wait_until("the router gives up", || {
                socket2::SockRef::from(&visit.wire.stream).take_error().is_ok_and(|e| e.is_some())
                    || visit.wire.send("").is_err()
                    || has_ended(&visit.wire)
            });
        }
    });
    let router = Setup::to(&[origin.address]).set("timeouts.body_progress", "500ms").start();
    let mut client = router.connect();
    let size = 64 << 20;
    client.send(format!("PUT / HTTP/1.1\r\nHost: a.test\r\nContent-Length: {size}\r\n\r\n")).unwrap();
    let sending = std::thread::spawn({
        let mut wire = Wire::new(client.stream.try_clone().unwrap());
        move || wire.send(vec![b'x'; size])
    });
    assert_eq!(client.response().unwrap().status, 504);
    drop(client);
    assert!(sending.join().unwrap().is_err(), "the whole upload was taken");
    router.wait_quiet();
}

/// The peer's FIN or reset has arrived, as the kernel's table of sockets tells.
fn has_ended(wire: &Wire) -> bool {
    let Ok(local) = wire.stream.local_addr() else { return true };
    let Ok(peer) = wire.stream.peer_addr() else { return true };
    let hex = |port: u16| format!(":{port:04X} ");
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap_or_default();
    let line =
        table.lines().find(|line| line.contains(&hex(local.port())) && line.contains(&hex(peer.port())));
    // 01 is ESTABLISHED.
    line.is_none_or(|line| line.split_whitespace().nth(3) != Some("01"))
}

#[test]
fn slow_clients_of_the_admin_listener_delay_nobody() {
    let origin = Origin::saying("fine");
    let router = Setup::to(&[origin.address]).start();
    let mut slow: Vec<Wire> = (0..32).map(|_| Wire::connect(router.admin)).collect();
    for client in &mut slow {
        client.send("GET /metrics HTTP/1.1\r\nHost: local").unwrap();
    }
    for _ in 0..20 {
        assert_eq!(router.connect().ask("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n").status, 200);
        assert_eq!(router.admin("/healthz").text(), "alive\n");
    }
    // They are cut in the end, and those that go on in time are answered.
    slow[0].send("host\r\n\r\n").unwrap();
    assert_eq!(slow[0].response().unwrap().status, 200);
    assert!(matches!(slow[1].response(), Err(Cut::Closed | Cut::Reset)));
}

#[test]
fn services_have_timeouts_of_their_own() {
    let origin = Origin::answering(|_, _| {
        pause(Duration::from_millis(400));
        ok("late")
    });
    let address = origin.address.to_string();
    let services = json!([
        { "id": "svc_a", "hostnames": ["a.test"], "endpoints": [&address], "timeouts": { "response_head": "100ms" } },
        { "id": "svc_b", "hostnames": ["b.test"], "endpoints": [&address] },
    ]);
    let router = Setup::new().set("services", services).start();
    let ask = |host: &str| router.connect().ask(format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n")).status;
    assert_eq!((ask("a.test"), ask("b.test")), (504, 200));
}

/// The last octets of a response wait in the router while the client digests what it has. Closing must not cost them.
#[test]
fn a_reader_that_pauses_near_the_end_gets_the_rest() {
    const SIZE: usize = 24 << 20;
    let origin = Origin::answering(|_, _| ok(noise(SIZE)));
    let router = Setup::to(&[origin.address]).start();
    let body = noise(SIZE);
    std::thread::scope(|scope| {
        for (connection, half_closed) in [("close", false), ("keep-alive", true)] {
            let (router, body) = (&router, &body);
            scope.spawn(move || {
                let mut client = router.connect();
                let field = format!("Connection: {connection}\r\n");
                client.send(format!("GET / HTTP/1.1\r\nHost: a.test\r\n{field}\r\n")).unwrap();
                if half_closed {
                    client.finish_sending();
                }
                let (_, head) = client.response_head().unwrap();
                let id = head.get("x-request-id").unwrap();
                // Reads on until the router has the whole response, and no further.
                let mut got = Vec::new();
                while !router.log().iter().any(|line| line["http.request.id"] == id) {
                    got.extend(client.exactly(64 << 10).unwrap());
                    pause(Duration::from_millis(60)); // the log is written every 50 ms
                }
                // Longer than a connection may linger and finish.
                pause(Duration::from_secs(9));
                got.extend(client.exactly(SIZE - got.len()).unwrap_or_else(|cut| {
                    panic!("{connection}: {cut:?} {} octets before the end", SIZE - got.len())
                }));
                assert!(got == *body, "{connection}: another body came");
            });
        }
    });
    router.wait_quiet();
}

/// Requests without end from a client that reads no answer: it is held back, and the router does not grow.
#[test]
fn a_client_that_asks_and_never_reads_is_held_back() {
    const GROWTH: u64 = 8 << 20;
    let origin = Origin::saying("fine");
    let setup = Setup::to(&[origin.address]).set("access_log.success_sample", 0);
    let router = setup.set("timeouts.body_progress", "1s").start();
    for host in ["a.test", "b.test"] {
        let request = format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
        assert!(router.connect().ask(&request).status > 0);
        let before = router.resident();
        let mut client = router.connect();
        let many = request.repeat(1000);
        // Ends when the router gives the client up; bounded in any case.
        let sent = (0..2000).take_while(|_| client.send(&many).is_ok()).count();
        let grown = router.resident().saturating_sub(before);
        println!("{host}: {sent} thousand requests without reading, grew by {} KiB", grown >> 10);
        assert!(sent < 2000, "was never held back");
        assert!(grown <= GROWTH, "grew by {grown} octets");
        drop(client);
        router.wait_quiet();
    }
}

/// Each octet comes in time, but all of them would take for ever.
#[test]
fn an_upload_that_drips_is_cut() {
    let origin = Origin::start(|mut visit| {
        let _ = visit.request();
    });
    let setup = || Setup::to(&[origin.address]).set("timeouts.body_progress", "500ms");
    let drip = |router: &Router| {
        let mut client = router.connect();
        client.send("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1000\r\n\r\n").unwrap();
        let began = Instant::now();
        while began.elapsed() < Duration::from_millis(2_500) && failures(router, "body_slow") == 0 {
            client.send("x").unwrap();
            pause(Duration::from_millis(50));
        }
        (client, began.elapsed())
    };
    let router = setup().set("limits.client_min_bytes_per_second", 100).start();
    let (mut client, took) = drip(&router);
    assert_eq!(client.response().unwrap().status, 408);
    assert!(took < Duration::from_millis(2_400), "{took:?}");
    assert_eq!(failures(&router, "body_slow"), 1);
    wait_until("the origin's connection is closed", || origin.open() == 0);
    // A service may let its clients take their time.
    let patient = setup().set("limits.client_min_bytes_per_second", 0).start();
    let (client, took) = drip(&patient);
    assert!(took >= Duration::from_millis(2_500), "{took:?}");
    assert_eq!(failures(&patient, "body_slow"), 0);
    drop(client);
}

#[test]
fn a_reader_that_drips_is_cut() {
    let origin = Origin::answering(|_, _| ok(vec![b'x'; 64 << 20]));
    let router = Setup::to(&[origin.address])
        .set("timeouts.body_progress", "1s")
        .set("limits.client_min_bytes_per_second", 10 << 20)
        .start();
    let mut client = router.connect();
    client.send("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n").unwrap();
    client.response_head().unwrap();
    // 128 KiB every 100 ms: never still, and an eighth of what it should be.
    let began = Instant::now();
    while failures(&router, "body_slow") == 0 {
        assert!(began.elapsed() < Duration::from_secs(20), "nobody gave it up");
        if client.exactly(128 << 10).is_err() {
            break;
        }
        pause(Duration::from_millis(100));
    }
    wait_until("the reader is given up", || failures(&router, "body_slow") == 1);
    wait_until("the origin's connection is closed", || origin.open() == 0);
    assert!(client.exactly(64 << 20).is_err(), "a body that was cut looks whole");
}

#[test]
fn an_origin_may_drip_unless_its_service_says_otherwise() {
    let origin = Origin::start(|mut visit| {
        if visit.request().is_ok() {
            visit.say("HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\n");
            for _ in 0..30 {
                visit.say("x");
                pause(Duration::from_millis(50));
            }
        }
    });
    let setup = || Setup::to(&[origin.address]).set("timeouts.body_progress", "500ms");
    let get = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";
    let router = setup().start();
    assert_eq!(router.connect().ask(get).text().len(), 30);
    let router = setup().set("limits.origin_min_bytes_per_second", 100).start();
    let mut client = router.connect();
    client.send(get).unwrap();
    assert_eq!(client.response().unwrap_err(), Cut::Short);
    assert_eq!(failures(&router, "origin_body_slow"), 1);
}
