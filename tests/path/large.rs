//! Bodies that are far larger than the router, through readers and writers that are slow at first.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};

use crate::support::*;

const MEGABYTE: u64 = 1 << 20;
/// How much the router may grow while a body passes.
const GROWTH: u64 = 16 * MEGABYTE;
/// The slow part of a transfer: so many octets at 64 KiB a second.
const SLOW_OCTETS: u64 = 256 << 10;
const SLOW_PIECE: u64 = 16 << 10;
const SLOW_PAUSE: Duration = Duration::from_millis(250);

/// 64 MiB, or 1 GiB where there is time.
fn size() -> u64 {
    if std::env::var_os("RINGWAY_SOAK").is_some() { 1024 * MEGABYTE } else { 64 * MEGABYTE }
}

/// A stream of octets that repeats after a prime number of them, so that no piece can stand for another.
struct Body {
    pattern: Vec<u8>,
    at: u64,
    size: u64,
}

impl Body {
    fn new(size: u64) -> Body {
        Body { pattern: noise(65_521), at: 0, size }
    }

    fn digest(size: u64) -> Vec<u8> {
        let (mut body, mut sum) = (Body::new(size), Sha256::new());
        while let Some(piece) = body.next(u64::MAX) {
            sum.update(&piece);
        }
        sum.finalize().to_vec()
    }

    fn next(&mut self, most: u64) -> Option<Vec<u8>> {
        let from = (self.at % self.pattern.len() as u64) as usize;
        let length = (self.pattern.len() - from) as u64;
        let length = length.min(most).min(self.size - self.at);
        self.at += length;
        (length > 0).then(|| self.pattern[from..from + length as usize].to_vec())
    }
}

/// Writes a whole body, or until the peer has had enough; slowly at first if `slow`.
fn write(stream: &mut TcpStream, size: u64, slow: bool) {
    let mut body = Body::new(size);
    loop {
        let slowly = slow && body.at < SLOW_OCTETS;
        let Some(piece) = body.next(if slowly { SLOW_PIECE } else { u64::MAX }) else { return };
        if stream.write_all(&piece).is_err() {
            return;
        }
        if slowly {
            pause(SLOW_PAUSE);
        }
    }
}

/// Reads `size` octets and sums them up; slowly at first if `slow`.
fn read(wire: &mut Wire, size: u64, slow: bool) -> Vec<u8> {
    let (mut sum, mut left) = (Sha256::new(), size);
    while left > 0 {
        let slowly = slow && size - left < SLOW_OCTETS;
        let piece = if slowly { SLOW_PIECE } else { MEGABYTE };
        let octets = wire.exactly(left.min(piece) as usize).unwrap();
        left -= octets.len() as u64;
        sum.update(&octets);
        if slowly {
            pause(SLOW_PAUSE);
        }
    }
    sum.finalize().to_vec()
}

/// The most that the router's memory grew by while `act` ran.
fn growth(router: &Router, act: impl FnOnce() + Send) -> u64 {
    let before = router.resident();
    let mut most = before;
    std::thread::scope(|scope| {
        let acting = scope.spawn(act);
        while !acting.is_finished() {
            most = most.max(router.resident());
            pause(Duration::from_millis(10));
        }
    });
    most - before
}

/// GET answers with `size` octets, anything else with the sum of what came.
fn origin(size: u64, slow: bool) -> Origin {
    Origin::start(move |mut visit| {
        while let Ok(head) = visit.head() {
            if head.start.starts_with("GET /warm") {
                visit.say(origin::ok(vec![b'w'; 1 << 20]));
            } else if head.start.starts_with("GET") {
                visit.say(format!("HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n"));
                write(&mut visit.wire.stream, size, false);
            } else {
                let sum = read(&mut visit.wire, size, slow);
                visit.say(origin::ok(sum));
            }
        }
    })
}

/// Everything that is allocated once has been.
fn warm(router: &Router) {
    for _ in 0..4 {
        let mut clients: Vec<Wire> = (0..8).map(|_| router.connect()).collect();
        clients.iter_mut().for_each(|c| c.send("GET /warm HTTP/1.1\r\nHost: a.test\r\n\r\n").unwrap());
        clients.iter_mut().for_each(|c| assert_eq!(c.response().unwrap().body.len(), 1 << 20));
    }
}

