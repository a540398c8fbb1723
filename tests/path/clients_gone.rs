//! Clients that go away: whatever the moment, nothing of them stays.

use std::time::{Duration, Instant};

use crate::support::origin::ok;
use crate::support::*;

const GET: &str = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";
const ROUNDS: usize = 20;

/// How a client goes.
#[derive(Clone, Copy, Debug)]
enum Leave {
    Close,
    Reset,
}

impl Leave {
    fn go(self, client: Wire) {
        match self {
            Leave::Close => drop(client),
            Leave::Reset => client.reset(),
        }
    }
}

/// Lets clients act and leave, and checks that the router's gauges and descriptors return to what they were.
fn nothing_stays(router: &Router, mut act: impl FnMut(Leave)) {
    // What is made once stays: the first connection to the origin, the log.
    router.connect().ask(GET);
    router.wait_quiet();
    wait_until("kept connections are as few as they will be", || router.metric("ringway_upstream_idle") <= 1);
    let before = router.descriptors();
    for leave in [Leave::Close, Leave::Reset] {
        for _ in 0..ROUNDS {
            act(leave);
        }
    }
    router.wait_quiet();
    // Up to one kept connection on the other core.
    wait_until("the descriptors are given back", || router.descriptors() <= before + 1);
    router.wait_metric("ringway_ring_buffers_out", 0);
    assert_eq!(router.metric("ringway_panics_total"), 0);
}

#[test]
fn before_the_head_is_whole() {
    let origin = Origin::saying("fine");
    let router = Setup::to(&[origin.address]).start();
    nothing_stays(&router, |leave| {
        for part in ["", "G", "GET / HTTP/1.1\r\nHost: a.test\r\n", "GET / HTTP/1.1\r\nHost: a.test\r\n\r"] {
            let mut client = router.connect();
            client.send(part).unwrap();
            leave.go(client);
        }
    });
    assert_eq!(origin.requests().len(), 1, "half a head reached the origin");
}

#[test]
fn while_uploading() {
    let origin = Origin::answering(|_, body| ok(body));
    let router = Setup::to(&[origin.address]).start();
    let heads = [
        "Content-Length: 1000000\r\n\r\nsome of it",
        "Transfer-Encoding: chunked\r\n\r\na\r\nsome of it\r\n",
    ];
    nothing_stays(&router, |leave| {
        for head in heads {
            let mut client = router.connect();
            client.send(format!("POST / HTTP/1.1\r\nHost: a.test\r\n{head}")).unwrap();
            router.wait_metric("ringway_requests_in_flight", 1);
            leave.go(client);
            router.wait_metric("ringway_requests_in_flight", 0);
        }
    });
    wait_until("no half upload is left at the origin", || origin.open() <= 2);
    let gone = router.metric_with("ringway_failures_total", "reason=\"client_gone\"");
    assert_eq!(gone, (4 * ROUNDS) as u64);
}

#[test]
fn while_waiting_for_the_answer() {
    let origin = Origin::start(|mut visit| {
        while let Ok((head, _)) = visit.request() {
            if head.path() == "/never" {
                return visit.wait_for_end();
            }
            visit.say(ok("fine"));
        }
    });
    let router = Setup::to(&[origin.address]).set("timeouts.response_head", "500ms").start();
    let never = "GET /never HTTP/1.1\r\nHost: a.test\r\n\r\n";
    nothing_stays(&router, |leave| {
        let before = origin.requests().len();
        let mut client = router.connect();
        client.send(never).unwrap();
        // A reset before this might overtake the request; a FIN may come at any time.
        if let Leave::Reset = leave {
            wait_until("the request is at the origin", || origin.requests().len() > before);
        }
        leave.go(client);
    });
    wait_until("the origin's connections are closed", || origin.open() <= 2);
}

/// A client that resets must not keep the origin busy until its time is up.
#[test]
fn a_reset_ends_the_wait_at_once() {
    let origin = Origin::start(|mut visit| {
        if visit.head().is_ok() {
            visit.wait_for_end();
        }
    });
    let router = Setup::to(&[origin.address]).start();
    let mut client = router.connect();
    client.send(GET).unwrap();
    wait_until("the request is at the origin", || origin.open() == 1);
    router.wait_metric("ringway_requests_in_flight", 1);
    client.reset();
    wait_until("the origin's connection is closed", || origin.open() == 0);
    assert_eq!(router.metric_with("ringway_failures_total", "reason=\"client_gone\""), 1);
    router.wait_quiet();
}

