//! The router as a process: what it refuses to start with, and how it ends.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::origin::ok;
use crate::support::*;

const GET: &str = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";
const SOON: Duration = Duration::from_secs(10);

/// Runs the router where it is expected to refuse; its exit code and what it said.
#[track_caller]
fn refusal(setup: Setup) -> (i32, String) {
    let mut router = setup.launch();
    let status = router.part.wait_exit(SOON);
    (status.code().unwrap_or(-1), router.part.said())
}

fn ringway(arguments: &[&str]) -> (i32, String) {
    let mut line = vec![env!("CARGO_BIN_EXE_ringway")];
    line.extend(arguments);
    let output = part::run(&line, "cargo");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.code().unwrap_or(-1), said)
}

const FIVE_MISTAKES: &str = "\
listeners:
  - { address: \"127.0.0.1\", protocol: http }
idle: adaptve
timeouts: { idle: 75 }
servces: []
services:
  - { id: hello, hostnames: [a.test], endpoints: [\"127.0.0.1:9000\"] }
";

#[test]
fn five_mistakes_are_five_lines() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("edge.yaml");
    std::fs::write(&file, FIVE_MISTAKES).unwrap();
    let path = file.display().to_string();
    let (code, told) = ringway(&["check", "--config", &path]);
    assert_eq!(code, 1, "{told}");
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines.len(), 5, "{told}");
    for (line, number) in lines.iter().zip([2, 3, 4, 5, 7]) {
        let rest =
            line.strip_prefix(&format!("{path}:{number}: ")).unwrap_or_else(|| panic!("{number}: {line}"));
        assert!(
            rest.contains("; ") || rest.contains("use ") || rest.contains("write "),
            "no mending: {line}"
        );
    }
    // `run` refuses the same file in the same words.
    let output = part::run(&[env!("CARGO_BIN_EXE_ringway"), "run", "--config", &path], "cargo");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(String::from_utf8_lossy(&output.stderr), told);
}

#[test]
fn a_configuration_that_cannot_be_read() {
    let dir = tempfile::tempdir().unwrap();
    let directory = dir.path().display().to_string();
    let binary = dir.path().join("binary.yaml");
    std::fs::write(&binary, noise(5000)).unwrap();
    for path in ["/nonexistent/edge.yaml", &directory, &binary.display().to_string()] {
        let (code, told) = ringway(&["check", "--config", path]);
        assert!(code == 1 && told.contains(path), "{code}: {told}");
        let output = part::run(&[env!("CARGO_BIN_EXE_ringway"), "run", "--config", path], "cargo");
        assert_eq!(
            (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned()),
            (Some(1), told)
        );
    }
}

#[test]
fn a_second_router_on_the_same_port_is_refused() {
    let origin = Origin::saying("fine");
    let router = Setup::to(&[origin.address]).start();
    let listen = router.address.to_string();
    let (code, said) = refusal(Setup::to(&[origin.address]).listener("address", listen.clone()));
    assert_eq!(code, 1, "{said}");
    let mend = format!("ss -ltnp 'sport = :{}'", router.address.port());
    assert!(said.contains(&listen) && said.contains(&mend), "{said}");
    let (code, said) = refusal(Setup::to(&[origin.address]).set("admin.address", router.admin.to_string()));
    assert_eq!(code, 1, "{said}");
    assert!(said.contains(&router.admin.to_string()) && said.contains("admin.address"), "{said}");
    assert_eq!(router.connect().ask(GET).status, 200, "the first one is disturbed");
}

#[test]
fn cpus_that_are_not_ours_are_refused() {
    let (code, said) = refusal(Setup::new().set("cores", json!([1000])));
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("cores: this process may not run on CPU 1000") && said.contains("auto"), "{said}");
}

