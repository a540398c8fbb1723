//! The process log's thread against pipes that are slow, stuck or broken, and a disk that is full.
#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test

use super::Writer;
use crate::limits::PROCESS_LOG_OCTETS;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::thread;
use std::time::{Duration, Instant};

/// Far longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(20);
/// With its number, 1,000 octets.
const LONG: usize = 991;

fn long(number: usize) -> String {
    format!("{number:08}{}\n", "x".repeat(LONG))
}

/// Asks again until it is so; the log's thread works at its own pace.
fn wait_until(mut so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !so() {
        assert!(begun.elapsed() < PATIENCE, "waited too long");
        thread::park_timeout(Duration::from_millis(2));
    }
}

/// The numbers of the long lines in a log, and of the lines that it says are lost, in place.
fn told(log: &str) -> Vec<Result<usize, u64>> {
    let told = |line: &str| match serde_json::from_str::<serde_json::Value>(line) {
        Ok(line) if line.is_object() => Err(line["ringway.lines"].as_u64().unwrap()),
        _ => Ok(line.trim_end_matches('x').parse().unwrap()),
    };
    log.lines().map(told).collect()
}

#[test]
fn what_a_stuck_reader_loses_is_told_in_its_place() {
    let (mut reader, pipe) = io::pipe().unwrap();
    let writer = Writer::start(File::from(OwnedFd::from(pipe))).unwrap();
    let sent = 2 * PROCESS_LOG_OCTETS / 1000;
    (0..sent).for_each(|number| writer.put(&long(number)));
    let lost = writer.stats().dropped;
    assert!(lost > 0);
    assert!(!writer.end(Duration::from_millis(50)), "it is still blocked, and we do not wait for it");
    // Read on, and what was kept arrives, with the loss behind it.
    let mut log = String::new();
    reader.read_to_string(&mut log).unwrap();
    let kept = sent - usize::try_from(lost).unwrap();
    let expected: Vec<_> = (0..kept).map(Ok).chain([Err(lost)]).collect();
    assert!(told(&log) == expected, "{:?} for {lost} lost of {sent}", told(&log).last());
    assert!(writer.end(PATIENCE));
    assert_eq!(writer.stats().write_failures, 0, "slow is not broken");
}

#[test]
fn a_non_blocking_stderr_gets_every_line() {
    let (reader, pipe) = std::os::unix::net::UnixStream::pair().unwrap();
    pipe.set_nonblocking(true).unwrap();
    let writer = Writer::start(File::from(OwnedFd::from(pipe))).unwrap();
    // Within the queue, beyond what a socket takes at once.
    let sent = PROCESS_LOG_OCTETS / 1000;
    (0..sent).for_each(|number| writer.put(&long(number)));
    let reading = thread::spawn(move || io::read_to_string(reader).unwrap());
    assert!(writer.end(PATIENCE));
    assert!(told(&reading.join().unwrap()) == (0..sent).map(Ok).collect::<Vec<_>>());
    let stats = writer.stats();
    assert_eq!((stats.dropped, stats.write_failures), (0, 0));
}

#[test]
fn a_reader_that_went_away_or_a_full_disk_is_counted_and_holds_no_end() {
    let (reader, pipe) = io::pipe().unwrap();
    drop(reader);
    let full = File::options().write(true).open("/dev/full").unwrap();
    for out in [File::from(OwnedFd::from(pipe)), full] {
        let writer = Writer::start(out).unwrap();
        (0..PROCESS_LOG_OCTETS / 500).for_each(|number| writer.put(&long(number)));
        assert!(writer.stats().dropped > 0);
        wait_until(|| writer.stats().write_failures > 0);
        assert!(writer.end(PATIENCE), "the thread lives and ends when told");
    }
}
