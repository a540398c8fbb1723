//! The configuration read again while the router serves.

use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::origin::ok;
use crate::support::*;

const GET: &str = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";

/// The events of the process log with this message.
fn events(router: &Router, message: &str) -> Vec<Value> {
    let said = router.part.said();
    let lines = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter(|event| event["message"] == message).collect()
}

#[test]
fn a_service_and_a_timeout_by_sighup() {
    let origin = Origin::saying("fine");
    let mut router = Setup::to(&[origin.address]).start();
    let mut client = router.connect();
    let b = "GET / HTTP/1.1\r\nHost: b.test\r\n\r\n";
    assert_eq!((client.ask(GET).status, client.ask(b).status), (200, 404));
    router.change(|setup| setup.set("timeouts.idle", "5s").service("svc_b", &["b.test"], &[origin.address]));
    router.part.signal("HUP");
    wait_until("it was read again", || !events(&router, "the configuration was read again").is_empty());
    // The connection of before goes on, and gets what is new.
    assert_eq!((client.ask(GET).status, client.ask(b).status), (200, 200));
    let event = events(&router, "the configuration was read again").remove(0);
    assert_eq!(event["ringway.changed"], json!(["services[svc_b]: added", "timeouts.idle: (default) -> 5s"]));
    assert_eq!(event["ringway.needs_restart"], json!([]));
    assert_eq!(router.metric_with("ringway_config_reloads_total", "applied"), 1);
}