#[test]
fn snapshots_that_cannot_be_used_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("base.snap");
    let refused = |path: &std::path::Path, why: &str| {
        let setup = Setup::new().set("state.snapshot", path.display().to_string());
        let config = setup.write();
        let text = std::fs::read_to_string(&config).unwrap();
        let line = 1 + text.lines().position(|line| line.contains("\"snapshot\"")).unwrap();
        let (config, path) = (config.display().to_string(), path.display());
        let (code, told) = ringway(&["check", "--config", &config]);
        let told = told.lines().last().unwrap_or_default();
        assert!(
            code == 1 && told.starts_with(&format!("{config}:{line}: state.snapshot: ")),
            "{code}: {told}"
        );
        assert!(told.contains(&path.to_string()) && told.contains(why), "{told}");
        // `run` refuses it in the same words.
        let (code, said) = refusal(setup);
        assert!(code == 1 && said.lines().any(|line| line == told), "{code}: {said}\n{told}");
        assert!(!said.contains("panicked"), "{said}");
    };
    let mend = "; name a file that this user may read, or make it with `ringway state build`";
    refused(&file, &format!("No such file or directory (os error 2){mend}"));
    refused(dir.path(), mend);
    refused(&file.join("below"), "No such file or directory");
    for content in [Vec::new(), b"not a snapshot".to_vec(), noise(100_000)] {
        std::fs::write(&file, content).unwrap();
        refused(&file, "base.snap is no ringway snapshot; make one with `ringway state build`");
    }
    refused(&file.join("below"), "Not a directory");
}

#[test]
fn a_log_that_cannot_be_opened_is_refused() {
    let (code, said) = refusal(Setup::new().set("access_log.path", "/nonexistent/access.log"));
    assert!(code == 1 && said.contains("/nonexistent"), "{code}: {said}");
}

#[test]
fn sigterm_drains() {
    let (let_go, held) = std::sync::mpsc::channel::<()>();
    let held = std::sync::Mutex::new(held);
    let origin = Origin::answering(move |head, _| {
        if head.path() == "/slow" {
            held.lock().unwrap().recv().unwrap();
        }
        ok(head.path())
    });
    let mut router = Setup::to(&[origin.address]).set("timeouts.drain", "20s").start();
    let (mut idle, mut busy) = (router.connect(), router.connect());
    assert_eq!(idle.ask(GET).status, 200);
    busy.send("GET /slow HTTP/1.1\r\nHost: a.test\r\n\r\n").unwrap();
    wait_until("the slow request is at the origin", || origin.requests().len() == 2);
    router.part.signal("TERM");
    // What is idle is closed, what is new is refused, what is in flight goes on.
    assert_eq!(idle.end(), Cut::Closed);
    wait_until("no new connections are taken", || std::net::TcpStream::connect(router.address).is_err());
    let ready = router.admin("/readyz");
    assert_eq!(ready.status, 503);
    assert!(ready.text().contains("drain"), "{}", ready.text());
    assert_eq!(router.admin("/healthz").status, 200);
    assert_eq!(router.part.has_ended(), None);
    let_go.send(()).unwrap();
    let got = busy.response().unwrap();
    assert_eq!((got.text(), got.head.get("connection")), ("/slow", Some("close")));
    assert_eq!(busy.end(), Cut::Closed);
    let status = router.part.wait_exit(SOON);
    assert_eq!(status.code(), Some(0), "{}", router.part.said());
    // The last lines of the log are written before the end.
    let mut paths: Vec<String> = router.log().iter().map(|line| line["url.path"].to_string()).collect();
    paths.sort_unstable(); // two cores wrote them
    assert_eq!(paths, ["\"/\"", "\"/slow\""]);
}

/// Asks on one new connection after the other until none comes about; how many answers came, and what went wrong.
fn ask_anew(router: std::net::SocketAddr, answered: &AtomicUsize) -> Result<(), String> {
    while let Ok(mut stream) = TcpStream::connect_timeout(&router, Duration::from_millis(300)) {
        let mut answer = String::new();
        stream.set_read_timeout(Some(SOON)).unwrap();
        let asked = stream.write_all(b"GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n");
        asked.and_then(|()| stream.read_to_string(&mut answer)).map_err(|error| error.to_string())?;
        if !answer.starts_with("HTTP/1.1 200 ") {
            return Err(format!("answered {answer:?}"));
        }
        answered.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}

#[test]
fn a_drain_cuts_off_no_client_that_has_connected() {
    let origin = Origin::saying("a");
    let mut router = Setup::to(&[origin.address]).start();
    let (address, answered) = (router.address, AtomicUsize::new(0));
    let outcomes: Vec<Result<(), String>> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..8).map(|_| scope.spawn(|| ask_anew(address, &answered))).collect();
        wait_until("requests are answered", || answered.load(Ordering::Relaxed) > 500);
        router.part.signal("TERM");
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    assert_eq!(outcomes, vec![Ok(()); 8]);
    assert_eq!(router.part.wait_exit(SOON).code(), Some(0), "{}", router.part.said());
}

