//! The process's own events, as JSON lines on stderr.
//!
//! Rare and synchronous: a core writes one only when a task of its own panicked.

use super::timestamp::Clock;
use serde_json::Value;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::fmt::Write as _;
use std::io::Write as _;
use std::panic::PanicHookInfo;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

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

/// Writes one event. Field names are those of the Elastic Common Schema where it has one, `ringway.…` otherwise.
/// Below the level that was [set](set_level) none is. If stderr takes nothing there is nobody to tell, and the event is lost.
pub fn event(level: Level, message: &str, fields: &[(&str, Value)]) {
    if level < self::level() {
        return;
    }
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let unix_ms = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
    // In one piece, so that lines of two threads do not mix.
    let _ = std::io::stderr().lock().write_all(line(unix_ms, level, message, fields).as_bytes());
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

/// From now on a panic is logged as an event, with its thread and place, and with a backtrace if `RUST_BACKTRACE`
/// asks for one.
pub fn install_panic_hook() {
    std::panic::set_hook(Box::new(|panic| {
        let backtrace = Backtrace::capture();
        let thread = std::thread::current();
        event(Level::Error, "panic", &panic_fields(panic, thread.name(), &backtrace));
    }));
}

fn panic_fields(
    panic: &PanicHookInfo<'_>,
    thread: Option<&str>,
    backtrace: &Backtrace,
) -> Vec<(&'static str, Value)> {
    let mut fields = vec![
        ("error.message", panic.payload_as_str().unwrap_or("(not text)").into()),
        ("process.thread.name", thread.unwrap_or("(unnamed)").into()),
    ];
    if let Some(place) = panic.location() {
        fields.push(("log.origin.file.name", place.file().into()));
        fields.push(("log.origin.file.line", place.line().into()));
    }
    if backtrace.status() == BacktraceStatus::Captured {
        fields.push(("error.stack_trace", backtrace.to_string().into()));
    }
    fields
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

    /// The hook is the whole process's, so a process of its own panics: this test again, told so by its environment.
    #[test]
    fn a_panic_is_one_event_with_its_thread_and_place() {
        const CHILD: &str = "RINGWAY_TEST_PANICS";
        if std::env::var_os(CHILD).is_some() {
            super::install_panic_hook();
            let core = std::thread::Builder::new().name("core-7".to_owned());
            assert!(core.spawn(|| panic!("a \"bad\"\nthing")).unwrap().join().is_err());
            return;
        }
        let child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["a_panic_is_one_event_with_its_thread_and_place", "--nocapture", "--test-threads=1"])
            .env(CHILD, "1")
            .env_remove("RUST_BACKTRACE")
            .output()
            .unwrap();
        let lines = String::from_utf8(child.stderr).unwrap();
        let event: Value =
            serde_json::from_str(lines.lines().find(|line| line.starts_with('{')).unwrap()).unwrap();
        assert_eq!(event["message"], "panic");
        assert_eq!(event["log.level"], "error");
        assert_eq!(event["error.message"], "a \"bad\"\nthing");
        assert_eq!(event["process.thread.name"], "core-7");
        assert!(event["log.origin.file.name"].as_str().unwrap().ends_with("process_log.rs"), "{event}");
        assert!(event["log.origin.file.line"].as_u64().unwrap() > 0);
        assert!(child.status.success());
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
