//! Panics as events.

use super::{Level, end, event};
use serde_json::Value;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::panic::PanicHookInfo;

/// From now on a panic is logged as an event, with its thread and place, and with a backtrace if `RUST_BACKTRACE`
/// asks for one.
pub fn install_panic_hook() {
    std::panic::set_hook(Box::new(|panic| {
        let backtrace = Backtrace::capture();
        let thread = std::thread::current();
        event(Level::Error, "panic", &panic_fields(panic, thread.name(), &backtrace));
        if ends_process(panic) {
            end();
            // What std has to say of it could wait for who reads stderr.
            std::process::abort();
        }
    }));
}

/// Whether the panic is one past which nothing unwinds. std tells only by its text.
fn ends_process(panic: &PanicHookInfo<'_>) -> bool {
    let text = panic.payload_as_str().unwrap_or_default();
    ["panic in a function that cannot unwind", "panic in a destructor during cleanup"].contains(&text)
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
    use serde_json::Value;
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, Output};

    /// The hook is the whole process's, so a process of its own panics: this test again, told so by its environment.
    fn in_a_child(test: &str, variable: &str) -> Output {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args([test, "--nocapture", "--test-threads=1"]).env(variable, "1").env_remove("RUST_BACKTRACE");
        child.output().unwrap()
    }

    fn events(child: &Output) -> Vec<Value> {
        let said = String::from_utf8_lossy(&child.stderr);
        let lines = said.lines().filter(|line| line.starts_with('{'));
        lines.map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn a_panic_is_one_event_with_its_thread_and_place() {
        const CHILD: &str = "RINGWAY_TEST_PANICS";
        if std::env::var_os(CHILD).is_some() {
            super::install_panic_hook();
            let core = std::thread::Builder::new().name("core-7".to_owned());
            assert!(core.spawn(|| panic!("a \"bad\"\nthing")).unwrap().join().is_err());
            return;
        }
        let child = in_a_child("a_panic_is_one_event_with_its_thread_and_place", CHILD);
        let [event] = &events(&child)[..] else { panic!("{child:?}") };
        assert_eq!(event["message"], "panic");
        assert_eq!(event["log.level"], "error");
        assert_eq!(event["error.message"], "a \"bad\"\nthing");
        assert_eq!(event["process.thread.name"], "core-7");
        assert!(event["log.origin.file.name"].as_str().unwrap().ends_with("panics.rs"), "{event}");
        assert!(event["log.origin.file.line"].as_u64().unwrap() > 0);
        assert!(child.status.success());
    }

    #[test]
    fn the_last_words_before_an_abort_are_written() {
        const CHILD: &str = "RINGWAY_TEST_ABORTS";
        struct Bomb;
        impl Drop for Bomb {
            fn drop(&mut self) {
                panic!("the second");
            }
        }
        if std::env::var_os(CHILD).is_some() {
            super::install_panic_hook();
            crate::observe::process_log::start().unwrap();
            let _bomb = Bomb;
            panic!("the first");
        }
        let child = in_a_child("the_last_words_before_an_abort_are_written", CHILD);
        let told: Vec<Value> =
            events(&child).into_iter().map(|event| event["error.message"].clone()).collect();
        assert_eq!(told, ["the first", "the second", "panic in a destructor during cleanup"], "{child:?}");
        assert_eq!(child.status.signal(), Some(libc::SIGABRT));
    }
}
