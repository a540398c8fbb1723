//! Origins that refuse, break off, fall silent or talk nonsense.

use std::time::{Duration, Instant};

use crate::support::origin::ok;
use crate::support::*;

const GET: &str = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";

fn failures(router: &Router, reason: &str) -> u64 {
    router.metric_with("ringway_failures_total", &format!("reason=\"{reason}\""))
}

#[test]
fn endpoints_that_refuse_are_both_tried() {
    let router = Setup::to(&[ports::free_address(), ports::free_address()]).start();
    let mut client = router.connect();
    let got = client.ask(GET);
    let problem = got.problem();
    assert_eq!((got.status, problem["type"].as_str()), (502, Some("urn:ringway:problem:origin-unreachable")));
    assert!(!got.text().contains("127.0.0.1"), "tells what is behind the router: {}", got.text());
    let line = router.logged(problem["request_id"].as_str().unwrap());
    assert_eq!((&line["ringway.attempts"], &line["ringway.reason"]), (&2.into(), &"connect_refused".into()));
    assert_eq!(router.metric("ringway_upstream_connect_failures_total"), 2);
    // The client's connection is none the worse.
    assert_eq!(client.ask(GET).status, 502);
}

#[test]
fn a_good_endpoint_makes_up_for_one_that_refuses() {
    let origin = Origin::saying("fine");
    let router = Setup::to(&[ports::free_address(), origin.address]).start();
    let mut client = router.connect();
    for n in 0..500 {
        let got = client.ask(format!("POST /{n} HTTP/1.1\r\nHost: a.test\r\nContent-Length: 3\r\n\r\nabc"));
        assert_eq!(got.status, 200, "request {n}");
    }
    assert_eq!(origin.requests().len(), 500);
    assert!(router.metric("ringway_second_attempts_total") > 0);
}

#[test]
fn an_origin_that_breaks_off_in_its_head() {
    let origin = Origin::start(|mut visit| {
        let Ok((head, _)) = visit.request() else { return };
        match head.path() {
            "/nothing-fin" => {}
            "/nothing-reset" => visit.reset(),
            "/half-fin" => visit.say("HTTP/1.1 200 OK\r\nContent-Le"),
            _ => {
                visit.say("HTTP/1.1 200 OK\r\nContent-Le");
                visit.reset();
            }
        }
    });
    let router = Setup::to(&[origin.address]).start();
    let mut client = router.connect();
    for path in ["/nothing-fin", "/nothing-reset", "/half-fin", "/half-reset"] {
        let got = client.ask(format!("GET {path} HTTP/1.1\r\nHost: a.test\r\n\r\n"));
        assert_eq!(got.status, 502, "{path}");
        assert_eq!(got.problem()["type"], "urn:ringway:problem:bad-origin-answer");
    }
    assert_eq!(origin.requests().len(), 4, "an origin that may have acted is not asked again");
    router.wait_metric("ringway_requests_in_flight", 0);
}

/// What the client has then must never look like a whole message.
#[test]
fn an_origin_that_breaks_off_in_its_body() {
    let origin = Origin::start(|mut visit| {
        let Ok((head, _)) = visit.request() else { return };
        visit.say("HTTP/1.1 200 OK\r\n");
        visit.say(match &head.path()[..7] {
            "/length" => "Content-Length: 100000\r\n\r\nsome of it",
            "/chunks" => "Transfer-Encoding: chunked\r\n\r\na\r\nsome of it\r\n",
            _ => "Connection: close\r\n\r\nsome of it",
        });
        if head.path().ends_with("reset") {
            // Once the router has passed on what it has.
            let _ = visit.wire.exactly(1);
            visit.reset();
        }
    });
    let router = Setup::to(&[origin.address]).set("timeouts.body_progress", "300ms").start();
    for version in ["1.1", "1.0"] {
        for case in ["/length-fin", "/length-reset", "/chunks-fin", "/chunks-reset", "/untilc-reset"] {
            let mut client = router.connect();
            client.send(format!("GET {case} HTTP/{version}\r\nHost: a.test\r\n\r\n")).unwrap();
            // A reset may overtake the head, too.
            let Ok((200, head)) = client.response_head() else { continue };
            let body = client.body(&head, true);
            assert!(body.is_err(), "{case} {version}: looks whole: {head:?} {body:?}");
        }
    }
    router.wait_quiet();
    assert_eq!(failures(&router, "origin_body_cut") + failures(&router, "origin_body_stalled"), 10);
    wait_until("all origin connections are closed", || origin.open() == 0);
}

