//! The log's thread against files, pipes and a disk that is full.
#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test

use super::{LogError, LogTarget, LogWriter, Work};
use crate::limits::LOG_RING_OCTETS;
use crate::observe::CoreMetrics;
use crate::observe::access::tests::{any_id, record};
use crate::observe::access::{Fields, LogSink, LogSource, ring};
use crate::observe::drain::Drain;
use proptest::prelude::*;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// Far longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(20);

fn rings(cores: usize) -> (Vec<LogSink>, Vec<LogSource>) {
    (0..cores).map(|_| ring(Arc::new(CoreMetrics::default()))).map(|(sink, source, _)| (sink, source)).unzip()
}

fn write(sink: &mut LogSink, path: &str) {
    sink.write(&record(&any_id(), b"shop.example.com", path.as_bytes()), Fields::ALL);
}

/// The paths of all records in the log, which must be whole lines.
fn paths(log: &[u8]) -> Vec<String> {
    let lines = std::str::from_utf8(log).unwrap();
    assert!(lines.is_empty() || lines.ends_with('\n'));
    let path = |line| {
        serde_json::from_str::<serde_json::Value>(line).unwrap()["url.path"].as_str().unwrap().to_owned()
    };
    lines.lines().map(path).collect()
}

/// Asks again until it is so; the log's thread works at its own pace.
fn wait_until(mut so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !so() {
        assert!(begun.elapsed() < PATIENCE, "waited too long");
        thread::park_timeout(Duration::from_millis(2));
    }
}

/// Takes a few octets a call and fails as told.
struct Flaky {
    taken: Vec<u8>,
    calls: std::vec::IntoIter<Result<usize, ErrorKind>>,
}

impl Write for Flaky {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        // Out of instructions it takes all.
        let count = self.calls.next().unwrap_or(Ok(octets.len()))?.min(octets.len());
        self.taken.extend_from_slice(&octets[..count]);
        Ok(count)
    }

    fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        self.write(&pieces.iter().flat_map(|piece| piece.iter().copied()).collect::<Vec<u8>>())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn any_call() -> impl Strategy<Value = Result<usize, ErrorKind>> {
    let errors =
        [ErrorKind::StorageFull, ErrorKind::BrokenPipe, ErrorKind::Interrupted, ErrorKind::WouldBlock];
    prop_oneof![3 => (0_usize..2000).prop_map(Ok), 1 => prop::sample::select(errors.to_vec()).prop_map(Err)]
}

proptest! {
    /// However writes fall short and fail: nothing is lost, doubled or torn, and each core's order is kept.
    #[test]
    fn a_flaky_file_gets_every_line_once(
        turns in prop::collection::vec(prop::collection::vec(0_usize..3, 0..6), 1..12),
        calls in prop::collection::vec(any_call(), 0..60),
    ) {
        let (mut sinks, sources) = rings(3);
        let mut drain = Drain::new(sources);
        let mut out = Flaky { taken: Vec::new(), calls: calls.into_iter() };
        let mut sent: Vec<Vec<String>> = vec![Vec::new(); 3];
        let mut octets = 0;
        for cores in turns {
            for core in cores {
                let path = format!("/{core}/{}", sent[core].len());
                write(&mut sinks[core], &path);
                sent[core].push(path);
            }
            octets += drain.turn(&mut out).octets;
        }
        // No more than 60 calls can go wrong, and a turn makes at least one.
        for _ in 0..60 {
            octets += drain.turn(&mut out).octets;
        }
        prop_assert!(drain.at_line_start());
        prop_assert_eq!(octets, out.taken.len());
        let written = paths(&out.taken);
        for (core, sent) in sent.iter().enumerate() {
            let prefix = format!("/{core}/");
            let of_core: Vec<&String> = written.iter().filter(|path| path.starts_with(&prefix)).collect();
            prop_assert_eq!(of_core, sent.iter().collect::<Vec<_>>());
        }
    }
}