#[test]
fn a_download_to_a_reader_that_is_slow_at_first() {
    let _alone = alone();
    let size = size();
    let origin = origin(size, false);
    let router = Setup::to(&[origin.address]).start();
    warm(&router);
    let began = Instant::now();
    let grown = growth(&router, || {
        let mut client = router.connect();
        client.send("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n").unwrap();
        assert_eq!(client.response_head().unwrap().0, 200);
        assert_eq!(read(&mut client, size, true), Body::digest(size), "other octets came down");
    });
    println!("download of {} MiB: {:?}, grew by {} KiB", size >> 20, began.elapsed(), grown >> 10);
    assert!(grown <= GROWTH, "grew by {grown} octets");
}

#[test]
fn an_upload_to_a_reader_that_is_slow_at_first() {
    let _alone = alone();
    let size = size();
    let origin = origin(size, true);
    let router = Setup::to(&[origin.address]).start();
    warm(&router);
    let began = Instant::now();
    let grown = growth(&router, || {
        let mut client = router.connect();
        client.send(format!("PUT / HTTP/1.1\r\nHost: a.test\r\nContent-Length: {size}\r\n\r\n")).unwrap();
        write(&mut client.stream, size, false);
        assert_eq!(client.response().unwrap().body, Body::digest(size), "other octets went up");
    });
    println!("upload of {} MiB: {:?}, grew by {} KiB", size >> 20, began.elapsed(), grown >> 10);
    assert!(grown <= GROWTH, "grew by {grown} octets");
}

/// What the router holds for one reader that stands still is bounded, however much its origin has to say.
#[test]
fn readers_that_stand_still_hold_back_their_origins() {
    const READERS: u64 = 32;
    const EACH: u64 = ringway::limits::CONNECTION_BUFFERED_OCTETS as u64;
    let _alone = alone();
    let origin = origin(512 * MEGABYTE, false);
    let router = Setup::to(&[origin.address]).start();
    warm(&router);
    let before = router.resident();
    let clients: Vec<Wire> = (0..READERS)
        .map(|_| {
            let mut client = router.connect();
            client.send("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n").unwrap();
            client.response_head().unwrap();
            client
        })
        .collect();
    let passed = || router.metric("ringway_ring_sends_total");
    let mut last = passed();
    wait_until("nothing moves any more", || {
        pause(Duration::from_millis(500)); // figures are exported every 200 ms
        let now = passed();
        std::mem::replace(&mut last, now) == now
    });
    let grown = router.resident().saturating_sub(before);
    println!("{READERS} readers that stand still: {} KiB each", (grown / READERS) >> 10);
    assert!(grown <= READERS * EACH, "{grown} octets for {READERS} readers");
    // Nobody else is the worse for it.
    let other = router.connect().ask("GET /warm HTTP/1.1\r\nHost: a.test\r\n\r\n");
    assert_eq!(other.body.len(), 1 << 20);
    drop(clients);
    router.wait_quiet();
}

/// A stream can be told from a file: nginx and curl over a large file, both ways.
#[test]
fn large_files_between_curl_and_nginx() {
    let _alone = alone();
    let nginx = Nginx::start();
    let router = Setup::to(&[nginx.address]).start();
    let file = noise((size() / 2) as usize);
    let chunked = Curl::new().with(["-H", "Transfer-Encoding: chunked", "-H", "Expect:"]);
    assert_eq!(chunked.body("-T", &file).get(&router, "a.test", "/files/large").status, 201);
    assert!(std::fs::read(nginx.file("large")).unwrap() == file, "another file went up");
    for path in ["/files/large", "/chunked/large", "/until-close/large"] {
        let got = Curl::new().get(&router, "a.test", path);
        assert!(got.body == file, "another file came down from {path}");
    }
    router.wait_quiet();
    let mut stream = router.connect().stream;
    stream.write_all(b"GET /files/large HTTP/1.0\r\nHost: a.test\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    assert!(answer.ends_with(&file), "another file came down to HTTP/1.0");
}
