//! The access log, from requests to lines.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;

use serde_json::Value;

use crate::support::origin::ok;
use crate::support::*;

const GET: &str = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";

#[test]
fn a_line_tells_what_happened() {
    let origin = Origin::answering(|_, _| {
        pause(std::time::Duration::from_millis(20));
        ok("hello")
    });
    let router = Setup::to(&[origin.address]).set("node.id", "edge-7").start();
    let request = "POST /a?secret=1 HTTP/1.1\r\nHost: A.test\r\nContent-Length: 3\r\n\r\nabc";
    let got = router.connect().ask(request);
    let line = router.logged(got.head.get("x-request-id").unwrap());
    let says = |name: &str| line[name].as_str().unwrap_or_else(|| panic!("{name}: {line}")).to_owned();
    assert_eq!(says("log.level"), "info");
    assert_eq!(says("event.dataset"), "ringway.access");
    assert_eq!(says("service.version"), env!("CARGO_PKG_VERSION"));
    assert_eq!((says("http.request.method"), says("url.domain")), ("POST".into(), "a.test".into()));
    assert_eq!(says("url.path"), "/a");
    assert!(!line.to_string().contains("secret"), "{line}");
    assert_eq!((says("client.ip"), says("ringway.service")), ("127.0.0.1".into(), "svc_a".into()));
    assert_eq!(says("ringway.endpoint"), origin.address.to_string());
    assert_eq!((&line["http.response.status_code"], &line["ringway.attempts"]), (&200.into(), &1.into()));
    let figure = |name: &str| line[name].as_u64().unwrap_or_else(|| panic!("{name}: {line}"));
    assert!(figure("event.duration") >= figure("ringway.origin_duration"));
    assert!(figure("ringway.origin_duration") >= 15_000_000, "{line}");
    assert!(figure("http.request.bytes") >= 3 && figure("http.response.bytes") >= 5, "{line}");
    assert_eq!(line.get("ringway.reason"), None);
}

#[test]
fn octets_as_documented() {
    let origin = Origin::saying("hello");
    let router = Setup::to(&[origin.address]).start();
    let mut client = router.connect();
    let request = "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 3\r\n\r\nabc";
    client.send(request).unwrap();
    let mut answer = vec![0; 64 << 10];
    let mut got = 0;
    // The response as it is on the wire, head included.
    while !answer[..got].ends_with(b"hello") {
        got += std::io::Read::read(&mut client.stream, &mut answer[got..]).unwrap();
    }
    let line = wait_for("the line is there", wait::PATIENCE, || router.log().pop());
    assert_eq!(line["http.request.bytes"], request.len());
    assert_eq!(line["http.response.bytes"], got);
}

#[test]
fn every_line_is_json_whatever_clients_send() {
    let origin = Origin::saying("fine");
    let router = Setup::to(&[origin.address]).start();
    let targets = ["/\"quoted\"", "/back\\slash", "/%00%0a", "/{\"a\":1}", "/'</script>", "/\u{e9}\u{1f600}"];
    let mut sent = 0;
    for target in targets {
        let mut client = router.connect();
        client.send(format!("GET {target} HTTP/1.1\r\nHost: a.test\r\n\r\n")).unwrap();
        let _ = client.response().unwrap();
        sent += 1;
    }
    let long = format!("GET /{} HTTP/1.1\r\nHost: a.test\r\n\r\n", "\"".repeat(8000));
    let _ = router.connect().ask(long);
    // `log` refuses what is not JSON.
    wait_until("all lines are there", || router.log().len() == sent + 1);
    let text = std::fs::read_to_string(router.folder().join("access.log")).unwrap();
    assert!(text.is_ascii());
    assert!(text.lines().all(|line| line.len() <= 2304));
}

