//! What `ringway explain` tells of a request, by files and by the running router, is what becomes of it.

use std::net::{IpAddr, SocketAddr};
use std::sync::mpsc;

use serde_json::{Value, json};

use crate::support::changes::{append, ask, endpoints, maps, replace, tombstone};
use crate::support::dns::{Dns, Mood};
use crate::support::origin::ok;
use crate::support::*;

/// Runs the command on a configuration; how it ends, and what it says.
#[track_caller]
fn explain(setup_file: &std::path::Path, arguments: &[&str]) -> (i32, String) {
    let config = setup_file.display().to_string();
    let mut line = vec![env!("CARGO_BIN_EXE_ringway"), "explain", "--config", &config];
    line.extend(arguments);
    let output = part::run(&line, "cargo");
    let said = String::from_utf8(output.stdout).unwrap();
    (output.status.code().unwrap_or(-1), said)
}

#[track_caller]
fn told(setup_file: &std::path::Path, arguments: &[&str]) -> Value {
    let (code, said) = explain(setup_file, &[arguments, &["--json"]].concat());
    let told: Value = serde_json::from_str(&said).unwrap_or_else(|_| panic!("{code}: {said}"));
    assert_eq!(code == 1, told["verdict"]["kind"] == "problem", "{code}: {said}");
    told
}

fn one_core() -> Value {
    json!([ringway::runtime::machine::cpus()[0]])
}

/// Method, host, path, field; each is explained by files, by the router, and asked for.
const REQUESTS: &[(&str, &str, &str, &str)] = &[
    ("GET", "a.test", "/", "X-A: b"),
    ("GET", "A.Test.:80", "/a//./b?c=../d", "X-A: b"),
    ("DELETE", "b.test", "/a", "X-A: b"),
    ("GET", "nobody.test", "/", "X-A: b"),
    ("GET", "test", "/", "X-A: b"),
    ("GET", "a.test", "/a%2fb", "X-A: b"),
    ("GET", "a.test", "/..", "X-A: b"),
    ("GET", "a.test", "/a b", "X-A: b"),
    ("GET", "a.test", "a", "X-A: b"),
    ("GET", "b.test", "/a/../b", "X-A: b"),
    ("GET", "b.test", "/.well-known/gateway-health", "X-A: b"),
    ("POST", "b.test", "/", "Content-Length: 11"),
    ("POST", "b.test", "/", "Content-Length: 1, 2"),
    ("OPTIONS", "a.test", "*", "Max-Forwards: 0"),
    ("TRACE", "a.test", "/", "X-A: b"),
    ("GET", "a.test", "http://b.test/", "X-A: b"),
    ("GET", "a.test", "https://a.test/", "X-A: b"),
    ("GET", "a!b", "/", "X-A: b"),
    ("GET", "a.test", "/", "Host: b.test"),
    ("GET", "a.test", "/", "Expect: tea"),
    ("GET", "itself.test", "/", "X-A: b"),
];

#[test]
fn what_is_told_is_what_happens() {
    let (a, b) = (Origin::saying("a"), Origin::saying("b"));
    let setup = Setup::new()
        .service("svc_a", &["a.test"], &[a.address])
        .service("svc_b", &["b.test"], &[b.address])
        .of_service("paths", "strict")
        .of_service("limits", json!({ "request_body_bytes": 10 }))
        .listener("internal_from", json!(["127.0.0.0/8"]));
    let everywhere = SocketAddr::from(([0, 0, 0, 0], setup.address.port()));
    let changes = [
        json!({ "kind": "domain_map", "hostname": "itself.test", "service": "svc_self", "version": 1, "class": "custom" }),
        json!({ "kind": "endpoint_set", "service": "svc_self", "region": "local", "version": 1,
            "endpoints": [{ "ip": everywhere.ip(), "port": everywhere.port(), "state": "healthy" }] }),
    ];
    let at = |name: &str| setup.dir.path().join(name);
    std::fs::write(at("changes"), changes.map(|change| change.to_string()).join("\n")).unwrap();
    let (from, out) = (at("changes").display().to_string(), at("base").display().to_string());
    let build = ["state", "build", "--from", &from, "--out", &out];
    let built = part::run(&[&[env!("CARGO_BIN_EXE_ringway")], &build[..]].concat(), "cargo");
    assert!(built.status.success(), "{built:?}");
    let router = setup.set("state.snapshot", out.clone()).start();
    let file = router.folder().join("edge.yaml");
    for (method, host, path, field) in REQUESTS {
        let asked = ["--method", method, "--host", host, "--path", path, "--header", field];
        let by_files = told(&file, &asked);
        let by_router = told(&file, &[&asked[..], &["--admin"]].concat());
        let head = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\n{field}\r\n\r\n");
        let got = router.connect().ask(&head);
        for told in [by_files, by_router] {
            let verdict = &told["verdict"];
            let status = verdict["status"].as_u64().unwrap_or(200);
            assert_eq!(status, u64::from(got.status), "{head}{told}");
            match verdict["kind"].as_str().unwrap() {
                "forwarded" => assert_eq!(told["service"]["id"], format!("svc_{}", got.text()), "{head}"),
                "problem" => {
                    let kind = format!("urn:ringway:problem:{}", verdict["problem"].as_str().unwrap());
                    assert_eq!(got.problem()["type"], kind, "{head}{told}");
                    let reason = format!("reason=\"{}\"", verdict["reason"].as_str().unwrap());
                    assert!(router.metric_with("ringway_failures_total", &reason) > 0, "{head}{told}");
                }
                _ => assert_ne!(got.text(), "a", "{head}"),
            }
        }
    }
}