/// Nobody writes into it, so that reading would wait for ever, and every later reload behind it.
#[test]
fn a_pipe_in_the_file_s_place_is_refused_and_a_file_read_again() {
    let origin = Origin::saying("fine");
    let mut router = Setup::to(&[origin.address]).start();
    let file = router.folder().join("edge.yaml");
    let right = std::fs::read(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    assert!(part::run(&["mkfifo", &file.display().to_string()], "coreutils").status.success());
    let told = router.reload();
    assert_eq!(told.status, 422, "{}", told.text());
    assert!(told.text().contains("is a pipe or a device; put a regular file there"), "{}", told.text());
    std::fs::remove_file(&file).unwrap();
    std::fs::write(&file, right).unwrap();
    router.change(|setup| setup.set("timeouts.idle", "5s"));
    assert_eq!(router.reload().status, 200);
    assert_eq!(router.connect().ask(GET).status, 200);
}

#[test]
fn what_needs_a_restart_is_said_and_left() {
    let origin = Origin::saying("fine");
    let mut router = Setup::to(&[origin.address]).start();
    router.change(|setup| setup.set("node.region", "mars").set("limits.head_fields", 16));
    let told = router.reload();
    assert_eq!((told.status, told.json()["applied"].clone()), (200, json!(true)));
    assert_eq!(told.json()["changed"], json!(["limits.head_fields: (default) -> 16"]));
    assert_eq!(told.json()["needs_restart"], json!(["node.region: (default) -> mars"]));
    // Endpoints of the region that it started in are still used, and the new limit holds.
    assert_eq!(router.connect().ask(GET).status, 200);
    let many = (0..16).map(|n| format!("x-{n}: 1\r\n")).collect::<String>();
    let crowded = format!("GET / HTTP/1.1\r\nHost: a.test\r\n{many}\r\n");
    assert_eq!(router.connect().ask(crowded).status, 431);
    assert_eq!(router.metric("ringway_config_restart_needed"), 1);
}

#[test]
fn a_wrong_file_changes_nothing_and_every_mistake_is_named() {
    let origin = Origin::saying("fine");
    let mut router = Setup::to(&[origin.address]).start();
    let file = router.folder().join("edge.yaml");
    let right = std::fs::read_to_string(&file).unwrap();
    let wrong = format!(
        "{}\n",
        right.replace("\"a.test\"", "\"b.test\", \"-\"").replace("\"idle\": \"park\"", "\"idle\": \"prk\"")
    );
    std::fs::write(&file, wrong).unwrap();
    let told = router.reload();
    assert_eq!(told.status, 422);
    let mistakes = told.json()["mistakes"].as_array().unwrap().clone();
    assert_eq!(mistakes.len(), 2, "{mistakes:?}");
    for mistake in &mistakes {
        let mistake = mistake.as_str().unwrap();
        let place =
            mistake.strip_prefix(&format!("{}:", file.display())).unwrap_or_else(|| panic!("{mistake}"));
        assert!(place.split(':').next().unwrap().parse::<usize>().is_ok(), "{mistake}");
        assert_eq!(events(&router, mistake).len(), 1, "the process log names it too");
    }
    assert_eq!(router.connect().ask(GET).status, 200);
    // A file that is right and asks for what cannot be had is as good as wrong.
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    std::fs::write(&file, &right).unwrap();
    router.change(|setup| {
        let also = json!({ "address": taken.local_addr().unwrap().to_string(), "protocol": "http" });
        setup.also_listen(also).service("svc_b", &["b.test"], &[origin.address])
    });
    let told = router.reload();
    assert_eq!(told.status, 422, "{}", told.text());
    assert!(told.text().contains("cannot listen on"), "{}", told.text());
    assert_eq!(router.connect().ask("GET / HTTP/1.1\r\nHost: b.test\r\n\r\n").status, 404);
    assert_eq!(router.metric_with("ringway_config_reloads_total", "refused"), 2);
    std::fs::remove_file(&file).unwrap();
    assert!(router.reload().text().contains("cannot be read"));
    assert_eq!(router.connect().ask(GET).status, 200);
}

#[test]
fn listeners_come_and_go() {
    let origin = Origin::answering(|head, _| ok(head.all("x-forwarded-for").join(",")));
    let mut router = Setup::to(&[origin.address]).start();
    let other = ports::free_address();
    router.change(|setup| setup.also_listen(json!({ "address": other.to_string(), "protocol": "http" })));
    assert_eq!(router.reload().status, 200);
    let claim = "GET / HTTP/1.1\r\nHost: a.test\r\nX-Forwarded-For: 192.0.2.9\r\n\r\n";
    let (mut kept, mut leaving) = (router.connect(), Wire::connect(other));
    assert_eq!((kept.ask(claim).text(), leaving.ask(claim).text()), ("127.0.0.1", "127.0.0.1"));
    // Whom a listener trusts changes for the connections that it has.
    router.change(|setup| setup.listener("trusted_proxies", json!(["127.0.0.0/8"])));
    assert_eq!(router.reload().status, 200);
    assert_eq!((kept.ask(claim).text(), leaving.ask(claim).text()), ("192.0.2.9, 127.0.0.1", "127.0.0.1"));
    router.change(Setup::listen_once);
    assert_eq!(router.reload().status, 200);
    assert!(TcpStream::connect(other).is_err(), "it still listens");
    // A connection that it has gets one more answer; the other listener's go on.
    let last = leaving.ask(GET);
    assert_eq!((last.status, last.head.get("connection")), (200, Some("close")));
    assert_eq!(leaving.end(), Cut::Closed);
    assert_eq!(kept.ask(GET).head.get("connection"), None);
    // The address can be had again, however soon.
    for _ in 0..10 {
        router.change(|setup| setup.also_listen(json!({ "address": other.to_string(), "protocol": "http" })));
        let told = router.reload();
        assert_eq!(told.status, 200, "{}", told.text());
        assert_eq!(Wire::connect(other).ask(GET).status, 200);
        router.change(Setup::listen_once);
        assert_eq!(router.reload().status, 200);
    }
}

/// Clients that connect while their listener goes away are refused, or served: none is cut off.
#[test]
fn who_has_connected_is_served_by_a_listener_that_goes_away() {
    let origin = Origin::saying("fine");
    let mut router = Setup::to(&[origin.address]).start();
    let other = ports::free_address();
    let also = json!({ "address": other.to_string(), "protocol": "http" });
    let (stop, served, refused) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !stop.load(Ordering::Acquire) {
                    match TcpStream::connect(other) {
                        Ok(stream) => assert_eq!(Wire::new(stream).ask(GET).status, 200),
                        Err(_) => drop(refused.fetch_add(1, Ordering::AcqRel)),
                    }
                    served.fetch_add(1, Ordering::AcqRel);
                }
            });
        }
        for _ in 0..3 {
            router.change(|setup| setup.also_listen(also.clone()));
            assert_eq!(router.reload().status, 200);
            let before = served.load(Ordering::Acquire);
            wait_until("clients are served", || served.load(Ordering::Acquire) > before + 50);
            router.change(Setup::listen_once);
            assert_eq!(router.reload().status, 200);
        }
        stop.store(true, Ordering::Release);
    });
    assert!(refused.load(Ordering::Acquire) > 0, "it went away");
}