#[test]
fn failures_always_and_successes_by_their_share() {
    const REQUESTS: usize = 2000;
    let origin = Origin::answering(|head, _| match head.path() {
        "/500" => b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n".to_vec(),
        "/slow" => {
            pause(std::time::Duration::from_millis(120));
            ok("slow")
        }
        _ => ok("fine"),
    });
    let setup = Setup::to(&[origin.address]).set("access_log.success_sample", 0.1);
    let router = setup.set("access_log.slow", "100ms").set("cores", serde_json::json!([0])).start();
    let mut client = router.connect();
    let mut asked =
        |path: &str, host: &str| client.ask(format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n"));
    let mut always = Vec::new();
    for n in 0..REQUESTS {
        asked("/", "a.test");
        if n % 100 == 0 {
            for (path, host) in [("/500", "a.test"), ("/slow", "a.test"), ("/", "b.test")] {
                always.push(asked(path, host).head.get("x-request-id").unwrap().to_owned());
            }
        }
    }
    let last = always.last().unwrap().clone();
    router.logged(&last);
    let lines = router.log();
    let logged = |id: &String| lines.iter().any(|line| line["http.request.id"] == **id);
    assert!(always.iter().all(logged), "a failure or a slow request is not in the log");
    let is_plain = |line: &&Value| line["url.path"] == "/" && line["http.response.status_code"] == 200;
    // Slow ones among them are noise of a busy machine.
    let sampled =
        lines.iter().filter(is_plain).filter(|l| l["event.duration"].as_u64() < Some(100_000_000)).count();
    // Five standard deviations (13.4 each) about 200.
    assert!((133..=267).contains(&sampled), "{sampled} of {REQUESTS} at a share of 0.1");
}

#[test]
fn a_full_disk_stops_no_request() {
    let origin = Origin::saying("fine");
    let mut router = Setup::to(&[origin.address]).set("access_log.path", "/dev/full").start();
    let mut client = router.connect();
    for _ in 0..1000 {
        assert_eq!(client.ask(GET).status, 200);
    }
    wait_until("the failure is counted", || router.metric("ringway_log_write_failures_total") > 0);
    assert_eq!(client.ask(GET).status, 200);
    assert_eq!(router.admin("/readyz").status, 200);
    let written = 1001 - router.metric("ringway_log_dropped_total");
    drop(client);
    router.part.signal("TERM");
    assert!(router.part.wait_exit(wait::PATIENCE).success());
    let said = router.part.said();
    let lost = said.lines().find(|line| line.contains("its last lines are lost")).expect(&said);
    let lost: Value = serde_json::from_str(lost).unwrap();
    assert_eq!(lost["ringway.lines"], written);
}

/// A limit on the size of files (RLIMIT_FSIZE) is to the log what a full disk is, and a new file ends it.
#[test]
fn a_log_that_may_not_grow_stops_no_request() {
    const MOST: u64 = 4096;
    let origin = Origin::saying("fine");
    let limit = format!("--fsize={MOST}");
    let mut router = Setup::to(&[origin.address]).under(["prlimit", &limit]).start();
    let log = router.folder().join("access.log");
    let mut client = router.connect();
    wait_until("the failure is counted", || {
        assert_eq!(client.ask(GET).status, 200);
        router.metric("ringway_log_write_failures_total") > 0
    });
    assert_eq!(std::fs::metadata(&log).unwrap().len(), MOST);
    assert!(router.part.said().contains("the access log cannot be written"), "{}", router.part.said());
    // As after a crash: the file is as large as it may be before the first line.
    drop(client);
    router = router.start_again();
    let mut client = router.connect();
    assert_eq!(client.ask(GET).status, 200);
    wait_until("it fails again", || router.metric("ringway_log_write_failures_total") > 0);
    assert_eq!((client.ask(GET).status, router.admin("/readyz").status), (200, 200));
    std::fs::rename(&log, router.folder().join("access.log.1")).unwrap();
    router.part.signal("USR1");
    wait_until("both are in the new file", || router.log().len() == 2);
    drop(client);
    router.part.signal("TERM");
    assert_eq!(router.part.wait_exit(wait::PATIENCE).code(), Some(0), "{}", router.part.said());
}

#[test]
fn a_renamed_log_is_begun_anew() {
    let origin = Origin::saying("fine");
    let router = Setup::to(&[origin.address]).start();
    let mut client = router.connect();
    client.ask(GET);
    wait_until("the line is there", || router.log().len() == 1);
    let (log, old) = (router.folder().join("access.log"), router.folder().join("access.log.1"));
    std::fs::rename(&log, &old).unwrap();
    wait_until("a new file is begun", || {
        client.ask(GET);
        log.exists()
    });
    wait_until("it is written to", || {
        client.ask(GET);
        !router.log().is_empty()
    });
}

/// What reads the log may stop reading, or go away: requests go on, and the process still ends when it should.
#[test]
fn a_reader_of_the_log_that_stalls_or_leaves() {
    const REQUESTS: usize = 6000;
    let origin = Origin::saying("fine");
    for leaves in [false, true] {
        let (reader, writer) = std::io::pipe().unwrap();
        let setup = Setup::to(&[origin.address]).set("access_log.path", "stdout").stdout(writer);
        let mut router = setup.start();
        // A stalled reader's pipe is full after some hundred lines, and the ring of a core after some thousand.
        let reader = (!leaves).then_some(reader);
        let mut client = router.connect();
        for _ in 0..REQUESTS {
            assert_eq!(client.ask(GET).status, 200);
        }
        drop(client);
        router.wait_quiet();
        if leaves {
            wait_until("the failure is counted", || router.metric("ringway_log_write_failures_total") > 0);
        } else {
            wait_until("records are dropped", || router.metric("ringway_log_dropped_total") > 0);
        }
        router.part.signal("TERM");
        let status = router.part.wait_exit(std::time::Duration::from_secs(10));
        assert_eq!(status.code(), Some(0), "{}", router.part.said());
        assert_eq!(router.part.said().contains("the access log takes no more"), !leaves);
        drop(reader);
    }
}

/// A FIFO that is full before the first line, of a reader that sleeps: requests go on, what is lost is counted to the line,
/// and the reader gets the rest once it is awake, though the router is ending by then.
#[test]
fn every_line_that_a_sleeping_reader_of_a_fifo_loses_is_counted() {
    const REQUESTS: usize = 6000;
    let origin = Origin::saying("fine");
    let dir = tempfile::tempdir().unwrap();
    let fifo = dir.path().join("log.fifo");
    assert!(part::run(&["mkfifo", &fifo.display().to_string()], "coreutils").status.success());
    let mut filled = 0;
    let mut ends = File::options().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(&fifo).unwrap();
    let mut reader = File::open(&fifo).unwrap();
    // No octet more fits.
    while let Ok(octets) = ends.write(b"\n") {
        filled += octets;
    }
    drop(ends);
    let setup = Setup::to(&[origin.address]).set("cores", serde_json::json!([0]));
    let mut router = setup.set("access_log.path", fifo.display().to_string()).start();
    let mut client = router.connect();
    for _ in 0..REQUESTS {
        assert_eq!(client.ask(GET).status, 200);
    }
    drop(client);
    router.wait_quiet();
    let dropped = router.metric("ringway_log_dropped_total") as usize;
    assert!(dropped > 0 && dropped < REQUESTS, "{dropped} of {REQUESTS} lines dropped");
    assert_eq!(router.metric("ringway_log_octets_total"), 0);
    assert_eq!(router.metric("ringway_log_write_failures_total"), 0, "slow is not broken");
    router.part.signal("TERM");
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    assert_eq!(router.part.wait_exit(std::time::Duration::from_secs(10)).code(), Some(0));
    let lines = text.trim_start_matches('\n');
    assert_eq!(text.len() - lines.len(), filled);
    lines.lines().for_each(|line| assert!(serde_json::from_str::<Value>(line).is_ok(), "{line}"));
    assert_eq!(lines.lines().count() + dropped, REQUESTS);
    assert!(!router.part.said().contains("takes no more"), "{}", router.part.said());
}

/// As logrotate does it, under load: every request is in one of the files, in a whole line.
#[test]
fn rotation_loses_no_line_and_tears_none() {
    const CLIENTS: usize = 4;
    const EACH: usize = 2_000;
    const ROTATIONS: usize = 10;
    let origin = Origin::saying("fine");
    let router = Setup::to(&[origin.address]).start();
    let log = router.folder().join("access.log");
    let old = |n: usize| router.folder().join(format!("access.log.{n}"));
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let mut wire = router.connect();
                scope.spawn(move || {
                    for n in 0..EACH {
                        let path = format!("/{client}/{n}");
                        let got = wire.ask(format!("GET {path} HTTP/1.1\r\nHost: a.test\r\n\r\n"));
                        assert_eq!(got.status, 200);
                    }
                })
            })
            .collect();
        for n in 0..ROTATIONS {
            std::fs::rename(&log, old(n)).unwrap();
            router.part.signal("USR1");
            wait_until("a new file is begun", || log.exists());
        }
        clients.into_iter().for_each(|client| client.join().unwrap());
    });
    let files = || (0..ROTATIONS).map(old).chain([log.clone()]);
    let lines = || -> Vec<String> {
        files()
            .flat_map(|file| {
                std::fs::read_to_string(file).unwrap().lines().map(str::to_owned).collect::<Vec<_>>()
            })
            .collect()
    };
    wait_until("all lines are there", || lines().len() >= CLIENTS * EACH);
    let path =
        |line: &String| serde_json::from_str::<Value>(line).unwrap()["url.path"].as_str().unwrap().to_owned();
    let mut paths: Vec<String> = lines().iter().map(path).collect();
    paths.sort_unstable();
    let mut asked: Vec<String> =
        (0..CLIENTS).flat_map(|c| (0..EACH).map(move |n| format!("/{c}/{n}"))).collect();
    asked.sort_unstable();
    assert!(paths == asked, "{} lines of {} requests", paths.len(), asked.len());
    assert_eq!(router.metric("ringway_log_dropped_total"), 0);
}

