//! What is told of requests by files, as people and programs see it.
#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test

use std::ffi::OsString;
use std::path::Path;

use super::explain;
use crate::cli::{self, Command, Exit};
use crate::ctl::build;

const EDGE: &str = r#"listeners:
  - { address: "127.0.0.1:8080", protocol: http }
timeouts: { response_head: 30s }
state: { snapshot: "DIR/base.snap" }
services:
  - id: svc_hello
    hostnames: [hello.localhost, www.hello.localhost]
    endpoints: ["127.0.0.1:9000", "unix:/run/hello.sock"]
  - id: svc_files
    hostnames: [files.localhost]
    endpoints: ["10.0.0.9:80"]
    timeouts: { connect: 250ms }
    limits: { request_body_bytes: 1000 }
    paths: strict
"#;

const CHANGES: &str = r#"
{"kind":"service","service":"svc_shop","version":[1,1],"owner":"usr_1","home_region":"local","regions":{"local":90,"oregon":10},"policy":null}
{"kind":"endpoint_set","service":"svc_shop","region":"local","version":[3,42],"endpoints":[{"ip":"10.0.0.1","port":80,"state":"healthy"},{"ip":"10.0.0.2","port":80,"state":"draining"},{"ip":"10.0.0.3","port":80,"state":"dead"},{"ip":"10.0.0.4","port":80,"state":"starting"},{"ip":"127.0.0.1","port":8080,"state":"healthy"}]}
{"kind":"domain_map","hostname":"shop.example.com","service":"svc_shop","version":[1,7],"class":"custom"}
{"kind":"domain_map","hostname":"*.apps.example.com","service":"svc_shop","version":[1,3],"class":"platform"}
{"kind":"tombstone","hostname":"gone.example.com","version":[1,8],"reason":"transfer"}
{"kind":"service","service":"svc_far","version":[1,1],"owner":"usr_1","home_region":"oregon","regions":{"oregon":100},"policy":null}
{"kind":"endpoint_set","service":"svc_far","region":"oregon","version":[1,1],"endpoints":[{"ip":"10.0.1.1","port":80,"state":"healthy"}]}
{"kind":"domain_map","hostname":"far.example.com","service":"svc_far","version":[1,1],"class":"platform"}
{"kind":"endpoint_set","service":"svc_weary","region":"local","version":[1,1],"endpoints":[{"ip":"10.0.2.1","port":80,"state":"draining"}]}
{"kind":"domain_map","hostname":"weary.example.com","service":"svc_weary","version":[1,1],"class":"platform"}
{"kind":"endpoint_set","service":"svc_circle","region":"local","version":[1,1],"endpoints":[{"ip":"127.0.0.1","port":9180,"state":"healthy"},{"ip":"0.0.0.0","port":80,"state":"healthy"}]}
{"kind":"domain_map","hostname":"circle.example.com","service":"svc_circle","version":[1,1],"class":"platform"}
"#;

/// Requests, and how the command ends.
const ASKED: &[(&str, Exit)] = &[
    ("--host hello.localhost", Exit::Fine),
    ("--host WWW.Hello.localhost.:8080 --path /a//./b;v=1/../c?d=../e --method PUT", Exit::Fine),
    ("--host shop.example.com", Exit::Fine),
    ("--host x.apps.example.com", Exit::Fine),
    ("--host y.x.apps.example.com", Exit::WrongInput),
    ("--host files.localhost --path /a/../b", Exit::WrongInput),
    ("--host files.localhost --method POST --header Content-Length:1001", Exit::WrongInput),
    ("--host nobody.example.com", Exit::WrongInput),
    ("--host gone.example.com", Exit::WrongInput),
    ("--host far.example.com", Exit::WrongInput),
    ("--host weary.example.com", Exit::WrongInput),
    ("--host circle.example.com", Exit::WrongInput),
    ("--host hello.localhost --path /a%2fb", Exit::WrongInput),
    ("--host hello.localhost --path /.well-known/gateway-health", Exit::Fine),
    ("--host nobody.example.com --path http://hello.localhost/a", Exit::Fine),
    ("--host hello.localhost --path * --method OPTIONS --header Max-Forwards:0", Exit::Fine),
    ("--host a_b!c", Exit::WrongInput),
    ("--host hello.localhost --method TRACE", Exit::WrongInput),
    ("--host hello.localhost --json", Exit::Fine),
    ("--host nobody.example.com --json", Exit::WrongInput),
];