#[test]
fn a_running_router_tells_how_its_endpoints_stand() {
    let (going, go) = (mpsc::channel(), mpsc::channel::<()>());
    let (began, wait) = (std::sync::Mutex::new(going.0), std::sync::Mutex::new(go.1));
    let origin = Origin::answering(move |head, _| {
        if head.path() == "/slow" {
            began.lock().unwrap().send(()).unwrap();
            wait.lock().unwrap().recv().unwrap();
        }
        ok("fine")
    });
    let dead = ports::free_address();
    let mut router = Setup::to(&[origin.address, dead]).set("cores", one_core()).start();
    let file = router.folder().join("edge.yaml");
    let ask = |router: &Router| {
        let told = told(&file, &["--host", "a.test", "--admin", &format!("http://{}", router.admin)]);
        let of = |address: SocketAddr| {
            let endpoints = told["endpoints"].as_array().unwrap();
            endpoints.iter().find(|e| e["address"] == address.to_string()).unwrap().clone()
        };
        (told["verdict"]["how"].as_str().unwrap().to_owned(), of(origin.address), of(dead))
    };
    let (how, fine, unmet) = ask(&router);
    assert_eq!(how, "of 2 candidates, the less loaded of two drawn at random");
    let nothing = json!([{ "core": 0, "in_flight": 0, "connections_kept": 0, "failures": 0, "left_alone_ms": 0, "is_last": false }]);
    assert_eq!((&fine["cores"], &unmet["cores"]), (&nothing, &nothing));
    assert_eq!(router.metric("ringway_upstream_connects_total"), 0, "asking connects to nobody");
    // The one that refuses is found out, and told of until it is back.
    wait_until("the dead one was met", || {
        assert_eq!(router.connect().ask("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n").status, 200);
        router.metric("ringway_upstream_connect_failures_total") > 0
    });
    let mut slow = router.connect();
    slow.send("GET /slow HTTP/1.1\r\nHost: a.test\r\n\r\n").unwrap();
    going.1.recv().unwrap();
    let (how, fine, refused) = ask(&router);
    assert_eq!(how, "the only one of 2 candidates that has not failed of late");
    assert_eq!(fine["cores"][0]["in_flight"], 1);
    let live = &refused["cores"][0];
    assert!(live["failures"].as_u64() > Some(0) && live["is_last"] == true, "{refused}");
    assert!(refused["why"].as_str().unwrap().starts_with("failed "), "{refused}");
    assert_eq!(refused["candidate"], true, "it is asked if no other serves");
    go.0.send(()).unwrap();
    assert_eq!(slow.response().unwrap().status, 200);
    wait_until("the connection is kept", || ask(&router).1["cores"][0]["connections_kept"] != 0);
    // A file that was changed and not read again is told of.
    router.change(|setup| setup.set("timeouts.connect", "250ms"));
    let (code, said) = explain(&file, &["--host", "a.test", "--admin"]);
    assert!(code == 0 && said.contains("edge.yaml has other settings for this service"), "{code}: {said}");
    assert!(said.contains("IN FLIGHT") && said.contains("1 core of the running router"), "{said}");
    assert_eq!(router.reload().status, 200);
    let (code, said) = explain(&file, &["--host", "a.test", "--admin"]);
    assert!(code == 0 && !said.contains("note:") && said.contains("250ms"), "{code}: {said}");
}

