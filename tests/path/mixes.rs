//! Requests of any kind, mixed at random, by clients that pipeline, split what they send and break off anywhere. Every
//! answer that was waited for is its own, octet for octet. `RINGWAY_SEED` repeats a run.

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use fastrand::Rng;

use crate::support::python::Python;
use crate::support::*;

/// Answers that are checked in an ordinary run; 50 times as many, a million, where there is time.
const BY_NGINX: usize = 16_000;
const BY_PYTHON: usize = 4_000;
const CLIENTS: usize = 8;
const PATTERN_OCTETS: usize = 300_000;
/// Files of nginx: pieces of the pattern of these sizes, each from where its number says.
const FILES: [usize; 8] = [0, 1, 100, 1024, 4095, 4097, 20_000, 200_000];

/// One request and its answer.
struct Ask {
    octets: Vec<u8>,
    to_head: bool,
    status: u16,
    body: Vec<u8>,
}

fn pattern() -> &'static [u8] {
    static PATTERN: std::sync::OnceLock<Vec<u8>> = std::sync::OnceLock::new();
    PATTERN.get_or_init(|| noise(PATTERN_OCTETS))
}

/// A piece of the pattern: mostly small, sometimes larger than every buffer.
fn piece(rng: &mut Rng) -> (usize, usize) {
    let most = [1, 50, 2000, 9000, 70_000, 200_000][[0, 1, 1, 2, 2, 2, 2, 3, 3, 4, 5][rng.usize(..11)]];
    let length = rng.usize(..=most);
    (rng.usize(..PATTERN_OCTETS - length), length)
}

fn head(rng: &mut Rng, method: &str, target: &str) -> String {
    let fields =
        ["", "X-Some: field\r\n", "Accept: */*\r\nCookie: a=b; c=d\r\n", "Connection: X-Hop\r\nX-Hop: 1\r\n"];
    let (name, field) = (["Host", "host", "HOST"][rng.usize(..3)], fields[rng.usize(..fields.len())]);
    format!("{method} {target} HTTP/1.1\r\n{name}: a.test\r\n{field}")
}

/// A request with a body, by length or in chunks.
fn with_body(rng: &mut Rng, method: &str, target: &str, body: &[u8]) -> Vec<u8> {
    let head = head(rng, method, target);
    if rng.bool() {
        return [format!("{head}Content-Length: {}\r\n\r\n", body.len()).as_bytes(), body].concat();
    }
    let mut octets = format!("{head}Transfer-Encoding: chunked\r\n\r\n").into_bytes();
    let mut rest = body;
    while !rest.is_empty() {
        let (chunk, behind) = rest.split_at(rng.usize(1..=rest.len()));
        let extension = if rng.u8(..8) == 0 { ";some=\"thing\"" } else { "" };
        octets.extend_from_slice(format!("{:X}{extension}\r\n", chunk.len()).as_bytes());
        octets.extend_from_slice(chunk);
        octets.extend_from_slice(b"\r\n");
        rest = behind;
    }
    octets.extend_from_slice(b"0\r\n\r\n");
    octets
}

fn plain(rng: &mut Rng, method: &str, target: &str, status: u16, body: &[u8]) -> Ask {
    let octets = format!("{}\r\n", head(rng, method, target)).into_bytes();
    let to_head = method == "HEAD";
    Ask { octets, to_head, status, body: if to_head { Vec::new() } else { body.to_vec() } }
}

fn to_python(rng: &mut Rng) -> Ask {
    let (from, length) = piece(rng);
    let body = &pattern()[from..from + length];
    if rng.bool() {
        let framing = ["length", "length", "chunked", "chunked", "close"][rng.usize(..5)];
        let method = if rng.u8(..5) == 0 { "HEAD" } else { "GET" };
        return plain(rng, method, &format!("/{from}/{length}/{framing}"), 200, body);
    }
    let method = ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"][rng.usize(..6)];
    Ask { octets: with_body(rng, method, "/echo", body), to_head: false, status: 200, body: body.to_vec() }
}

fn to_nginx(rng: &mut Rng) -> Ask {
    let number = rng.usize(..FILES.len());
    let file = &pattern()[number..number + FILES[number]];
    match rng.u8(..10) {
        0..5 => {
            let folder = ["files", "files", "chunked", "until-close"][rng.usize(..4)];
            let method = if rng.u8(..5) == 0 { "HEAD" } else { "GET" };
            plain(rng, method, &format!("/{folder}/{number}"), 200, file)
        }
        5..8 => {
            let (from, length) = piece(rng);
            let body = &pattern()[from..from + length];
            let method = ["POST", "PUT", "PATCH"][rng.usize(..3)];
            let octets = with_body(rng, method, "/echo", body);
            Ask { octets, to_head: false, status: 200, body: body.to_vec() }
        }
        8 => {
            let target = format!("/uri/{}?{}", rng.u64(..), "q".repeat(rng.usize(..300)));
            plain(rng, "GET", &target, 200, target.as_bytes())
        }
        _ if rng.bool() => plain(rng, "GET", "/empty", 204, b""),
        _ => plain(rng, "GET", "/close", 200, b"closing"),
    }
}

/// Sends in pieces that come to nothing in particular; false if the router has had enough.
fn send(rng: &mut Rng, client: &mut Wire, octets: &[u8]) -> bool {
    let mut rest = octets;
    while !rest.is_empty() {
        let most = if rng.bool() { rest.len() } else { rest.len().min(3000) };
        let (piece, behind) = rest.split_at(rng.usize(1..=most));
        if client.send(piece).is_err() {
            return false;
        }
        rest = behind;
    }
    true
}

