//! The access log: lines are formatted where the request ends and written by a thread of their own, in
//! batches.

use std::fs::OpenOptions;
use std::io::{BufWriter, Write};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;

use serde::Serialize;

/// Lines that may wait for the writer; beyond it they are dropped rather than hold a request up.
const QUEUE_LINES: usize = 65_536;
const WRITE_BUFFER_BYTES: usize = 64 * 1024;
const FLUSH_EVERY: Duration = Duration::from_secs(1);

/// One line: the same fields as the other peers log.
#[derive(Serialize)]
pub struct Line<'a> {
    pub ts: f64,
    pub request_id: &'a str,
    pub client: String,
    pub host: &'a str,
    pub method: &'a str,
    pub path: &'a str,
    pub status: u16,
    pub bytes_out: usize,
    pub duration_s: f64,
    pub upstream: Option<std::net::SocketAddr>,
    pub user_agent: &'a str,
}

pub struct AccessLog {
    lines: SyncSender<Vec<u8>>,
    percent: u8,
}

impl AccessLog {
    pub fn start(path: &str, percent: u8) -> Self {
        let file = OpenOptions::new().create(true).append(true).open(path).expect("the access log opens");
        let (lines, queue) = sync_channel::<Vec<u8>>(QUEUE_LINES);
        std::thread::Builder::new()
            .name("access-log".into())
            .spawn(move || {
                let mut out = BufWriter::with_capacity(WRITE_BUFFER_BYTES, file);
                // Sleeping between batches wakes this thread once a second, not once a line.
                loop {
                    std::thread::sleep(FLUSH_EVERY);
                    for line in queue.try_iter() {
                        let _ = out.write_all(&line);
                    }
                    let _ = out.flush();
                }
            })
            .expect("the log thread starts");
        Self { lines, percent }
    }

    /// Whether this request is among those logged.
    pub fn samples(&self) -> bool {
        fastrand::u8(0..100) < self.percent
    }

    pub fn write(&self, line: &Line<'_>) {
        if let Ok(mut octets) = serde_json::to_vec(line) {
            octets.push(b'\n');
            let _ = self.lines.try_send(octets);
        }
    }
}
