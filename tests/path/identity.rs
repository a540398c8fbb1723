//! What belongs to one request stays with it, however many are under way.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

use crate::support::origin::ok;
use crate::support::*;

const CLIENTS: usize = 16;
/// Requests that a client has under way on its connection.
const AT_ONCE: usize = 5;

/// What a request was, as its client and its origin saw it.
struct Seen {
    path: String,
    trace: String,
}

fn request(path: &str, trace: &str, close: bool) -> String {
    let connection = if close { "Connection: close\r\n" } else { "" };
    format!(
        "GET {path} HTTP/1.1\r\nHost: a.test\r\ntraceparent: 00-{trace}-00f067aa0ba902b7-01\r\n{connection}\r\n"
    )
}

/// Asks in turns, connecting anew from time to time, and checks that each answer is of its own request.
fn client(router: &Router, client: usize, turns: usize, seen: &Mutex<HashMap<String, Seen>>) {
    let mut wire = router.connect();
    for turn in 0..turns {
        let close = turn % 7 == 6;
        let batch: Vec<(String, String)> = (0..AT_ONCE)
            .map(|n| (format!("/{client}/{turn}/{n}"), format!("{client:08x}{turn:012x}{n:011x}1")))
            .collect();
        let last = |n: usize| close && n + 1 == AT_ONCE;
        let octets: String =
            batch.iter().enumerate().map(|(n, (path, trace))| request(path, trace, last(n))).collect();
        wire.send(octets).unwrap();
        for (path, trace) in batch {
            let got = wire.response().unwrap();
            let id = got.head.get("x-request-id").unwrap().to_owned();
            // The origin answers with what it got.
            let echoed: Vec<&str> = got.text().split(' ').collect();
            let traced = echoed[2].split('-').nth(1).unwrap();
            assert_eq!((got.status, echoed[0], echoed[1], traced), (200, &*path, &*id, &*trace));
            assert!(seen.lock().unwrap().insert(id, Seen { path, trace }).is_none(), "an id given twice");
        }
        if close {
            assert_eq!(wire.end(), Cut::Closed);
            wire = router.connect();
        }
    }
}

/// A hundred thousand where there is time.
#[test]
fn interleaved_requests_keep_their_ids_in_headers_and_log() {
    let _alone = alone();
    let turns = 63 * soak();
    let origin = Origin::answering(|head, _| {
        // Answers overtake each other.
        if head.path().ends_with("/3") {
            std::thread::yield_now();
        }
        ok([head.path(), head.get("x-request-id").unwrap(), head.get("traceparent").unwrap()].join(" "))
    });
    let router = Setup::to(&[origin.address]).start();
    let seen = Mutex::new(HashMap::new());
    std::thread::scope(|scope| {
        let (router, seen) = (&router, &seen);
        (0..CLIENTS).for_each(|n| drop(scope.spawn(move || client(router, n, turns, seen))));
    });
    let seen = seen.into_inner().unwrap();
    assert_eq!(seen.len(), CLIENTS * turns * AT_ONCE);
    wait_until("all lines are there", || router.log().len() >= seen.len());
    let mut spans = HashSet::new();
    for line in router.log() {
        let says = |name: &str| line[name].as_str().unwrap_or_else(|| panic!("{name}: {line}"));
        let request = seen.get(says("http.request.id")).unwrap_or_else(|| panic!("nobody's: {line}"));
        assert_eq!((says("url.path"), says("trace.id")), (&*request.path, &*request.trace));
        assert!(spans.insert(says("span.id").to_owned()), "a span given twice: {line}");
    }
    assert_eq!(spans.len(), seen.len());
    assert_eq!(router.metric("ringway_log_dropped_total"), 0);
    println!("{} requests, none with another's id", seen.len());
}