/// A FIN may mean that the client is gone, or that it has said all that it has to say: its answer is waited for as any
/// other's, and no longer.
#[test]
fn a_fin_leaves_the_wait_as_it_is() {
    const PATIENCE: Duration = Duration::from_millis(1500);
    let origin = Origin::start(|mut visit| {
        while let Ok((head, _)) = visit.request() {
            if head.path() == "/never" {
                return visit.wait_for_end();
            }
            pause(PATIENCE - Duration::from_millis(500));
            visit.say("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nthe ");
            pause(Duration::from_millis(200));
            visit.say("whole");
        }
    });
    let router = Setup::to(&[origin.address]).set("timeouts.response_head", "1500ms").start();
    let half_closed = |request: &str| {
        let mut client = router.connect();
        client.send(request).unwrap();
        client.finish_sending();
        client
    };
    let post = "POST /late HTTP/1.1\r\nHost: a.test\r\nContent-Length: 2\r\n\r\nhi";
    let late = ["GET /late HTTP/1.1\r\nHost: a.test\r\n\r\n", post].map(half_closed);
    let began = Instant::now();
    let mut never = half_closed("GET /never HTTP/1.1\r\nHost: a.test\r\n\r\n");
    let mut gone = router.connect();
    gone.send("GET /never HTTP/1.1\r\nHost: a.test\r\n\r\n").unwrap();
    drop(gone);
    for mut client in late {
        assert_eq!(client.response().unwrap().text(), "the whole");
        assert_eq!(client.end(), Cut::Closed);
    }
    assert_eq!(never.response().unwrap().status, 504);
    assert!(began.elapsed() >= PATIENCE, "{:?}", began.elapsed());
    wait_until("the origin's connections are closed", || origin.connections() >= 3 && origin.open() <= 2);
    router.wait_quiet();
}

/// A client that only closes its sending side still gets its answer.
#[test]
fn half_closed_clients_are_answered() {
    let origin = Origin::answering(|_, body| {
        pause(Duration::from_millis(50));
        ok(body)
    });
    let router = Setup::to(&[origin.address]).start();
    for request in [
        "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 2\r\n\r\nhi",
    ] {
        let mut client = router.connect();
        client.send(request).unwrap();
        client.finish_sending();
        assert_eq!(client.response().unwrap().status, 200);
        assert_eq!(client.end(), Cut::Closed);
    }
    router.wait_quiet();
}

#[test]
fn while_downloading() {
    let origin = Origin::start(|mut visit| {
        let body = vec![b'x'; 8 << 20];
        while let Ok((head, _)) = visit.request() {
            visit.say(match head.path() {
                "/" => ok("fine"),
                _ => ok(&body),
            });
        }
    });
    let router = Setup::to(&[origin.address]).start();
    nothing_stays(&router, |leave| {
        let mut client = router.connect();
        client.send("GET /large HTTP/1.1\r\nHost: a.test\r\n\r\n").unwrap();
        client.response_head().unwrap();
        client.exactly(1000).unwrap();
        leave.go(client);
    });
    wait_until("no half download is left at the origin", || origin.open() <= 2);
}

/// Real traffic beside clients that leave at any octet.
#[test]
fn others_notice_nothing() {
    let nginx = Nginx::start();
    let router = Setup::to(&[nginx.address]).start();
    let request =
        "PUT /files/x HTTP/1.1\r\nHost: a.test\r\nContent-Length: 30\r\n\r\n012345678901234567890123456789";
    let others = "GET /uri/ HTTP/1.1\r\nHost: a.test\r\n\r\n";
    let mut other = router.connect();
    for end in 0..request.len() {
        let mut client = router.connect();
        client.send(&request[..end]).unwrap();
        if end % 2 == 0 { Leave::Close } else { Leave::Reset }.go(client);
        assert_eq!(other.ask(others).text(), "/uri/");
    }
    drop(other);
    router.wait_quiet();
}