#[test]
fn an_origin_that_never_answers() {
    let origin = Origin::start(|mut visit| while visit.request().is_ok() {});
    let router = Setup::to(&[origin.address]).set("timeouts.response_head", "400ms").start();
    let mut client = router.connect();
    for request in [GET, "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 3\r\n\r\nabc"] {
        let began = Instant::now();
        let got = client.ask(request);
        let took = began.elapsed();
        assert_eq!((got.status, got.problem()["status"].as_u64()), (504, Some(504)));
        assert!(took >= Duration::from_millis(400), "{took:?} is too early");
        assert!(took < Duration::from_millis(1500), "{took:?} is too late");
        if got.head.get("connection") == Some("close") {
            client = router.connect();
        }
        wait_until("the origin's connection is closed", || origin.open() == 0);
    }
    assert_eq!(failures(&router, "origin_timeout"), 2);
    assert_eq!(origin.requests().len(), 2, "a request that timed out is not sent again");
}

/// A slow upload is the client's matter: the origin's time to answer begins when it has the request.
#[test]
fn an_upload_may_outlast_the_timeouts_for_connect_and_answer() {
    let origin = Origin::answering(|_, body| ok(body));
    let timeouts = serde_json::json!({ "connect": "200ms", "response_head": "300ms" });
    let router = Setup::to(&[origin.address]).set("timeouts", timeouts).start();
    let mut client = router.connect();
    for _ in 0..2 {
        client.send("PUT / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 10\r\n\r\n").unwrap();
        for digit in 0..10 {
            pause(Duration::from_millis(80));
            client.send(digit.to_string()).unwrap();
        }
        let got = client.response().unwrap();
        assert_eq!((got.status, got.text()), (200, "0123456789"));
    }
}

/// The client's head was in time; how long its answer takes has nothing to do with that.
#[test]
fn an_answer_may_take_longer_than_a_head() {
    let origin = Origin::answering(|_, _| {
        pause(Duration::from_millis(500));
        ok("late")
    });
    let timeouts = serde_json::json!({ "request_head": "150ms", "idle": "5s", "connect": "100ms" });
    let router = Setup::to(&[origin.address]).set("timeouts", timeouts).start();
    let mut client = router.connect();
    for _ in 0..3 {
        assert_eq!(client.ask(GET).text(), "late");
    }
}

#[test]
fn an_origin_that_stalls_in_its_body() {
    let origin = Origin::start(|mut visit| {
        if visit.request().is_ok() {
            visit.say("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nsome of it");
            visit.wait_for_end();
        }
    });
    let router = Setup::to(&[origin.address]).set("timeouts.body_progress", "300ms").start();
    let mut client = router.connect();
    client.send(GET).unwrap();
    assert_eq!(client.response().unwrap_err(), Cut::Short);
    assert_eq!(failures(&router, "origin_body_stalled"), 1);
    wait_until("the origin's connection is closed", || origin.open() == 0);
}

/// The origin closes kept connections just when the next request is on its way, again and again.
#[test]
fn a_kept_connection_that_closes_as_the_request_leaves() {
    let origin = Origin::start(|mut visit| {
        // Two requests are answered; the third meets a close, with FIN or with a reset.
        for _ in 0..2 {
            let Ok((head, _)) = visit.request() else { return };
            visit.say(ok(head.path()));
        }
        if visit.head().is_ok() && visit.number % 2 == 0 {
            visit.reset();
        }
    });
    let router = Setup::to(&[origin.address]).start();
    let mut client = router.connect();
    for n in 0..300 {
        let got = client.ask(format!("GET /{n} HTTP/1.1\r\nHost: a.test\r\n\r\n"));
        assert_eq!((got.status, got.text()), (200, format!("/{n}").as_str()), "GET {n}");
    }
    assert!(router.metric("ringway_second_attempts_total") >= 100);
    // What may not be repeated is not: it succeeds, or is answered 502.
    let before = origin.requests().len();
    let mut failed = 0;
    for n in 0..300 {
        let request = format!("POST /post-{n} HTTP/1.1\r\nHost: a.test\r\nContent-Length: 2\r\n\r\nhi");
        let got = client.ask(request);
        match got.status {
            200 => assert_eq!(got.text(), format!("/post-{n}")),
            502 => {
                failed += 1;
                client = router.connect();
            }
            other => panic!("POST {n}: {other}"),
        }
    }
    let mut posts: Vec<String> =
        origin.requests()[before..].iter().map(|head| head.path().to_owned()).collect();
    let all = posts.len();
    posts.sort_unstable();
    posts.dedup();
    assert_eq!(posts.len(), all, "a POST reached the origin twice");
    assert!(failed > 0, "the race was never met");
}

