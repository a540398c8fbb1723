//! The process's own events, as JSON lines on stderr.
//!
//! Once [`start`]ed, a thread of its own writes them, and nobody else ever waits for whoever reads stderr: what waits is
//! bounded, what is more is dropped and counted, and the log says so where lines are missing. Before, as in commands that
//! print and exit, whoever has something to say writes it.

mod panics;
mod writer;

pub use panics::install_panic_hook;
pub use writer::ProcessLogStats;

use super::timestamp::Clock;
use crate::limits::PROCESS_LOG_END_MS;
use serde_json::Value;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::AsFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use writer::Writer;

/// How much an event matters, least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Debug,
    Info,
    Warn,
    Error,
}

impl Level {
    pub const ALL: [Level; 4] = [Level::Debug, Level::Info, Level::Warn, Level::Error];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Level::Debug => "debug",
            Level::Info => "info",
            Level::Warn => "warn",
            Level::Error => "error",
        }
    }
}

/// The least that is written, as a [`Level`]'s number.
static LEAST: AtomicU8 = AtomicU8::new(Level::Info as u8);

/// From now on events of `level` and above are written.
pub fn set_level(level: Level) {
    LEAST.store(level as u8, Ordering::Relaxed);
}

/// What is written now: this and above.
#[must_use]
pub fn level() -> Level {
    let least = LEAST.load(Ordering::Relaxed);
    Level::ALL.into_iter().find(|level| *level as u8 == least).unwrap_or(Level::Info)
}

static WRITER: OnceLock<Writer> = OnceLock::new();

/// From now on a thread writes what there is to say.
///
/// # Errors
/// If there is no thread to be had, or no descriptor.
pub fn start() -> io::Result<()> {
    // By a descriptor of its own: std's has a lock, and whoever wrote to it would wait for the thread.
    let stderr = File::from(io::stderr().as_fd().try_clone_to_owned()?);
    // A second one has nothing to write.
    let _ = WRITER.set(Writer::start(stderr)?);
    Ok(())
}

/// Has what waits written; for the end of the process, since of what is said later nothing is. Gives up after
/// [`PROCESS_LOG_END_MS`], as when nobody reads.
pub fn end() {
    if let Some(writer) = WRITER.get() {
        writer.end(Duration::from_millis(PROCESS_LOG_END_MS));
    }
}

/// What was lost so far; none before the [`start`].
#[must_use]
pub fn stats() -> ProcessLogStats {
    WRITER.get().map(Writer::stats).unwrap_or_default()
}

/// Says why the process does not run, for who started it: lines that are no events.
pub fn refuse(why: &str) {
    why.lines().for_each(|line| put(&format!("{line}\n")));
}

fn put(line: &str) {
    match WRITER.get() {
        Some(writer) => writer.put(line),
        // In one piece, so that lines of two threads do not mix. If stderr takes nothing, there is nobody to tell.
        None => drop(io::stderr().lock().write_all(line.as_bytes())),
    }
}

/// Writes one event. Field names are those of the Elastic Common Schema where it has one, `ringway.…` otherwise.
/// Below the level that was [set](set_level) none is.
pub fn event(level: Level, message: &str, fields: &[(&str, Value)]) {
    if level < self::level() {
        return;
    }
    put(&line(now_unix_ms(), level, message, fields));
}

fn now_unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn line(unix_ms: u64, level: Level, message: &str, fields: &[(&str, Value)]) -> String {
    let mut line = format!(
        r#"{{"@timestamp":"{}","log.level":"{}","event.dataset":"ringway.process","service.version":"{}","message":{}"#,
        Clock::new().format(unix_ms),
        level.as_str(),
        env!("CARGO_PKG_VERSION"),
        Value::from(message),
    );
    for (name, value) in fields {
        let _ = write!(line, ",{}:{value}", Value::from(*name));
    }
    line.push_str("}\n");
    line
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a failed unwrap is a failed test
    use super::{Level, line};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    #[test]
    fn an_event_has_its_fields_in_order() {
        let fields = [("ringway.address", "127.0.0.1:80".into()), ("ringway.cores", 2.into())];
        let expected = format!(
            "{{\"@timestamp\":\"1994-11-06T08:49:37.000Z\",\"log.level\":\"warn\",\"event.dataset\":\"ringway.process\",\
             \"service.version\":\"{}\",\"message\":\"say \\\"hi\\\"\",\"ringway.address\":\"127.0.0.1:80\",\"ringway.cores\":2}}\n",
            env!("CARGO_PKG_VERSION")
        );
        assert_eq!(line(784_111_777_000, Level::Warn, "say \"hi\"", &fields), expected);
    }

    proptest! {
        #[test]
        fn any_text_stays_on_its_line_and_reads_back(message in ".*", name in ".*", value in "(?s).*") {
            prop_assume!(!["@timestamp", "log.level", "event.dataset", "service.version", "message"].contains(&&*name));
            let line = line(0, Level::Error, &message, &[(&name, value.clone().into())]);
            prop_assert_eq!(line.find('\n'), Some(line.len() - 1));
            let read: Value = serde_json::from_str(&line).unwrap();
            prop_assert_eq!(&read["message"], &json!(message));
            prop_assert_eq!(&read[&name], &json!(value));
        }
    }
}
