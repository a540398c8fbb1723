//! Crowds that are slow on purpose: heads that never end, bodies that drip in, answers that are sipped, all at once.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use socket2::{Domain, Socket, Type};

use crate::support::origin::ok;
use crate::support::*;

/// Of each kind in an ordinary run; 20 times as many where there is time.
const SLOW_HEADS: usize = 250;
const SLOW_BODIES: usize = 100;
const SLOW_READERS: usize = 100;
/// More than the router and the kernel hold for a client: who reads nothing of it is noticed.
const BIG: usize = 1 << 20;
/// What is told why it is cut may read that for a while.
const LINGER: Duration = Duration::from_secs(4);
const TICK: Duration = Duration::from_millis(200);
/// What the crowd's service asks of its clients, in octets a second. So much that a reader can be seen to fall short of it
/// while it moves: kernels open a window in steps of thousands of octets.
const LEAST_RATE: usize = 8 << 10;

/// What one of each kind may cost the router in memory.
const HEAD_OCTETS: u64 = 12 << 10;
const BODY_OCTETS: u64 = 16 << 10;
const READER_OCTETS: u64 = 96 << 10;
/// What a run may cost that nobody in the crowd causes.
const SLACK: u64 = 16 << 20;

fn scale() -> usize {
    if std::env::var_os("RINGWAY_SOAK").is_some() { 20 } else { 1 }
}

/// A client whose kernel takes little on its behalf.
fn connect(address: SocketAddr) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    socket.connect(&address.into()).unwrap();
    socket.into()
}

fn begun(router: &Router, count: usize, octets: &str) -> Vec<TcpStream> {
    let begin = |_| {
        let mut client = connect(router.address);
        client.write_all(octets.as_bytes()).unwrap();
        client.set_nonblocking(true).unwrap();
        client
    };
    (0..count).map(begin).collect()
}

/// Clients who are never still and never done.
struct Crowd {
    heads: Vec<TcpStream>,
    bodies: Vec<TcpStream>,
    readers: Vec<TcpStream>,
    came: Instant,
    /// What a reader may have read by now.
    sipped: usize,
}

impl Crowd {
    fn of((heads, bodies, readers): (usize, usize, usize), router: &Router) -> Crowd {
        let came = Instant::now();
        let post = "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1000000\r\n\r\nbegun";
        let mut crowd = Crowd { heads: Vec::new(), bodies: Vec::new(), readers: Vec::new(), came, sipped: 0 };
        crowd.heads = begun(router, heads, "GET / HTTP/1.1\r\nHost: a.test\r\nX-Slow: ");
        crowd.bodies = begun(router, bodies, post);
        crowd.readers = begun(router, readers, "GET /big HTTP/1.1\r\nHost: a.test\r\n\r\n");
        crowd
    }

    /// An octet of each head and body; readers read at half the rate that they should. Fails on those that were cut.
    fn drip(&mut self) {
        for client in self.heads.iter_mut().chain(&mut self.bodies) {
            let _ = client.write(b"x");
        }
        let due = self.came.elapsed().as_millis() as usize * (LEAST_RATE / 2) / 1000;
        let mut sip = vec![0; due - self.sipped];
        self.readers.iter_mut().for_each(|client| drop(client.read(&mut sip)));
        self.sipped = due;
    }
}

/// Takes uploads as they come, answers GET with more than anyone's buffers hold.
fn victim() -> Origin {
    Origin::start(|mut visit| {
        let _ = socket2::SockRef::from(&visit.wire.stream).set_send_buffer_size(16 << 10);
        while let Ok((head, _)) = visit.request() {
            visit.say(if head.path() == "/big" { ok(vec![b'x'; BIG]) } else { ok("fine") });
        }
    })
}

/// What a bystander sees, who asks for another service on new and on kept connections.
#[derive(Default)]
struct Bystander {
    answers: AtomicU64,
    slowest_ms: AtomicU64,
}