/// All kept connections die at once, as when an origin restarts: the second attempt must not meet the next dead one.
#[test]
fn many_kept_connections_that_close_together() {
    const KEPT: usize = 8;
    let origin = Origin::start(|mut visit| {
        if let Ok((head, _)) = visit.request() {
            visit.say(ok(head.path()));
        }
        if visit.number < KEPT {
            // Reads the next request and goes away.
            let _ = visit.head();
        } else {
            while let Ok((head, _)) = visit.request() {
                visit.say(ok(head.path()));
            }
        }
    });
    let cores = serde_json::json!([first_cpu()]);
    let router = Setup::to(&[origin.address]).set("cores", cores).start();
    let mut clients: Vec<Wire> = (0..KEPT).map(|_| router.connect()).collect();
    for client in &mut clients {
        client.send(GET).unwrap();
    }
    for client in &mut clients {
        client.response().unwrap();
    }
    router.wait_metric("ringway_requests_in_flight", 0);
    let kept = origin.connections();
    assert!(kept > 1, "the requests went one after the other");
    for (n, client) in clients.iter_mut().enumerate() {
        let got = client.ask(GET);
        assert_eq!(got.status, 200, "request {n} of {KEPT}, {kept} connections kept");
    }
}

/// The first CPU that this process may run on.
fn first_cpu() -> usize {
    ringway::runtime::machine::cpus()[0]
}

#[test]
fn answers_that_are_no_http() {
    let nonsense: &[&str] = &[
        "SSH-2.0-OpenSSH_9.2\r\n\r\n",
        "HTTP/1.1 200\r\n OK\r\n\r\n",
        "HTTP/1.1 099 No\r\nContent-Length: 0\r\n\r\n",
        "HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\nContent-Length: 0\n\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX : 1\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX: a\0b\r\nContent-Length: 0\r\n\r\n",
        // Nobody asked for another protocol.
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\nanything",
    ];
    let origin = Origin::answering(|head, _| {
        let at: usize = head.path()[1..].parse().unwrap();
        nonsense[at].as_bytes().to_vec()
    });
    let router = Setup::to(&[origin.address]).start();
    let mut client = router.connect();
    for (n, answer) in nonsense.iter().enumerate() {
        let upgrade = "Connection: upgrade\r\nUpgrade: websocket\r\n";
        let got = client.ask(format!("GET /{n} HTTP/1.1\r\nHost: a.test\r\n{upgrade}\r\n"));
        assert_eq!(got.status, 502, "{answer:?}");
        got.problem();
    }
    assert_eq!(failures(&router, "origin_malformed"), nonsense.len() as u64);
    assert_eq!(origin.requests().len(), nonsense.len());
    assert_eq!(router.metric("ringway_upstream_idle"), 0, "a connection that spoke nonsense is kept");
}

#[test]
fn an_answer_head_beyond_the_bounds() {
    let origin = Origin::answering(|head, _| {
        let field = match head.path() {
            "/long" => format!("X: {}\r\n", "x".repeat(40_000)),
            "/many" => (0..101).map(|n| format!("X-{n}: 1\r\n")).collect(),
            _ => format!("X: {}\r\n", "x".repeat(30_000)),
        };
        format!("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n{field}\r\n").into_bytes()
    });
    let router = Setup::to(&[origin.address]).start();
    let mut client = router.connect();
    for (path, status) in [("/long", 502), ("/many", 502), ("/fits", 200)] {
        assert_eq!(
            client.ask(format!("GET {path} HTTP/1.1\r\nHost: a.test\r\n\r\n")).status,
            status,
            "{path}"
        );
    }
}

#[test]
fn an_endpoint_that_does_not_take_connections() {
    let hole = BlackHole::new();
    let router = Setup::to(&[hole.address]).set("timeouts.connect", "300ms").start();
    let began = Instant::now();
    let got = router.connect().ask(GET);
    assert_eq!(got.status, 504);
    assert!(began.elapsed() >= Duration::from_millis(300), "{:?}", began.elapsed());
    assert_eq!(failures(&router, "connect_timeout"), 1);
}

#[test]
fn a_body_that_is_wrong_from_its_first_octet_is_a_502() {
    let origin = Origin::start(|mut visit| {
        if visit.request().is_ok() {
            visit.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n");
        }
    });
    let router = Setup::to(&[origin.address]).start();
    let mut client = router.connect();
    // Head and body come in one segment, so nothing has left yet when the body turns out to be wrong.
    for _ in 0..20 {
        let got = client.ask(GET);
        let line = router.logged(got.problem()["request_id"].as_str().unwrap());
        assert_eq!((got.status, &line["http.response.status_code"]), (502, &502.into()));
        assert_eq!(line["ringway.reason"], "origin_malformed");
    }
}
