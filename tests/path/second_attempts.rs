//! What is tried again, where, and what is not (design S6; ).

use serde_json::json;

use crate::support::origin::ok;
use crate::support::*;

const GET: &str = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";
const POST: &str = "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n\r\nhello";
/// An empty key is none.
const UNKEYED: &str =
    "POST / HTTP/1.1\r\nHost: a.test\r\nIdempotency-Key: \r\nContent-Length: 5\r\n\r\nhello";
const KEYED: &str =
    "POST / HTTP/1.1\r\nHost: a.test\r\nidempotency-key: k1\r\nContent-Length: 5\r\n\r\nhello";
const PUT: &str = "PUT / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n\r\nhello";
const CHUNKED: &str =
    "PUT / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n";

/// Requests in a row, so that each endpoint is drawn often: the chance that one never is, is 2^-40.
const MANY: usize = 40;

fn answering(status: &'static str) -> Origin {
    Origin::answering(move |_, _| format!("HTTP/1.1 {status}\r\nContent-Length: 4\r\n\r\nbusy").into_bytes())
}

/// Reads a request whole and goes away without an answer.
fn breaking() -> Origin {
    Origin::start(|mut visit| {
        if visit.request().is_ok() {
            visit.reset();
        }
    })
}

fn echo() -> Origin {
    Origin::answering(|_, body| ok(body))
}

/// Statuses of `request` asked [`MANY`] times, each on a connection of its own, and the last body.
fn ask_often(router: &Router, request: &str) -> Vec<(u16, String)> {
    let ask = || {
        let got = router.connect().ask(request);
        (got.status, got.text().to_owned())
    };
    std::iter::repeat_with(ask).take(MANY).collect()
}

#[track_caller]
fn all_are(got: &[(u16, String)], status: u16, body: &str) {
    assert!(got.iter().all(|got| *got == (status, body.to_owned())), "{got:?}");
}

#[test]
fn what_may_be_repeated_goes_elsewhere_after_503() {
    let (busy, good) = (answering("503 Service Unavailable"), echo());
    let router = Setup::to(&[busy.address, good.address]).start();
    all_are(&ask_often(&router, GET), 200, "");
    for request in [KEYED, PUT, CHUNKED] {
        all_are(&ask_often(&router, request), 200, "hello");
    }
    let asked = busy.requests().len();
    assert!(asked > 0 && router.metric("ringway_second_attempts_total") == asked as u64);
    assert!(good.requests().iter().all(|head| matches!(head.get("x-attempt"), Some("1" | "2"))));
    assert_eq!(good.requests().iter().filter(|head| head.get("x-attempt") == Some("2")).count(), asked);
    // Declined answers that came whole leave their connections good.
    assert!(busy.connections() < asked, "{} connections for {asked} requests", busy.connections());
    // What may not is answered with what the origin said.
    let got = ask_often(&router, POST);
    assert!(got.contains(&(503, "busy".to_owned())) && got.contains(&(200, "hello".to_owned())), "{got:?}");
    assert_eq!(router.metric("ringway_second_attempts_total"), asked as u64);
}

#[test]
fn two_attempts_at_most_and_never_twice_at_one() {
    let (one, other) = (answering("503 Service Unavailable"), answering("503 Service Unavailable"));
    let router = Setup::to(&[one.address, other.address]).start();
    all_are(&ask_often(&router, GET), 503, "busy");
    assert_eq!((one.requests().len(), other.requests().len()), (MANY, MANY));
    drop(router);
    let alone = answering("503 Service Unavailable");
    let router = Setup::to(&[alone.address]).start();
    all_are(&ask_often(&router, GET), 503, "busy");
    assert_eq!(alone.requests().len(), MANY);
}