/// It has lost its service, as by a tombstone. One that moves within the file finishes what is open.
#[test]
fn what_is_open_for_a_host_that_leaves_the_file_is_cut() {
    let (other, third) = (Origin::saying("fine"), Origin::saying("third"));
    let origin = Origin::start(|mut visit| {
        while let Ok(head) = visit.head() {
            if head.start.starts_with("GET /once") {
                visit.say(ok("once"));
                continue;
            }
            visit.say("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nbegin");
            return visit.wait_for_end();
        }
    });
    let of = |setup: Setup, all: bool| match all {
        true => setup.services(&[
            ("svc_a", &["a.test", "m.test"], &[origin.address]),
            ("svc_b", &["b.test"], &[other.address]),
        ]),
        false => setup
            .services(&[("svc_b", &["b.test"], &[other.address]), ("svc_c", &["m.test"], &[third.address])]),
    };
    let mut router = of(Setup::new(), true).start();
    let get = |path: &str, host: &str| format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
    let begun = |host: &str| {
        let mut client = router.connect();
        client.send(get("/", host)).unwrap();
        assert_eq!(client.response_head().unwrap().0, 200);
        client
    };
    let (mut open, moved) = (begun("a.test"), begun("m.test"));
    let (mut idle, mut bystander) = (router.connect(), router.connect());
    assert_eq!(idle.ask(get("/once", "a.test")).text(), "once");
    assert_eq!(bystander.ask(get("/", "b.test")).text(), "fine");

    router.change(|setup| of(setup, false));
    let began = Instant::now();
    assert_eq!(router.reload().status, 200);
    assert_eq!(open.rest().err(), Some(Cut::Reset));
    assert!(matches!(idle.end(), Cut::Closed | Cut::Reset));
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    assert_eq!(router.metric_with("ringway_failures_total", "reason=\"host_taken\""), 1);
    assert_eq!(bystander.ask(get("/", "b.test")).text(), "fine");
    assert_eq!(router.connect().ask(get("/", "a.test")).status, 404);
    assert_eq!(router.connect().ask(get("/", "m.test")).text(), "third");
    // The origin has yet to send the rest.
    assert_eq!(router.metric("ringway_requests_in_flight"), 1);
    drop(moved);
}

/// A host name that moves between two services, under load, with wrong files in between: every request gets an answer, and of
/// one of the two services; a name that does not move never leaves its own.
#[test]
fn reloads_under_load_lose_nothing_and_mix_no_tenants() {
    let _alone = alone();
    let reloads = 100 * soak();
    let origins = ["a", "b", "c"].map(Origin::saying);
    let [a, b, c] = [0, 1, 2].map(|at| origins[at].address);
    let with = |setup: Setup, moved_to_b: bool| {
        let (of_a, of_b): (&[&str], &[&str]) = if moved_to_b {
            (&["a.test"], &["b.test", "m.test"])
        } else {
            (&["a.test", "m.test"], &["b.test"])
        };
        setup.services(&[("svc_a", of_a, &[a]), ("svc_b", of_b, &[b]), ("svc_c", &["c.test"], &[c])])
    };
    let mut router = with(Setup::new(), false).start();
    let (stop, requests) = (AtomicBool::new(false), AtomicU64::new(0));
    let address = router.address;
    thread::scope(|scope| {
        let clients: Vec<_> = ["a.test", "b.test", "m.test", "m.test"]
            .into_iter()
            .map(|host| scope.spawn(|| load(address, host, &stop, &requests)))
            .collect();
        for n in 0..reloads {
            let before = requests.load(Ordering::Acquire);
            let file = router.folder().join("edge.yaml");
            if n % 3 == 2 {
                std::fs::write(&file, "listeners: [").unwrap();
                assert_eq!(router.reload().status, 422);
            }
            router.change(|setup| with(setup, n % 2 == 0).set("timeouts.idle", format!("{}s", 10 + n)));
            let told = router.reload();
            assert_eq!(told.status, 200, "{}", told.text());
            wait_until("clients go on", || requests.load(Ordering::Acquire) > before + 100);
            // What was told is in effect on every core.
            let now = if n % 2 == 0 { "b" } else { "a" };
            for _ in 0..8 {
                let got = Wire::connect(address).ask("GET / HTTP/1.1\r\nHost: m.test\r\n\r\n");
                assert_eq!(got.text(), now);
            }
        }
        stop.store(true, Ordering::Release);
        for client in clients {
            client.join().unwrap();
        }
    });
    assert_eq!(router.metric_with("ringway_config_reloads_total", "applied"), reloads as u64);
    println!("{reloads} reloads, {} requests, none failed", requests.load(Ordering::Acquire));
}

/// Asks on connections of ten requests until told to stop; each answer must be of a service that may have the host.
fn load(address: SocketAddr, host: &str, stop: &AtomicBool, requests: &AtomicU64) {
    let request = format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
    let may: &[&str] = match host {
        "a.test" => &["a"],
        "b.test" => &["b"],
        _ => &["a", "b"],
    };
    while !stop.load(Ordering::Acquire) {
        let mut client = Wire::connect(address);
        for _ in 0..10 {
            let got = client.ask(&request);
            assert_eq!(got.status, 200, "{host}: {}", got.text());
            assert!(may.contains(&got.text()), "{host} got {}", got.text());
            requests.fetch_add(1, Ordering::AcqRel);
        }
    }
}