#[test]
fn names_without_an_address_are_told_of() {
    let dns = Dns::start();
    dns.set("app.test", &["127.0.0.1".parse::<IpAddr>().unwrap()], 60);
    let endpoints = ["app.test:81".to_owned(), "late.test:81".to_owned()];
    let setup = Setup::new()
        .service_at("svc_a", &["a.test"], &endpoints)
        .service_at("svc_b", &["b.test"], &endpoints[1..])
        .set("resolver.servers", json!([dns.address.to_string()]));
    let router = setup.start();
    let file = router.folder().join("edge.yaml");
    for admin in [&[][..], &["--admin"]] {
        let told = |host| told(&file, &[&["--host", host], admin].concat());
        let a = told("a.test");
        let endpoints = a["endpoints"].as_array().unwrap();
        assert_eq!(
            (&endpoints[0]["address"], &endpoints[0]["name"]),
            (&json!("127.0.0.1:81"), &json!("app.test:81"))
        );
        assert_eq!(
            (&endpoints[1]["address"], &endpoints[1]["state"], &endpoints[1]["candidate"]),
            (&json!("late.test:81"), &json!("unresolved"), &json!(false))
        );
        let b = told("b.test");
        assert_eq!(b["verdict"]["status"], 503);
        assert_eq!(b["verdict"]["detail"], "DNS has told no address of late.test:81");
    }
    dns.mood(Mood::Silent);
    assert_eq!(
        told(&file, &["--host", "a.test", "--admin"])["verdict"]["kind"],
        "forwarded",
        "the router knows"
    );
}

#[track_caller]
fn routes(router: &Router, host: &str, status: u16) -> Value {
    let got = router.admin(&format!("/v1/routes?host={host}"));
    assert_eq!(got.status, status, "{}", got.text());
    serde_json::from_str(got.text()).unwrap()
}

/// More than are kept in memory alone.
const MANY: usize = 40_000;

#[test]
fn where_the_table_has_a_host_name_is_told() {
    let _alone = alone();
    let origin = Origin::saying("fine");
    let mapped: String = (0..MANY).map(|n| maps(&format!("h{n}.test"), "svc_a", 1)).collect();
    let router =
        Setup::new().feed(Some(&[endpoints("svc_a", &[origin.address], 1), mapped].concat())).start();
    let (file, changes) = (router.folder().join("edge.yaml"), router.folder().join("changes.jsonl"));
    let record = router.folder().join("state/manifest.json");
    let on_record = |field: &str| -> Value {
        let text = std::fs::read(&record).unwrap_or_default();
        serde_json::from_slice::<Value>(&text).map_or(Value::Null, |record| record[field].clone())
    };
    wait_until("a base is on record", || on_record("base").is_string());
    append(&changes, &tombstone("h7.test", 2));
    wait_until("it holds", || ask(&router, "h7.test") == "404");
    let layers = |host: &str| {
        [&[][..], &["--admin"]].map(|admin| {
            let told = told(&file, &[&["--host", host], admin].concat());
            let expected = if host == "h7.test" { "problem" } else { "forwarded" };
            assert_eq!(told["verdict"]["kind"], expected, "{told}");
            told["host"].clone()
        })
    };
    // By files, the file of changes is on top; the running router has flushed most of it.
    let [by_files, by_router] = layers("h0.test");
    assert_eq!((&by_files["layer"], &by_router["layer"]), (&json!("base"), &json!("base")));
    assert_eq!(by_files["place"], by_router["place"]);
    for stored in layers("h7.test") {
        assert_eq!(stored["layer"], "overlay");
        assert_eq!(
            (&stored["version"], &stored["place"]),
            (&json!([1, 2]), &json!(changes.display().to_string()))
        );
    }
    // What serves it is told without a request, too.
    let serves = routes(&router, "h0.test", 200);
    assert_eq!((&serves["service"]["id"], &serves["answer"]["kind"]), (&json!("svc_a"), &json!("forwarded")));
    assert_eq!((&serves["from"], &serves["paths"]), (&layers("h0.test")[1], &json!("normalize")));
    let endpoint = &serves["endpoints"][0];
    let cores = endpoint["cores"].as_array().unwrap();
    assert_eq!(
        (&endpoint["address"], cores.len()),
        (&json!(origin.address.to_string()), serves["cores"].as_array().unwrap().len())
    );
    assert_eq!(cores[0]["in_flight"], 0);
    let gone = routes(&router, "h7.test", 404);
    assert_eq!(
        (&gone["type"], &gone["reason"]),
        (&json!("urn:ringway:problem:unknown-host"), &json!("tombstoned"))
    );
    assert_eq!(
        (&gone["detail"], &gone["from"]),
        (&json!("its tombstone says: transfer"), &layers("h7.test")[1])
    );
    assert_eq!(routes(&router, "nobody.test", 404)["from"], Value::Null);
    assert_eq!(routes(&router, "a!b", 400)["type"], "urn:ringway:problem:malformed-request");
    assert!(routes(&router, "a%0d%0aHost:b", 422)["error"].as_str().unwrap().contains("control characters"));
    // What stood in a file that is gone is flushed, and read from there after a restart.
    replace(&changes, "");
    wait_until("a level is on record", || {
        on_record("levels").as_array().is_some_and(|levels| levels.len() == 1)
    });
    let router = router.start_again();
    for stored in layers("h7.test") {
        assert_eq!((&stored["layer"], &stored["version"]), (&json!({ "level": 0 }), &json!([1, 2])));
        assert!(stored["place"].as_str().unwrap().ends_with(".snap"), "{stored}");
    }
    drop(router);
}
