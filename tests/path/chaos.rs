//! All faults at once, in any order, from seeds that are printed: the router lives, and nothing stays.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::origin::ok;
use crate::support::*;

const CLIENTS: u64 = 8;
const ACTIONS: usize = 250;

/// Small, seeded, and the same everywhere.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }
}

/// Does to each request what its path says.
fn origin(mut visit: Visit) {
    while let Ok(head) = visit.head() {
        let path = head.path().to_owned();
        if path == "/early" {
            return visit.say(ok("early"));
        }
        if visit.wire.body(&head, false).is_err() {
            return;
        }
        match path.as_str() {
            "/close" => return,
            "/reset" => return visit.reset(),
            "/half-head" => return visit.say("HTTP/1.1 200 OK\r\nConte"),
            "/half-body" => return visit.say("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"),
            "/half-chunks" => {
                visit.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n");
                return visit.reset();
            }
            "/silent" => return visit.wait_for_end(),
            "/garbage" => return visit.say("garbage\r\n\r\n"),
            "/surplus" => visit.say([ok("surplus"), b"more".to_vec()].concat()),
            "/large" => visit.say(ok(vec![b'x'; 1 << 20])),
            _ => visit.say(ok("fine")),
        }
    }
}

const PATHS: [&str; 12] = [
    "/fine",
    "/early",
    "/close",
    "/reset",
    "/half-head",
    "/half-body",
    "/half-chunks",
    "/silent",
    "/garbage",
    "/surplus",
    "/large",
    "/fine",
];
const BODIES: [&str; 5] = [
    "\r\n",
    "Content-Length: 5\r\n\r\nhello",
    "Content-Length: 50000\r\n\r\ncut",
    "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "Transfer-Encoding: chunked\r\n\r\nzz\r\n",
];

/// One client's life; counts the answers that must be right because nothing was wrong.
fn client(router: &Router, seed: u64, fine: &AtomicUsize) {
    let mut dice = Dice(seed);
    for _ in 0..ACTIONS {
        let (path, body) = (PATHS[dice.roll(PATHS.len())], BODIES[dice.roll(BODIES.len())]);
        let mut wire = router.connect();
        let request = format!("POST {path} HTTP/1.{}\r\nHost: a.test\r\n{body}", dice.roll(2));
        let sent = if dice.roll(4) == 0 { dice.roll(request.len()) } else { request.len() };
        let _ = wire.send(&request[..sent]);
        match dice.roll(5) {
            0 => drop(wire),
            1 => wire.reset(),
            2 => {
                let _ = wire.response_head();
                wire.reset();
            }
            _ => {
                wire.finish_sending();
                let got = wire.response();
                let whole =
                    sent == request.len() && body.len() != BODIES[2].len() && !body.ends_with("zz\r\n");
                if path == "/fine" && whole && !request.contains("HTTP/1.0\r\nHost: a.test\r\nTransfer") {
                    assert_eq!(got.unwrap().text(), "fine", "{request:?}");
                    fine.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }
}

#[test]
fn all_faults_at_once() {
    let origin = Origin::start(origin);
    let timeouts = serde_json::json!({
        "response_head": "200ms", "body_progress": "200ms", "request_head": "500ms", "idle": "1s",
    });
    let router = Setup::to(&[origin.address]).set("timeouts", timeouts).start();
    let fine = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for seed in 0..CLIENTS {
            let (router, fine) = (&router, &fine);
            scope.spawn(move || client(router, seed, fine));
        }
    });
    router.wait_quiet();
    router.wait_metric("ringway_ring_buffers_out", 0);
    assert!(fine.into_inner() > 30, "hardly anything was right");
    assert_eq!(router.metric("ringway_panics_total"), 0);
    assert_eq!(router.metric("ringway_ring_overflows_total"), 0);
    assert_eq!(router.metric("ringway_log_dropped_total"), 0);
    // Every request is in the log, and well-formed; kept connections aside, the origin is left alone.
    wait_until("the log is written", || !router.log().is_empty());
    wait_until("half connections to the origin are gone", || {
        origin.open() as u64 <= router.metric("ringway_upstream_idle")
    });
    for _ in 0..20 {
        let got = router.connect().ask("GET /fine HTTP/1.1\r\nHost: a.test\r\n\r\n");
        assert_eq!(got.text(), "fine");
    }
}
