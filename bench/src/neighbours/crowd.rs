//! Clients of the neighbours, who ask on whatever becomes of their answers.
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::background;

/// Clients of each neighbour, and how often each asks while it gets answers.
const CLIENTS: usize = 32;
const EVERY: Duration = Duration::from_millis(500);
/// A client's own patience, longer than the router's with connects.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Default)]
struct Count {
    stop: AtomicBool,
    /// Which kind of window it is.
    window: AtomicUsize,
    /// By window: 200, and anything else.
    answered: [AtomicU64; 2],
    failed: [AtomicU64; 2],
}

/// Asks until dropped.
pub(super) struct Crowd {
    count: Arc<Count>,
}

impl Crowd {
    pub(super) fn start(router: SocketAddr, services: &[(String, SocketAddr)]) -> Self {
        let count = Arc::new(Count::default());
        for (host, _) in services {
            for _ in 0..CLIENTS {
                let (host, count) = (host.clone(), Arc::clone(&count));
                background::spawn(move || ask(router, &host, &count));
            }
        }
        Self { count }
    }

    /// Counts answers as of window 0 or 1 from now on.
    pub(super) fn count_as(&self, window: usize) {
        self.count.window.store(window, Ordering::Release);
    }

    pub(super) fn told(&self) -> String {
        let [healthy, trouble] = [0, 1].map(|window| {
            let of = |count: &[AtomicU64; 2]| count[window].load(Ordering::Acquire);
            format!("{} of {}", of(&self.count.failed), of(&self.count.failed) + of(&self.count.answered))
        });
        format!("neighbours' requests failed: {healthy} healthy, {trouble} in trouble")
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        self.count.stop.store(true, Ordering::Release);
    }
}

fn ask(router: SocketAddr, host: &str, count: &Count) {
    while !count.stop.load(Ordering::Acquire) {
        let began = Instant::now();
        let window = count.window.load(Ordering::Acquire);
        let counted = if get(router, host).is_ok_and(|fine| fine) { &count.answered } else { &count.failed };
        counted[window].fetch_add(1, Ordering::AcqRel);
        sleep(EVERY.saturating_sub(began.elapsed()));
    }
}

/// One GET over a connection of its own; true for 200.
fn get(router: SocketAddr, host: &str) -> std::io::Result<bool> {
    let mut stream = TcpStream::connect(router)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(stream, "GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(answer.starts_with(b"HTTP/1.1 200 "))
}
