//! `ringway check` tells what `ringway run` refuses, in the same words.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;

use serde_json::json;

use crate::support::*;

#[track_caller]
fn check(file: &Path, under: &[&str]) -> (i32, String) {
    let file = file.display().to_string();
    let line = [under, &[env!("CARGO_BIN_EXE_ringway"), "check", "--config", &file]].concat();
    let output = part::run(&line, "util-linux");
    (output.status.code().unwrap_or(-1), String::from_utf8(output.stdout).unwrap())
}

/// What a run says at its end, less where it says it.
fn reason(said: &str) -> &str {
    let said = said.lines().last().unwrap_or_default();
    let placed = || said.splitn(3, ": ").nth(2).unwrap_or(said);
    said.strip_prefix("ringway: ").unwrap_or_else(placed)
}

#[test]
fn what_a_run_refuses_is_told_with_its_line() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).display().to_string();
    std::fs::write(at("file"), "nonsense").unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let feed = |dir: &str| json!({ "dir": dir, "feed": { "kind": "file", "path": at("file") } });
    let running = Setup::new().set("services", json!([])).set("state", feed(&at("held"))).start();
    let front = |address: &str| Setup::new().listener("address", address);
    for (name, base, source) in
        [("lacking", json!("0.snap"), json!(null)), ("other", json!(null), json!("/other"))]
    {
        std::fs::create_dir(at(name)).unwrap();
        let record = json!({ "format": 1, "base": base, "levels": [], "next": 1, "base_made": 0, "held": null,
            "feed": null, "source": source });
        std::fs::write(at(&format!("{name}/manifest.json")), record.to_string()).unwrap();
    }
    std::fs::create_dir(at("bereft")).unwrap();
    std::fs::write(at("bereft/0.snap"), "the table").unwrap();
    let cases = [
        (Setup::new().set("cores", json!([1000])), "cores: "),
        (front(&taken), "listeners["),
        (front("192.0.2.1:80"), "listeners["),
        (front(&format!("unix:{}", at("none/edge.sock"))), "listeners["),
        (front(&format!("unix:{}", at("file"))), "listeners["),
        (Setup::new().set("admin.address", taken.clone()), "admin.address: "),
        (Setup::new().set("access_log.path", at("none/access.log")), "access_log.path: "),
        (Setup::new().set("state.snapshot", at("file")), "state.snapshot: "),
        (Setup::new().set("state.snapshot", at("none")), "state.snapshot: "),
        (Setup::new().set("state", feed(&at("held"))), "state.dir: "),
        (Setup::new().set("state", feed(&at("file"))), "state.dir: "),
        (Setup::new().set("state", feed("/proc/none")), "state.dir: "),
        (Setup::new().set("state", feed(&at("lacking"))), "state.dir: "),
        (Setup::new().set("state", feed(&at("other"))), "state.dir: "),
        (Setup::new().set("state", feed(&at("bereft"))), "state.dir: "),
    ];
    for (setup, field) in cases {
        let (code, told) = check(&setup.write(), &[]);
        let file = setup.dir.path().join("edge.yaml").display().to_string();
        let mut router = setup.launch();
        assert_eq!(router.part.wait_exit(wait::PATIENCE).code(), Some(1), "{field}{told}");
        let said = router.part.said();
        let line = told.lines().find(|line| line.contains(reason(&said)));
        let line = line.unwrap_or_else(|| panic!("run: {said}check: {told}"));
        let (line_number, rest) = line.strip_prefix(&format!("{file}:")).unwrap().split_once(": ").unwrap();
        assert!(line_number.parse::<u32>().is_ok(), "{line}");
        assert!(rest.strip_prefix("warning: ").unwrap_or(rest).starts_with(field), "{line}");
        let without = line.replacen("warning: ", "", 1);
        assert_eq!(said.lines().last(), Some(without.as_str()), "a run names the line, too");
        // What is so on this machine alone is no mistake.
        assert_eq!(code, i32::from(field == "state.snapshot: "), "{told}");
    }
    drop(running);
}

#[test]
fn what_the_machine_lacks_is_told_as_a_run_tells_it() {
    let under = ["prlimit", "--nofile=300:300"];
    let setup = Setup::new();
    let (code, told) = check(&setup.write(), &under);
    let mut router = setup.under(under).launch();
    assert_eq!(router.part.wait_exit(wait::PATIENCE).code(), Some(3));
    let said = router.part.said();
    let line = format!("edge.yaml: warning: {}", reason(&said));
    assert!(code == 0 && told.contains(&line), "{said}{told}");
    assert!(said.contains("ulimit -n") && told.contains("fine, but not on this machine"), "{said}{told}");
}