#[test]
fn a_502_is_repeated_if_the_service_says_so() {
    let (bad, good) = (answering("502 Bad Gateway"), echo());
    let router = Setup::to(&[bad.address, good.address]).start();
    assert!(ask_often(&router, GET).contains(&(502, "busy".to_owned())));
    drop(router);
    let router = Setup::to(&[bad.address, good.address]).set("retry", json!({ "on": ["http_502"] })).start();
    all_are(&ask_often(&router, GET), 200, "");
}

#[test]
fn a_timeout_is_repeated_if_the_service_says_so() {
    let silent = Origin::start(|mut visit| {
        let _ = visit.request();
        visit.wait_for_end();
    });
    let good = echo();
    let setup = || Setup::to(&[silent.address, good.address]).set("timeouts.response_head", "250ms");
    let router = setup().start();
    let got = ask_often(&router, GET);
    assert!(got.iter().any(|(status, _)| *status == 504), "{got:?}");
    assert_eq!(router.metric("ringway_second_attempts_total"), 0);
    drop(router);
    let router = setup().set("retry", json!({ "on": ["timeout"] })).start();
    all_are(&ask_often(&router, PUT), 200, "hello");
    assert!(ask_often(&router, POST).iter().any(|(status, _)| *status == 504));
}

#[test]
fn an_endpoint_that_breaks_off_is_made_up_for_by_another() {
    let (broken, good) = (breaking(), echo());
    let router = Setup::to(&[broken.address, good.address]).start();
    all_are(&ask_often(&router, GET), 200, "");
    for request in [KEYED, PUT, CHUNKED] {
        all_are(&ask_often(&router, request), 200, "hello");
    }
    assert!(broken.connections() > 0);
    for post in [POST, UNKEYED] {
        let posts = broken.requests().len() + good.requests().len();
        let got = ask_often(&router, post);
        let posts = broken.requests().len() + good.requests().len() - posts;
        assert_eq!(posts, MANY, "a POST was sent twice: {got:?}");
    }
}

/// A body that is longer than what is kept is sent once.
#[test]
fn a_long_body_is_not_repeated() {
    let (broken, good) = (breaking(), echo());
    for (octets, whole) in [(60 << 10, true), (70 << 10, false)] {
        // Only the broken one at first: its second attempt is what is looked at.
        let router = Setup::to(&[broken.address, good.address]).start();
        let body = noise(octets);
        let mut statuses = Vec::new();
        for _ in 0..MANY {
            let mut client = router.connect();
            client
                .send(format!("PUT / HTTP/1.1\r\nHost: a.test\r\nContent-Length: {octets}\r\n\r\n"))
                .unwrap();
            client.send(&body).unwrap();
            let got = client.response().unwrap();
            assert!(got.status != 200 || got.body == body, "a body was changed");
            statuses.push(got.status);
        }
        assert_eq!(statuses.iter().all(|status| *status == 200), whole, "{octets} octets: {statuses:?}");
    }
}

#[test]
fn an_answer_that_has_begun_is_not_asked_for_again() {
    let half = Origin::start(|mut visit| {
        if visit.request().is_ok() {
            visit.say("HTTP/1.1 100 Continue\r\n\r\n");
        }
    });
    let good = echo();
    let router = Setup::to(&[half.address, good.address]).start();
    let mut got = Vec::new();
    for _ in 0..MANY {
        let mut client = router.connect();
        client.send(GET).unwrap();
        let first = client.response().unwrap();
        got.push(if first.status == 100 { client.response().unwrap().status } else { first.status });
    }
    assert!(got.contains(&502) && got.contains(&200), "{got:?}");
    assert_eq!(router.metric("ringway_second_attempts_total"), 0);
}

#[test]
fn nothing_is_repeated_if_the_service_says_so() {
    let (refusing, busy) = (ports::free_address(), answering("503 Service Unavailable"));
    let router = Setup::to(&[refusing, busy.address]).set("retry", json!({ "on": [] })).start();
    ask_often(&router, GET);
    assert_eq!(router.metric("ringway_second_attempts_total"), 0);
}