proptest! {
    /// Wherever a file fails in a line, the next begins with one: the rest of the line is all that is lost.
    #[test]
    fn another_file_begins_with_a_line(written in 0_usize..3000, cores in 1_usize..3) {
        let (mut sinks, sources) = rings(cores);
        let mut drain = Drain::new(sources);
        (0..4).for_each(|n| sinks.iter_mut().for_each(|sink| write(sink, &format!("/{n}"))));
        let calls = vec![Ok(written), Err(ErrorKind::BrokenPipe)].into_iter();
        let mut out = Flaky { taken: Vec::new(), calls };
        drain.turn(&mut out);
        let whole = out.taken.iter().rposition(|&octet| octet == b'\n').map_or(0, |at| at + 1);
        let torn = usize::from(whole < out.taken.len());
        prop_assert_eq!(drain.give_up_line(), torn > 0);
        prop_assert!(drain.at_line_start());
        let mut next = Flaky { taken: Vec::new(), calls: Vec::new().into_iter() };
        drain.turn(&mut next);
        let lines = paths(&out.taken[..whole]).len() + torn + paths(&next.taken).len();
        prop_assert_eq!(lines, 4 * cores);
    }
}

#[test]
fn what_two_cores_log_until_the_end_is_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("access.log");
    let (sinks, sources) = rings(2);
    let writer = LogWriter::open(Some(&file)).and_then(|target| LogWriter::start(target, sources)).unwrap();
    let cores: Vec<_> = (sinks.into_iter().enumerate())
        .map(|(core, mut sink)| {
            thread::spawn(move || (0..500).for_each(|n| write(&mut sink, &format!("/{core}/{n}"))))
        })
        .collect();
    cores.into_iter().for_each(|core| core.join().unwrap());
    let stats = writer.stats();
    assert!(writer.stop(PATIENCE));
    let log = std::fs::read(&file).unwrap();
    assert_eq!(stats.octets.get(), log.len() as u64);
    let written = paths(&log);
    for core in 0..2 {
        let expected: Vec<String> = (0..500).map(|n| format!("/{core}/{n}")).collect();
        let prefix = format!("/{core}/");
        assert_eq!(
            written.iter().filter(|path| path.starts_with(&prefix)).cloned().collect::<Vec<_>>(),
            expected
        );
    }
}

#[test]
fn a_renamed_file_is_followed_by_a_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let (file, old) = (folder.path().join("access.log"), folder.path().join("access.log.1"));
    let (mut sinks, sources) = rings(1);
    let writer = LogWriter::open(Some(&file)).and_then(|target| LogWriter::start(target, sources)).unwrap();
    write(&mut sinks[0], "/before");
    wait_until(|| std::fs::metadata(&file).unwrap().len() > 0);
    std::fs::rename(&file, &old).unwrap();
    wait_until(|| file.exists());
    write(&mut sinks[0], "/after");
    assert!(writer.stop(PATIENCE));
    assert_eq!(paths(&std::fs::read(&old).unwrap()), ["/before"]);
    assert_eq!(paths(&std::fs::read(&file).unwrap()), ["/after"]);
}

#[test]
fn a_full_disk_is_counted_and_costs_neither_the_thread_nor_the_core() {
    let (mut sinks, sources) = rings(1);
    let writer = LogWriter::open(Some(Path::new("/dev/full")))
        .and_then(|target| LogWriter::start(target, sources))
        .unwrap();
    let stats = writer.stats();
    write(&mut sinks[0], "/1");
    wait_until(|| stats.write_failures.get() >= 2);
    write(&mut sinks[0], "/2");
    assert_eq!(stats.octets.get(), 0);
    assert!(writer.stop(PATIENCE), "the thread lives and ends when told");
}

/// A thread that writes into a pipe, and the pipe's other end.
fn piped(sources: Vec<LogSource>) -> (LogWriter, io::PipeReader) {
    let (reader, pipe) = io::pipe().unwrap();
    let file = std::fs::File::from(OwnedFd::from(pipe));
    let target = LogTarget { file, path: None, looked: Instant::now() };
    (Work::start(Drain::new(sources), target).unwrap(), reader)
}

#[test]
fn a_reader_that_went_away_is_counted_and_nothing_dies() {
    let (mut sinks, sources) = rings(1);
    let (writer, reader) = piped(sources);
    drop(reader);
    let stats = writer.stats();
    write(&mut sinks[0], "/1");
    wait_until(|| stats.write_failures.get() >= 1);
    assert!(writer.stop(PATIENCE));
}