fn asked(dir: &Path, arguments: &str) -> (Exit, String) {
    let config = dir.join("edge.yaml").display().to_string();
    let line = ["ringway", "explain", "--config", &config].into_iter().chain(arguments.split(' '));
    let Ok(Command::Explain(options)) = cli::parse(line.map(OsString::from)) else {
        panic!("{arguments} is no command")
    };
    let mut out = Vec::new();
    let exit = explain(&options, &mut out).unwrap();
    (exit, String::from_utf8(out).unwrap().replace(&format!("{}/", dir.display()), ""))
}

/// `UPDATE_GOLDEN=1 cargo test explain` writes the file; read it before it is committed.
#[test]
fn what_is_told_is_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    std::fs::write(at("edge.yaml"), EDGE.replace("DIR", &dir.path().display().to_string())).unwrap();
    std::fs::write(at("changes.jsonl"), CHANGES.trim_start()).unwrap();
    let mut out = Vec::new();
    assert_eq!(build(&at("changes.jsonl"), &at("base.snap"), &mut out).unwrap(), Exit::Fine);
    let mut told = String::new();
    for (arguments, exit) in ASKED {
        let (ended, out) = asked(dir.path(), arguments);
        assert_eq!(ended, *exit, "{arguments}: {out}");
        assert!(out.lines().all(|line| line == line.trim_end()), "spaces at the end: {out}");
        told.push_str(&format!("$ ringway explain --config edge.yaml {arguments}\n{out}\n"));
    }
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/explain.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&golden, &told).unwrap();
    }
    let wanted = std::fs::read_to_string(&golden).unwrap();
    for (told, wanted) in told.split("\n$ ").zip(wanted.split("\n$ ")) {
        assert_eq!(told, wanted, "if this is better: UPDATE_GOLDEN=1 cargo test explain");
    }
    assert_eq!(told.len(), wanted.len());
}

#[test]
fn wrong_input_is_told_as_check_does() {
    let dir = tempfile::tempdir().unwrap();
    let said = |content: &str| {
        std::fs::write(dir.path().join("edge.yaml"), content).unwrap();
        asked(dir.path(), "--host a.test")
    };
    let listeners = "listeners: [{ address: \"127.0.0.1:8080\", protocol: http }]\n";
    let (exit, out) = said("idle: sleep\n");
    assert!(exit == Exit::WrongInput && out.contains("edge.yaml:1: listeners is missing"), "{out}");
    let (exit, out) = said(&format!("{listeners}state: {{ snapshot: /nowhere.snap }}\n"));
    assert!(exit == Exit::WrongInput && out.starts_with("edge.yaml:2: state.snapshot: "), "{out}");
    std::fs::write(dir.path().join("edge.yaml"), listeners).unwrap();
    for (url, told) in [
        ("https://127.0.0.1:1", "\"https://127.0.0.1:1\" is no admin listener's address"),
        ("http://127.0.0.1:1", "no router answers at http://127.0.0.1:1: Connection refused"),
    ] {
        let (exit, out) = asked(dir.path(), &format!("--host a.test --admin {url}"));
        assert!(exit == Exit::WrongInput && out.starts_with(told), "{out}");
    }
}

#[test]
fn a_file_of_changes_is_read_as_a_router_reads_it() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let edge = format!(
        "listeners: [{{ address: \"127.0.0.1:8080\", protocol: http }}]\n\
         state: {{ feed: {{ kind: file, path: \"{}\" }} }}\n",
        at("changes.jsonl").display()
    );
    std::fs::write(at("edge.yaml"), edge).unwrap();
    let (exit, out) = asked(dir.path(), "--host shop.example.com");
    assert!(
        exit == Exit::WrongInput && out.starts_with("edge.yaml:2: state.feed.path: the file of"),
        "{out}"
    );
    let late = r#"{"kind":"endpoint_set","service":"svc_shop","region":"local","version":[3,43],"endpoints":[{"ip":"10.0.0.5","port":80,"state":"healthy"}]}"#;
    std::fs::write(at("changes.jsonl"), format!("{}{late}\nnonsense\n{late}", CHANGES.trim_start())).unwrap();
    let (exit, out) = asked(dir.path(), "--host Shop.example.com.:80");
    assert_eq!(exit, Exit::Fine, "{out}");
    for line in [
        "  service    svc_shop (custom domain), from the overlay: changes.jsonl, version [1,7]\n",
        "  endpoints  in region local, from the overlay: changes.jsonl, version [3,43]\n",
        "\n  10.0.0.5:80  healthy  yes\n",
        "\nnote: no router was asked: what its guards hold back and how far its feed has come is not in this; --admin asks it",
    ] {
        assert!(out.contains(line), "{line}{out}");
    }
    assert!(!out.contains("10.0.0.1"), "an older set: {out}");
    let (exit, out) = asked(dir.path(), "--host gone.example.com");
    assert!(exit == Exit::WrongInput && out.contains("its tombstone says: transfer"), "{out}");
}