#[test]
fn a_log_that_cannot_be_begun_anew_is_written_on_and_said() {
    let origin = Origin::saying("fine");
    let folder = tempfile::tempdir().unwrap();
    let (log, old) = (folder.path().join("a.log"), folder.path().join("a.log.1"));
    let router = Setup::to(&[origin.address]).set("access_log.path", log.display().to_string()).start();
    std::fs::rename(&log, &old).unwrap();
    std::fs::create_dir(&log).unwrap();
    router.part.signal("USR1");
    wait_until("it is said", || {
        router.part.said().contains("cannot be begun anew; the old file is written on")
    });
    assert_eq!(router.connect().ask(GET).status, 200);
    wait_until("the old file is written on", || std::fs::read_to_string(&old).unwrap().lines().count() == 1);
    // A reload that names such a file is refused, one that names another goes over to it.
    let mut router = router;
    let other = folder.path().join("b.log");
    router
        .change(|setup| setup.set("access_log.path", log.display().to_string()).set("access_log.slow", "2s"));
    assert_eq!(router.reload().status, 200);
    router.change(|setup| setup.set("access_log.path", folder.path().display().to_string()));
    assert_eq!(router.reload().status, 422);
    router.change(|setup| {
        let setup = setup.set("access_log.path", other.display().to_string());
        setup.set("access_log.fields", serde_json::json!(["url.path", "http.response.status_code"]))
    });
    assert_eq!(router.reload().status, 200);
    assert_eq!(router.connect().ask(GET).status, 200);
    let line = "{\"url.path\":\"/\",\"http.response.status_code\":200}\n";
    wait_until("the other is written", || std::fs::read_to_string(&other).unwrap() == line);
}

#[test]
fn the_process_log_s_level_changes_at_run_time() {
    let mut router = Setup::new().start();
    let put = |level: &str| {
        let length = level.len();
        Wire::connect(router.admin).ask(format!(
            "PUT /v1/log-level HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {length}\r\n\r\n{level}"
        ))
    };
    assert_eq!(router.admin("/v1/log-level").json()["level"], "info");
    assert_eq!((put("loud").status, put("").status, put(&"x".repeat(2000)).status), (422, 422, 413));
    assert_eq!(
        (put("error").status, router.admin("/v1/log-level").json()["level"].clone()),
        (200, "error".into())
    );
    // The reload itself restores what the file says.
    router.change(|setup| setup.set("process_log.level", "debug"));
    assert_eq!(router.reload().status, 200);
    assert_eq!(router.admin("/v1/log-level").json()["level"], "debug");
    assert_eq!(router.reload().status, 200);
    wait_until("it is said", || router.part.said().contains("\"log.level\":\"debug\""));
}