impl Bystander {
    fn ask(&self, router: &Router, until: &AtomicBool) {
        const GET: &str = "GET / HTTP/1.1\r\nHost: b.test\r\n\r\n";
        let mut kept = router.connect();
        while !until.load(Ordering::Acquire) {
            let began = Instant::now();
            assert_eq!((kept.ask(GET).status, router.connect().ask(GET).status), (200, 200));
            self.slowest_ms.fetch_max(began.elapsed().as_millis() as u64, Ordering::AcqRel);
            self.answers.fetch_add(2, Ordering::AcqRel);
            pause(Duration::from_millis(20));
        }
    }
}

/// Lets the bystander go, however the test ends.
struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

#[test]
fn slow_crowds_are_bounded_and_cut_while_others_are_served() {
    let _alone = alone();
    let sizes @ (heads, bodies, readers) =
        (SLOW_HEADS * scale(), SLOW_BODIES * scale(), SLOW_READERS * scale());
    let patience = Duration::from_secs(if scale() > 1 { 15 } else { 3 });
    let (victim, other) = (victim(), Origin::saying("other"));
    let room = serde_json::json!({
        "upstream_connections": 8192, "upstream_requests": 8192, "client_min_bytes_per_second": LEAST_RATE,
    });
    let router = Setup::to(&[victim.address])
        .of_service("limits", room)
        .service("svc_b", &["b.test"], &[other.address])
        .set("timeouts.request_head", format!("{}ms", patience.as_millis()))
        .set("timeouts.body_progress", format!("{}ms", patience.as_millis()))
        .set("access_log.success_sample", 0)
        .start();
    let (done, bystander) = (AtomicBool::new(false), Bystander::default());
    router.connect().ask("GET / HTTP/1.1\r\nHost: b.test\r\n\r\n");
    let before = router.resident();
    let (most, took) = std::thread::scope(|scope| {
        let _done = Done(&done);
        scope.spawn(|| bystander.ask(&router, &done));
        let mut crowd = Crowd::of(sizes, &router);
        let began = Instant::now();
        let (mut most, mut open) = (0, u64::MAX);
        // One connection is the bystander's own, another may be.
        while open > 2 {
            assert!(began.elapsed() < 3 * patience + LINGER, "{open} connections are still open");
            crowd.drip();
            pause(TICK);
            most = most.max(router.resident());
            open = router.metric("ringway_connections_open");
        }
        (most, began.elapsed())
    });
    let allowed =
        heads as u64 * HEAD_OCTETS + bodies as u64 * BODY_OCTETS + readers as u64 * READER_OCTETS + SLACK;
    let (answers, slowest) = (bystander.answers.into_inner(), bystander.slowest_ms.into_inner());
    let grown = most.saturating_sub(before);
    let (grown_kib, allowed_kib) = (grown >> 10, allowed >> 10);
    println!(
        "{heads} slow heads, {bodies} bodies, {readers} readers: grew by {grown_kib} KiB of {allowed_kib}"
    );
    println!("all cut after {took:?}; {answers} others answered, the slowest pair after {slowest} ms");
    assert!(grown <= allowed, "grew by {grown} octets, more than {allowed}");
    assert!(answers > 0 && slowest < 5000, "{answers} answers, the slowest after {slowest} ms");
    let failures =
        |reason: &str| router.metric_with("ringway_failures_total", &format!("reason=\"{reason}\""));
    assert_eq!(failures("request_timeout"), heads as u64);
    // For their pace, that is: none of them ever stood still, but the kernel's probes of a full window make it look so of
    // some, and of more where the machine has other work.
    let (slow, still) = (failures("body_slow"), failures("body_stalled"));
    assert_eq!(slow + still, (bodies + readers) as u64);
    assert!(still < slow, "{still} stood still, {slow} were slow");
    wait_until("the victim's connections are closed", || victim.open() == 0);
    router.wait_quiet();
}
