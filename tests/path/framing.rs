//! Message ends that must not be mistaken: surplus octets, interim answers, bodies that belong to nobody.

use crate::support::origin::ok;
use crate::support::*;

const GET: &str = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";

#[test]
fn surplus_behind_an_answer_never_reaches_the_next() {
    let origin = Origin::answering(|head, _| {
        let mut answer = ok(head.path());
        answer.extend_from_slice(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison");
        answer
    });
    let router = Setup::to(&[origin.address]).start();
    let mut client = router.connect();
    for n in 0..50 {
        let got = client.ask(format!("GET /{n} HTTP/1.1\r\nHost: a.test\r\n\r\n"));
        assert_eq!(got.text(), format!("/{n}"));
    }
    assert_eq!(origin.connections(), 50, "a connection with surplus on it is not used again");
}

/// The surplus comes later, when the connection waits in the pool.
#[test]
fn what_comes_on_a_kept_connection_spoils_it() {
    let (tell, told) = std::sync::mpsc::channel();
    let told = std::sync::Mutex::new(told);
    let origin = Origin::start(move |mut visit| {
        while let Ok((head, _)) = visit.request() {
            visit.say(ok(head.path()));
            if visit.number == 0 && told.lock().unwrap().recv().is_ok() {
                visit.say("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison");
                visit.wait_for_end();
            }
        }
    });
    let router = Setup::to(&[origin.address]).start();
    let mut client = router.connect();
    assert_eq!(client.ask("GET /0 HTTP/1.1\r\nHost: a.test\r\n\r\n").text(), "/0");
    router.wait_metric("ringway_upstream_idle", 1);
    tell.send(()).unwrap();
    // Found spoiled by the sweep, or when it is wanted.
    router.wait_metric("ringway_upstream_idle", 0);
    assert_eq!(client.ask("GET /1 HTTP/1.1\r\nHost: a.test\r\n\r\n").text(), "/1");
    assert_eq!(origin.connections(), 2);
}

#[test]
fn interim_answers_pass_and_do_not_end_the_exchange() {
    let origin = Origin::answering(|head, _| {
        let mut answer =
            b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n".to_vec();
        answer.extend(ok(head.path()));
        answer
    });
    let router = Setup::to(&[origin.address]).start();
    let mut client = router.connect();
    for _ in 0..2 {
        let hints = client.ask(GET);
        assert_eq!((hints.status, hints.head.get("link")), (103, Some("</a>")));
        assert_eq!(client.response().unwrap().status, 103);
        assert_eq!(client.response().unwrap().text(), "/");
    }
    // HTTP/1.0 does not know them.
    let got = router.connect().ask("GET / HTTP/1.0\r\nHost: a.test\r\n\r\n");
    assert_eq!((got.status, got.text()), (200, "/"));
}

#[test]
fn an_answer_without_a_body_whatever_its_fields_say() {
    let origin = Origin::answering(|head, _| match head.path() {
        "/304" => b"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n".to_vec(),
        "/204" => b"HTTP/1.1 204 No Content\r\n\r\n".to_vec(),
        "/head" => b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec(),
        _ => ok("body"),
    });
    let router = Setup::to(&[origin.address]).start();
    let mut client = router.connect();
    for _ in 0..3 {
        client.send("HEAD /head HTTP/1.1\r\nHost: a.test\r\n\r\n").unwrap();
        assert_eq!(client.response_head().unwrap().0, 200);
        assert_eq!(client.ask("GET /304 HTTP/1.1\r\nHost: a.test\r\n\r\n").status, 304);
        assert_eq!(client.ask("GET /204 HTTP/1.1\r\nHost: a.test\r\n\r\n").status, 204);
        assert_eq!(client.ask(GET).text(), "body");
    }
    assert_eq!(origin.connections(), 1);
}

/// An origin may answer before it has read the whole request. The rest of the body must not become a request.
#[test]
fn an_early_answer_ends_both_connections() {
    let origin = Origin::start(|mut visit| {
        if visit.head().is_ok() {
            visit.say(ok("enough"));
            visit.wait_for_end();
        }
    });
    let router = Setup::to(&[origin.address]).start();
    let mut client = router.connect();
    let head = "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1000000\r\n\r\nbegun";
    let got = client.ask(head);
    assert_eq!((got.status, got.text()), (200, "enough"));
    assert_eq!(got.head.get("connection"), Some("close"), "a client whose connection will close is told");
    client.finish_sending();
    assert_eq!(client.end(), Cut::Closed);
    wait_until("the origin's connection is closed", || origin.open() == 0);
    router.wait_quiet();
}

#[test]
fn a_malformed_chunk_is_the_clients_fault() {
    let origin = Origin::saying("fine");
    let router = Setup::to(&[origin.address]).start();
    let size = "a chunk does not begin with its size";
    for (chunks, detail) in [
        ("zz\r\nhello\r\n", size),
        ("5\r\nhelloX\r\n", "chunk data is not followed by CRLF"),
        ("5\nhello\r\n0\r\n\r\n", size),
        ("ffffffffffffffffff\r\n", size),
    ] {
        let mut client = router.connect();
        let head = "POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n";
        let got = client.ask(format!("{head}{chunks}"));
        assert_eq!(got.status, 400, "{chunks:?}");
        assert!(got.text().contains(detail), "{}", got.text());
        assert_eq!(client.end(), Cut::Closed);
    }
    let failures = router.metric_with("ringway_failures_total", "reason=\"body_malformed\"");
    assert_eq!(failures, 4);
    wait_until("the origin's connections are closed", || origin.open() == 0);
}

/// Interim answers without end, to a client that reads none: nothing of the router's may grow with them.
#[test]
fn interim_answers_without_end_are_refused() {
    let origin = Origin::start(|mut visit| {
        if visit.request().is_ok() {
            while visit.wire.send("HTTP/1.1 103 Early Hints\r\n\r\n".repeat(100)).is_ok() {}
        }
    });
    let router = Setup::to(&[origin.address]).start();
    let mut client = router.connect();
    client.send(GET).unwrap();
    let mut interim = 0;
    let got = loop {
        match client.response().unwrap() {
            hints if hints.status == 103 => interim += 1,
            last => break last,
        }
    };
    assert_eq!((got.status, interim), (502, 32));
    wait_until("the origin's connection is closed", || origin.open() == 0);
}

/// Both bodies at once: the answer begins before the request has ended, and neither waits for the other.
#[test]
fn a_body_that_comes_back_while_it_goes_up() {
    const SIZE: usize = 24 << 20;
    let origin = Origin::start(|mut visit| {
        while visit.head().is_ok() {
            visit.say(format!("HTTP/1.1 200 OK\r\nContent-Length: {SIZE}\r\n\r\n"));
            let mut left = SIZE;
            while left > 0 {
                let Ok(piece) = visit.wire.exactly(left.min(10_000)) else { return };
                left -= piece.len();
                visit.say(piece);
            }
        }
    });
    let router = Setup::to(&[origin.address]).start();
    let mut client = router.connect();
    let mut up = Wire::new(client.stream.try_clone().unwrap());
    for _ in 0..2 {
        let sending = std::thread::spawn(move || {
            let head = format!("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: {SIZE}\r\n\r\n");
            up.send(head).and_then(|()| up.send(noise(SIZE))).map(|()| up)
        });
        let got = client.response().unwrap();
        up = sending.join().unwrap().unwrap();
        assert!(got.status == 200 && got.body == noise(SIZE), "another body came back");
    }
    assert_eq!(origin.connections(), 1);
}

/// An origin that has heard enough says so before it closes; the client must hear it rather than a 502.
#[test]
fn a_refusal_in_the_middle_of_an_upload_is_heard() {
    let origin = Origin::start(|mut visit| {
        if visit.head().is_ok() {
            visit.say(
                "HTTP/1.1 413 Content Too Large\r\nContent-Length: 6\r\nConnection: close\r\n\r\nenough",
            );
            visit.wire.finish_sending();
            visit.wait_for_end();
        }
    });
    let router = Setup::to(&[origin.address]).start();
    for _ in 0..20 {
        let mut client = router.connect();
        let mut up = Wire::new(client.stream.try_clone().unwrap());
        let sending = std::thread::spawn(move || {
            let size = 8 << 20;
            // Fails once the router has had enough, too.
            let _ = up.send(format!("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: {size}\r\n\r\n"));
            let _ = up.send(vec![b'x'; size]);
        });
        let got = client.response().unwrap();
        assert_eq!((got.status, got.text()), (413, "enough"));
        assert_eq!(got.head.get("connection"), Some("close"));
        drop(client);
        sending.join().unwrap();
    }
    router.wait_quiet();
}

#[test]
fn requests_behind_a_last_one_are_not_served() {
    let origin = Origin::saying("fine");
    let router = Setup::to(&[origin.address]).start();
    for last in [
        "GET /last HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n",
        "GET /last HTTP/1.0\r\nHost: a.test\r\n\r\n",
        "NONSENSE\r\n\r\n",
    ] {
        let mut client = router.connect();
        client.send(format!("{GET}{last}{}", GET.replace("GET /", "GET /behind"))).unwrap();
        assert_eq!(client.response().unwrap().status, 200);
        assert_eq!(client.response().unwrap().head.get("connection"), Some("close"));
        assert_eq!(client.end(), Cut::Closed);
    }
    assert!(origin.requests().iter().all(|head| head.path() != "/behind"));
}

/// HTTP/1.0 knows no chunks: to it they are what follows the request, which is the next one.
#[test]
fn an_origin_of_http10_gets_no_chunks_once_it_is_known() {
    let (seen, told) = std::sync::mpsc::channel();
    let origin = Origin::start(move |mut visit| {
        while let Ok(head) = visit.head() {
            let body = match head.get("content-length") {
                Some(_) => visit.wire.body(&head, false).unwrap_or_default(),
                None => Vec::new(),
            };
            let _ = seen.send((visit.number, head.start.clone(), body));
            visit.say("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok");
        }
    });
    let router = Setup::to(&[origin.address]).set("cores", serde_json::json!([0])).start();
    let chunked = "POST /up HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n";
    let body = "2\r\nhi\r\n0\r\n\r\n";
    let mut client = router.connect();
    // Nobody knows yet what the origin speaks. The connection is not used again.
    assert_eq!(client.ask(format!("{chunked}{body}")).status, 200);
    assert_eq!(client.ask(GET).text(), "ok");
    assert!(told.try_iter().any(|(number, start, _)| number == 1 && start.starts_with("GET / ")));
    // Now it is known, and remembered while nothing is kept there.
    let refused = client.ask(format!("{chunked}{body}"));
    assert_eq!(
        (refused.status, refused.problem()["type"].as_str()),
        (411, Some("urn:ringway:problem:length-required"))
    );
    assert_eq!(client.end(), Cut::Closed);
    assert_eq!(router.metric_with("ringway_failures_total", "reason=\"length_required\""), 1);
    let mut client = router.connect();
    assert_eq!(client.ask("POST /up HTTP/1.1\r\nHost: a.test\r\nContent-Length: 2\r\n\r\nhi").text(), "ok");
    assert!(told.try_iter().all(|(_, start, body)| start != "POST /up HTTP/1.1" || body == b"hi"));
}

#[test]
fn kept_connections_age_and_are_bounded() {
    let origin = Origin::saying("fine");
    let setup = || Setup::to(&[origin.address]).set("cores", serde_json::json!([0]));
    let aging = setup().set("timeouts.upstream_idle", "300ms").start();
    assert_eq!(aging.connect().ask(GET).status, 200);
    aging.wait_metric("ringway_upstream_idle", 1);
    aging.wait_metric("ringway_upstream_idle", 0);
    wait_until("the kept connection is closed", || origin.open() == 0);
    let keeping_none = setup().set("limits.upstream_idle_connections", 0).start();
    let mut client = keeping_none.connect();
    (0..3).for_each(|_| assert_eq!(client.ask(GET).status, 200));
    assert_eq!(keeping_none.metric("ringway_upstream_connects_total"), 3);
    assert_eq!(keeping_none.metric("ringway_upstream_idle"), 0);
    wait_until("no connection is kept", || origin.open() == 0);
}