#[test]
fn a_reader_that_stopped_reading_blocks_no_core_and_no_end() {
    let metrics = Arc::new(CoreMetrics::default());
    let (mut sink, source, _) = ring(Arc::clone(&metrics));
    let (writer, mut reader) = piped(vec![source]);
    // Far more than the pipe and the ring hold; what does not fit is dropped at no cost.
    let sent = 3 * LOG_RING_OCTETS / 400;
    (0..sent).for_each(|_| write(&mut sink, "/"));
    let dropped = usize::try_from(metrics.log_dropped.get()).unwrap();
    assert!(dropped > 0);
    assert!(!writer.stop(Duration::from_millis(50)), "it is still blocked, and we do not wait for it");
    // Read on, and what was kept arrives, whole.
    let mut log = Vec::new();
    reader.read_to_end(&mut log).unwrap();
    assert!(log.len() > LOG_RING_OCTETS / 2);
    assert_eq!(paths(&log).len(), sent - dropped);
}

/// Standard output may have been left non-blocking by whoever started us.
#[test]
fn a_slow_reader_of_a_non_blocking_pipe_gets_everything() {
    let (mut sinks, sources) = rings(1);
    let (reader, pipe) = std::os::unix::net::UnixStream::pair().unwrap();
    pipe.set_nonblocking(true).unwrap();
    let target =
        LogTarget { file: std::fs::File::from(OwnedFd::from(pipe)), path: None, looked: Instant::now() };
    let writer = Work::start(Drain::new(sources), target).unwrap();
    let stats = writer.stats();
    // Within the ring, beyond what a socket takes at once.
    let sent = LOG_RING_OCTETS / 700;
    (0..sent).for_each(|_| write(&mut sinks[0], "/"));
    let mut log = Vec::new();
    let mut reader = io::BufReader::new(reader);
    for _ in 0..sent {
        io::BufRead::read_until(&mut reader, b'\n', &mut log).unwrap();
    }
    assert_eq!(paths(&log).len(), sent);
    assert_eq!(stats.write_failures.get(), 0, "slow is not broken");
    assert!(writer.stop(PATIENCE));
}

#[test]
fn a_file_that_cannot_be_opened_is_named() {
    let Err(error) = LogWriter::open(Some(Path::new("/nowhere/access.log")))
        .and_then(|target| LogWriter::start(target, Vec::new()))
    else {
        panic!("opened");
    };
    assert!(matches!(error, LogError::Open { .. }));
    assert!(error.to_string().starts_with("cannot open the access log /nowhere/access.log: "), "{error}");
}

/// Whoever opens it is the process's main thread, which signals wait for.
#[test]
fn a_fifo_that_nobody_reads_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.fifo");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    let refused = LogWriter::open(Some(&path)).err().unwrap();
    assert!(refused.to_string().contains("log.fifo"), "{refused}");
    let _reader = std::fs::File::options().read(true).write(true).open(&path).unwrap();
    assert!(LogWriter::open(Some(&path)).is_ok());
}

/// A line of which a part is in a pipe whose reader has gone is not in the file that follows: it is counted.
#[test]
fn a_line_that_is_cut_off_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let (fifo, file) = (folder.path().join("log.fifo"), folder.path().join("access.log"));
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let reader = std::fs::File::options().read(true).write(true).open(&fifo).unwrap();
    let (mut sinks, sources) = rings(1);
    // Within the ring, beyond what a pipe takes.
    let sent = LOG_RING_OCTETS / 700;
    (0..sent).for_each(|_| write(&mut sinks[0], "/"));
    let writer = LogWriter::open(Some(&fifo)).and_then(|target| LogWriter::start(target, sources)).unwrap();
    let stats = writer.stats();
    wait_until(|| stats.octets.get() > 0);
    drop(reader);
    wait_until(|| stats.write_failures.get() > 0);
    let in_fifo = usize::try_from(stats.octets.get()).unwrap();
    writer.switch(LogWriter::open(Some(&file)).unwrap());
    assert!(writer.stop(PATIENCE));
    let log = std::fs::read(&file).unwrap();
    let line = log.iter().position(|&octet| octet == b'\n').unwrap() + 1;
    assert_ne!(in_fifo % line, 0, "all lines are as long as this one, and one was cut off");
    assert_eq!(stats.torn.get(), 1);
    assert_eq!(in_fifo / line + 1 + paths(&log).len(), sent);
}