/// Asks on one connection, at a pace of its own, until an answer says that it is the last; how many answers came.
fn ask_on(router: &Router, pause: Duration, answered: &AtomicUsize) -> Result<(), String> {
    let mut client = router.connect();
    loop {
        client
            .send("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1\r\n\r\nx")
            .map_err(|error| error.to_string())?;
        let got = client.response().map_err(|cut| format!("{cut:?} with {pause:?} between requests"))?;
        if got.status != 200 {
            return Err(format!("answered {}", got.status));
        }
        answered.fetch_add(1, Ordering::Relaxed);
        if got.head.get("connection") == Some("close") {
            return Ok(());
        }
        crate::support::pause(pause);
    }
}

#[test]
fn a_drain_answers_what_busy_connections_have_on_the_way() {
    let origin = Origin::saying("a");
    let mut router = Setup::to(&[origin.address]).start();
    let answered = AtomicUsize::new(0);
    let outcomes: Vec<Result<(), String>> = std::thread::scope(|scope| {
        let (router, answered) = (&router, &answered);
        let clients: Vec<_> = (0..60)
            .map(|n| scope.spawn(move || ask_on(router, Duration::from_millis(n), answered)))
            .collect();
        wait_until("requests are answered", || answered.load(Ordering::Relaxed) > 600);
        router.part.signal("TERM");
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    assert_eq!(outcomes, vec![Ok(()); 60]);
    assert_eq!(router.part.wait_exit(SOON).code(), Some(0), "{}", router.part.said());
}

#[test]
fn the_admin_listener_drains_too() {
    let mut router = Setup::new().start();
    let mut admin = Wire::connect(router.admin);
    let web = admin
        .ask("POST /v1/drain HTTP/1.1\r\nHost: localhost\r\nOrigin: http://x\r\nContent-Length: 0\r\n\r\n");
    assert_eq!(web.status, 403);
    let mut admin = Wire::connect(router.admin);
    assert_eq!(
        admin.ask("POST /v1/drain HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n").status,
        202
    );
    assert_eq!(router.part.wait_exit(SOON).code(), Some(0));
}

/// A router whose only request never ends.
fn stuck(drain: &str) -> (Router, Origin, Wire) {
    let origin = Origin::start(|mut visit| {
        if visit.head().is_ok() {
            visit.wait_for_end();
        }
    });
    let router = Setup::to(&[origin.address]).set("timeouts.drain", drain).start();
    let mut client = router.connect();
    client.send(GET).unwrap();
    wait_until("the request is at the origin", || origin.requests().len() == 1);
    (router, origin, client)
}

#[test]
fn a_drain_ends_in_time() {
    let (mut router, _origin, mut client) = stuck("500ms");
    let began = Instant::now();
    router.part.signal("INT");
    assert_eq!(router.part.wait_exit(SOON).code(), Some(0));
    assert!(began.elapsed() >= Duration::from_millis(450), "{:?}", began.elapsed());
    assert!(client.response().is_err());
    assert!(router.part.said().contains("\"ringway.connections_cut\":1"), "{}", router.part.said());
}

#[test]
fn a_second_sigterm_ends_at_once() {
    let (mut router, _origin, _client) = stuck("1h");
    router.part.signal("TERM");
    wait_until("it drains", || router.admin("/readyz").status == 503);
    assert_eq!(router.part.has_ended(), None);
    router.part.signal("TERM");
    assert_eq!(router.part.wait_exit(SOON).code(), Some(0));
}

#[test]
fn killed_and_started_again_on_the_same_port() {
    let origin = Origin::saying("fine");
    let mut router = Setup::to(&[origin.address]).start();
    for _ in 0..3 {
        let mut clients: Vec<Wire> = (0..20).map(|_| router.connect()).collect();
        clients.iter_mut().for_each(|client| assert_eq!(client.ask(GET).status, 200));
        router.part.signal("KILL");
        router.part.wait_exit(SOON);
        router = router.start_again();
    }
    assert_eq!(router.connect().ask(GET).status, 200);
}

#[test]
fn usage_and_version() {
    let (code, told) = ringway(&["--version"]);
    assert_eq!((code, told.trim()), (0, concat!("ringway ", env!("CARGO_PKG_VERSION"))));
    assert_eq!(ringway(&["run"]).0, 2);
    assert_eq!(ringway(&["fly"]).0, 2);
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/examples/quickstart.yaml");
    assert_eq!(ringway(&["check", "--config", example]).0, 0);
}