/// As when a file is looked at before it is read again.
#[test]
fn what_the_running_router_has_is_not_held_against_its_file() {
    let origin = Origin::saying("fine");
    let router = Setup::to(&[origin.address]).set("node.id", "edge-7").start();
    let (code, told) = check(&router.folder().join("edge.yaml"), &[]);
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!((code, lines.len()), (0, 2), "{told}");
    assert!(lines[0].contains("warning: admin.address: a router (edge-7) runs here and has it"), "{told}");
    assert!(lines[1].contains("edge.yaml: fine: 1 listener, 1 service"), "{told}");
    let address: SocketAddr = router.address;
    assert_eq!(
        Wire::connect(address).ask("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n").status,
        200,
        "undisturbed"
    );
}

/// What is one file under two names; a start, `check` and a reload say so alike.
#[test]
fn what_is_one_file_twice_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).display().to_string();
    std::os::unix::fs::symlink(dir.path(), at("other")).unwrap();
    std::fs::write(at("changes.jsonl"), "").unwrap();
    let own = |setup: Setup| {
        let setup =
            setup.also_listen(json!({ "address": format!("unix:{}", at("edge.sock")), "protocol": "http" }));
        setup.service_at("svc_loop", &["loop.test"], &[format!("unix:{}", at("other/./other/edge.sock"))])
    };
    let feed = |setup: Setup| {
        let feed = json!({ "kind": "file", "path": at("changes.jsonl") });
        let setup = setup.set("state", json!({ "dir": at("state"), "feed": feed })).services(&[]);
        setup.set("access_log.path", at("other/changes.jsonl"))
    };
    let itself = |setup: Setup| {
        let config = setup.dir.path().join("./edge.yaml");
        setup.set("access_log.path", config.display().to_string())
    };
    let quarantine = |setup: Setup| {
        let feed = json!({ "kind": "file", "path": at("other/state/quarantine.jsonl") });
        setup.set("state", json!({ "dir": at("state"), "feed": feed })).services(&[])
    };
    let of_table = |setup: Setup| {
        let feed = json!({ "kind": "file", "path": at("changes.jsonl") });
        let setup = setup.set("state", json!({ "dir": at("state"), "feed": feed })).services(&[]);
        setup.set("access_log.path", at("state/7.snap"))
    };
    std::fs::create_dir(at("state")).unwrap();
    let to_own = format!(
        "services[svc_loop].endpoints: unix:{} is this router's own listener unix:{}; give the origin's address",
        at("other/./other/edge.sock"),
        at("edge.sock"),
    );
    let cases: [(&dyn Fn(Setup) -> Setup, &str); 5] = [
        (&own, &to_own),
        (&feed, "is the feed's file as well; "),
        (&itself, "is the configuration as well; "),
        (&quarantine, "other/state/quarantine.jsonl is in state.dir, and "),
        (&of_table, "state/7.snap is in state.dir, and "),
    ];
    for (change, said) in cases {
        let setup = change(Setup::new());
        let (code, told) = check(&setup.write(), &[]);
        let mistakes: Vec<&str> = told.lines().filter(|line| !line.contains(": warning: ")).collect();
        assert!(code == 1 && mistakes.len() == 1 && mistakes[0].contains(said), "{told}");
        let mut router = setup.launch();
        assert_eq!(router.part.wait_exit(wait::PATIENCE).code(), Some(1), "{said}");
        assert_eq!(router.part.said().lines().last(), Some(mistakes[0]));
    }
    for change in [&own as &dyn Fn(Setup) -> Setup, &itself] {
        let mut router = Setup::new().start();
        router.change(change);
        let (code, told) = check(&router.folder().join("edge.yaml"), &[]);
        let answer = router.reload();
        let answer: serde_json::Value = serde_json::from_str(answer.text()).unwrap();
        let mistakes: Vec<&str> =
            answer["mistakes"].as_array().unwrap().iter().filter_map(|m| m.as_str()).collect();
        assert!(code == 1 && mistakes.len() == 1 && told.contains(mistakes[0]), "{mistakes:?} {told}");
    }
}
