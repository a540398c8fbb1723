//! Crowds that are slow on purpose: heads that never end, bodies that never come, answers that nobody reads, all at once.

use std::io::Write;
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

fn crowd(router: &Router, count: usize, begun: &str) -> Vec<TcpStream> {
    let begin = |_| {
        let mut client = connect(router.address);
        client.write_all(begun.as_bytes()).unwrap();
        client.set_nonblocking(true).unwrap();
        client
    };
    (0..count).map(begin).collect()
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
    let (heads, bodies, readers) = (SLOW_HEADS * scale(), SLOW_BODIES * scale(), SLOW_READERS * scale());
    let patience = Duration::from_secs(if scale() > 1 { 15 } else { 3 });
    let (victim, other) = (victim(), Origin::saying("other"));
    let room = serde_json::json!({ "upstream_connections": 8192, "upstream_requests": 8192 });
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
        let mut slow_heads = crowd(&router, heads, "GET / HTTP/1.1\r\nHost: a.test\r\nX-Slow: ");
        let post = "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1000000\r\n\r\nbegun";
        let slow_bodies = crowd(&router, bodies, post);
        let slow_readers = crowd(&router, readers, "GET /big HTTP/1.1\r\nHost: a.test\r\n\r\n");
        let began = Instant::now();
        let (mut most, mut open) = (0, u64::MAX);
        // One connection is the bystander's own, another may be.
        while open > 2 {
            assert!(began.elapsed() < 3 * patience + LINGER, "{open} connections are still open");
            // Octet by octet, which wins no time: the clock runs from the first. Fails on those that were cut.
            slow_heads.iter_mut().for_each(|client| drop(client.write(b"x")));
            pause(TICK);
            most = most.max(router.resident());
            open = router.metric("ringway_connections_open");
        }
        let took = began.elapsed();
        drop((slow_bodies, slow_readers));
        (most, took)
    });
    let allowed =
        heads as u64 * HEAD_OCTETS + bodies as u64 * BODY_OCTETS + readers as u64 * READER_OCTETS + SLACK;
    let (answers, slowest) = (bystander.answers.into_inner(), bystander.slowest_ms.into_inner());
    let grown = most.saturating_sub(before);
    println!(
        "{heads} slow heads, {bodies} bodies, {readers} readers: grew by {} KiB of {}",
        grown >> 10,
        allowed >> 10
    );
    println!(
        "all cut after {took:?}; {answers} other requests answered, the slowest pair after {slowest} ms"
    );
    assert!(grown <= allowed, "grew by {grown} octets, more than {allowed}");
    assert!(answers > 0 && slowest < 5000, "{answers} answers, the slowest after {slowest} ms");
    let failures =
        |reason: &str| router.metric_with("ringway_failures_total", &format!("reason=\"{reason}\""));
    assert_eq!(failures("request_timeout"), heads as u64);
    assert_eq!(failures("body_stalled"), (bodies + readers) as u64);
    wait_until("the victim's connections are closed", || victim.open() == 0);
    router.wait_quiet();
}