/// The id of the request, if its answer is the one that is due.
fn answer(client: &mut Wire, ask: &Ask) -> Result<String, String> {
    let asked = || String::from_utf8_lossy(&ask.octets[..ask.octets.len().min(80)]).into_owned();
    let cut = |cut: Cut| format!("{cut:?} instead of an answer to {:?}", asked());
    let (status, head) = client.response_head().map_err(cut)?;
    let body =
        if ask.to_head || status == 204 { Vec::new() } else { client.body(&head, true).map_err(cut)? };
    if status != ask.status || body != ask.body {
        let (got, due) = (body.len(), ask.body.len());
        return Err(format!("{status} with {got} octets, not {} with {due}, to {:?}", ask.status, asked()));
    }
    Ok(head.get("x-request-id").unwrap_or_default().to_owned())
}

struct Mix<'a> {
    router: &'a Router,
    make: fn(&mut Rng) -> Ask,
    /// Answers yet to be checked.
    left: AtomicUsize,
    broken_off: AtomicUsize,
    ids: Mutex<HashSet<String>>,
}

impl Mix<'_> {
    fn run(&self, seed: u64) -> Result<(), String> {
        let mut rng = Rng::with_seed(seed);
        while self.left.load(Ordering::Acquire) > 0 {
            self.connection(&mut rng)?;
        }
        Ok(())
    }

    /// Some batches on one connection, each pipelined; the last may be broken off.
    fn connection(&self, rng: &mut Rng) -> Result<(), String> {
        let mut client = self.router.connect();
        let batches = rng.usize(1..12);
        for _ in 0..batches {
            let asks: Vec<Ask> = (0..[1, 1, 1, 2, 3, 6][rng.usize(..6)]).map(|_| (self.make)(rng)).collect();
            let octets: Vec<u8> = asks.iter().flat_map(|ask| ask.octets.clone()).collect();
            if rng.u8(..16) == 0 {
                return self.break_off(rng, client, &octets);
            }
            // Answers come while the batch goes out: neither waits for the other.
            let mut up = Wire::new(client.stream.try_clone().map_err(|e| e.to_string())?);
            let mut sender = rng.fork();
            let ids = std::thread::scope(|scope| {
                let sending =
                    (octets.len() > 60_000).then(|| scope.spawn(|| send(&mut sender, &mut up, &octets)));
                if sending.is_none() && !send(rng, &mut client, &octets) {
                    return Err("the router takes no more".to_owned());
                }
                asks.iter().map(|ask| answer(&mut client, ask)).collect::<Result<Vec<_>, _>>()
            })?;
            self.checked(ids)?;
        }
        if rng.u8(..4) == 0 {
            client.reset();
        }
        Ok(())
    }

    /// Sends some of it, perhaps reads a little, and goes.
    fn break_off(&self, rng: &mut Rng, mut client: Wire, octets: &[u8]) -> Result<(), String> {
        self.broken_off.fetch_add(1, Ordering::AcqRel);
        let sent = rng.usize(..=octets.len());
        send(rng, &mut client, &octets[..sent]);
        match rng.u8(..4) {
            0 => client.reset(),
            1 => client.finish_sending(),
            2 if octets.len() < 2000 => {
                drop(client.stream.set_nonblocking(true).map(|()| client.exactly(10)))
            }
            _ => {}
        }
        Ok(())
    }

    fn checked(&self, ids: Vec<String>) -> Result<(), String> {
        let count = ids.len();
        let mut all = self.ids.lock().expect("no client panics with it");
        for id in ids {
            if id.is_empty() || !all.insert(id.clone()) {
                return Err(format!("the request id {id:?} is not a new one"));
            }
        }
        let _ = self
            .left
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| Some(left.saturating_sub(count)));
        Ok(())
    }
}

fn check(name: &str, router: &Router, answers: usize, make: fn(&mut Rng) -> Ask) {
    let soak = std::env::var_os("RINGWAY_SOAK").is_some();
    let seed = std::env::var("RINGWAY_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or_else(|| fastrand::u64(..));
    println!("{name}: RINGWAY_SEED={seed}");
    let left = AtomicUsize::new(if soak { answers * 50 } else { answers });
    let mix = Mix { router, make, left, broken_off: AtomicUsize::new(0), ids: Mutex::default() };
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let clients = (0..CLIENTS as u64).map(|client| {
            scope.spawn({
                let mix = &mix;
                move || mix.run(seed ^ client)
            })
        });
        let clients: Vec<_> = clients.collect();
        clients.into_iter().filter_map(|client| client.join().expect("a client").err()).collect()
    });
    let (checked, broken_off) =
        (mix.ids.into_inner().expect("no client panics with it").len(), mix.broken_off.into_inner());
    println!("{name}: {checked} answers checked, {broken_off} batches broken off, {} wrong", wrong.len());
    assert_eq!(wrong, [""; 0]);
    router.wait_quiet();
}

#[test]
fn mixed_requests_to_python_get_their_own_answers() {
    let python = Python::start(pattern());
    check(
        "python",
        &Setup::to(&[python.address]).set("access_log.success_sample", 0).start(),
        BY_PYTHON,
        to_python,
    );
}

#[test]
fn mixed_requests_to_nginx_get_their_own_answers() {
    let nginx = Nginx::start();
    for (number, length) in FILES.into_iter().enumerate() {
        std::fs::write(nginx.file(&number.to_string()), &pattern()[number..number + length]).unwrap();
    }
    check(
        "nginx",
        &Setup::to(&[nginx.address]).set("access_log.success_sample", 0).start(),
        BY_NGINX,
        to_nginx,
    );
}
