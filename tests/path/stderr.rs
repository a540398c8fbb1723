//! The process log where stderr takes nothing: nobody but the log's own thread waits for it, and what is lost is counted.

use std::fs::File;
use std::io::{PipeReader, PipeWriter, Write};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::*;

const GET: &str = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";
/// What an end may take: a wait for stderr is in it.
const SOON: Duration = Duration::from_secs(5);
/// Makes stderr the smallest pipe that there is (F_SETPIPE_SZ), and becomes the program.
const SMALL: &str = "import fcntl, os, sys; fcntl.fcntl(2, 1031, 4096); os.execvp(sys.argv[1], sys.argv[1:])";

/// A router whose stderr is a pipe of 4 KiB.
fn piped(setup: Setup) -> (Router, PipeReader) {
    let (reader, writer) = std::io::pipe().unwrap();
    (setup.under(["python3", "-c", SMALL]).stderr(writer).start(), reader)
}

fn reload_often(router: &mut Router) {
    for _ in 0..200 {
        assert_eq!(router.reload().status, 200);
    }
    assert_eq!(router.connect().ask(GET).status, 200);
}

/// Has more said than waits for stderr, of files with a thousand mistakes; so many lines.
fn say_too_much(router: &mut Router) -> usize {
    let wrong: String = (0..1000).map(|n| format!("unknown_{n:0200}: 1\n")).collect();
    std::fs::write(router.folder().join("edge.yaml"), wrong).unwrap();
    let mistakes = |told: Value| told["mistakes"].as_array().unwrap().len();
    // And each time, that nothing has changed.
    let said = (0..10).map(|_| mistakes(router.reload().json()) + 1).sum();
    router.change(|setup| setup);
    said
}

fn lost(router: &Router) -> u64 {
    router.metric("ringway_process_log_dropped_total")
}

#[test]
fn a_stderr_that_nobody_reads_holds_nothing_up() {
    let origin = Origin::saying("fine");
    let (mut router, _unread) = piped(Setup::to(&[origin.address]));
    reload_often(&mut router);
    say_too_much(&mut router);
    assert!(lost(&router) > 0);
    reload_often(&mut router);
    router.part.signal("HUP");
    assert_eq!(router.metric("ringway_process_log_write_failures_total"), 0, "slow is not broken");
    let began = Instant::now();
    router.part.signal("TERM");
    assert_eq!(router.part.wait_exit(wait::PATIENCE).code(), Some(0));
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
}

#[test]
fn a_second_sigterm_ends_at_once_whoever_reads_stderr() {
    let origin = Origin::start(|mut visit| {
        if visit.head().is_ok() {
            visit.wait_for_end();
        }
    });
    let (mut router, _unread) = piped(Setup::to(&[origin.address]).set("timeouts.drain", "1h"));
    let mut client = router.connect();
    client.send(GET).unwrap();
    wait_until("the request is at the origin", || origin.requests().len() == 1);
    for _ in 0..50 {
        assert_eq!(router.reload().status, 200);
    }
    router.part.signal("TERM");
    wait_until("it drains", || router.admin("/readyz").status == 503);
    assert_eq!(router.part.has_ended(), None);
    let began = Instant::now();
    router.part.signal("TERM");
    assert_eq!(router.part.wait_exit(wait::PATIENCE).code(), Some(0));
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
}

#[test]
fn a_reader_that_comes_back_is_told_what_it_has_lost() {
    let origin = Origin::saying("fine");
    let (mut router, unread) = piped(Setup::to(&[origin.address]));
    let said = say_too_much(&mut router);
    let lines = lines_of(unread);
    wait_until("the loss is told", || {
        lines.lock().unwrap().iter().any(|line| line["ringway.lines"].is_u64())
    });
    let lost = lost(&router);
    assert!(lost > 0);
    assert_eq!(router.reload().status, 200);
    router.part.signal("TERM");
    assert_eq!(router.part.wait_exit(SOON).code(), Some(0));
    wait_until("the last line is there", || lines.lock().unwrap().last().unwrap()["message"] == "stopped");
    let lines = lines.lock().unwrap();
    let told: u64 = lines.iter().filter_map(|line| line["ringway.lines"].as_u64()).sum();
    assert_eq!(told, lost);
    let errors = lines.iter().filter(|line| line["log.level"] == "error").count();
    assert_eq!(errors + lost as usize, said);
}

/// What comes out of a pipe from now on; each line must be JSON.
fn lines_of(pipe: PipeReader) -> std::sync::Arc<std::sync::Mutex<Vec<Value>>> {
    let lines = std::sync::Arc::<std::sync::Mutex<Vec<Value>>>::default();
    let read = std::sync::Arc::clone(&lines);
    std::thread::spawn(move || {
        for line in std::io::BufRead::lines(std::io::BufReader::new(pipe)) {
            read.lock().unwrap().push(serde_json::from_str(&line.unwrap()).unwrap());
        }
    });
    lines
}

#[test]
fn a_stderr_that_fails_is_counted_and_nothing_ends() {
    let origin = Origin::saying("fine");
    let full = || File::options().write(true).open("/dev/full").unwrap().into();
    let broken = || std::process::Stdio::from(std::io::pipe().unwrap().1);
    for stderr in [full(), broken()] {
        let mut router = Setup::to(&[origin.address]).stderr(stderr).start();
        reload_often(&mut router);
        say_too_much(&mut router);
        assert!(lost(&router) > 0);
        wait_until("it is counted", || router.metric("ringway_process_log_write_failures_total") > 0);
        let began = Instant::now();
        router.part.signal("TERM");
        assert_eq!(router.part.wait_exit(wait::PATIENCE).code(), Some(0));
        assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    }
}

#[test]
fn a_refusal_that_nobody_reads_is_one_all_the_same() {
    for (setup, code) in [
        (Setup::new().set("cores", "many"), 1),
        (Setup::new().set("cores", serde_json::json!([1000])), 1),
        (Setup::new().under(["prlimit", "--nofile=300:300"]), 3),
    ] {
        let (_unread, mut writer) = std::io::pipe().unwrap();
        fill(&mut writer);
        let mut router = setup.stderr(writer).launch();
        assert_eq!(router.part.wait_exit(SOON).code(), Some(code));
    }
}

/// No octet more fits.
fn fill(pipe: &mut PipeWriter) {
    pipe.write_all(&[b'\n'; 64 << 10]).unwrap();
}
