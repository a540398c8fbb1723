//! A sender that empties everything by mistake: it takes a share a minute, and nobody's tombstone waits for it.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::changes::{append, ask, endpoints, maps, replace, tombstone};
use crate::support::*;

const SERVICES: usize = 1_000;
/// What may be emptied in a minute.
const SHARE: usize = 100;

fn host(n: usize) -> String {
    format!("h{n}.test")
}

fn router(origin: &Origin) -> Router {
    let of = |n: usize| {
        let service = format!("svc_{n}");
        [maps(&host(n), &service, 1), endpoints(&service, &[origin.address], 1)].concat()
    };
    Setup::new().feed(Some(&(0..SERVICES).map(of).collect::<String>())).start()
}

fn emptied(version: u64) -> String {
    (0..SERVICES).map(|n| endpoints(&format!("svc_{n}"), &[], version)).collect()
}

fn holding(router: &Router) -> u64 {
    router.metric("ringway_guard_holding")
}

/// Runs `ringway guards` on a running router; how it ends, and what it says.
#[track_caller]
fn guards(router: &Router, arguments: &[&str]) -> (Option<i32>, String) {
    let admin = format!("http://{}", router.admin);
    let line = [&[env!("CARGO_BIN_EXE_ringway"), "guards"], arguments, &["--admin", &admin]].concat();
    let output = part::run(&line, "cargo");
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

#[track_caller]
fn acknowledge(router: &Router, what: &[&str]) {
    let (code, said) = guards(router, &[&["acknowledge"], what].concat());
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn a_bug_that_empties_all_services_takes_a_share_and_no_tombstone_waits() {
    let origin = Origin::saying("fine");
    let router = router(&origin);
    let file = router.folder().join("changes.jsonl");
    let began = Instant::now();
    append(&file, &[emptied(2), tombstone("h999.test", 2)].concat());
    wait_until("the tombstone holds", || ask(&router, "h999.test") == "404");
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    wait_until("the rest is held", || holding(&router) == (SERVICES - SHARE) as u64);
    assert!(began.elapsed() < Duration::from_secs(10), "the alarm comes late: {:?}", began.elapsed());
    let served = (0..SERVICES - 1).filter(|n| ask(&router, &host(*n)) == "fine").count();
    assert_eq!(served, SERVICES - SHARE - 1);
    assert!(router.part.said().contains("a guard holds changes of endpoints back"), "{}", router.part.said());
    let (code, said) = guards(&router, &["list", "--json"]);
    let shown: Value = serde_json::from_str(&said).unwrap_or_else(|_| panic!("{code:?}: {said}"));
    let rule = shown["guards"].as_array().unwrap().iter().find(|guard| guard["id"] == "emptied").unwrap();
    assert_eq!((code, &rule["held"]), (Some(0), &Value::from(SERVICES - SHARE)));
    assert!(rule["keys"].as_array().unwrap().len() > 1, "{rule}");
    let (_, said) = guards(&router, &["list"]);
    assert!(said.contains("as there is room") && said.contains("eps:svc_"), "{said}");

    // The sender is mended: a newer value wins over what is held.
    append(&file, &endpoints("svc_500", &[origin.address], 3));
    wait_until("it is no longer held", || holding(&router) == (SERVICES - SHARE) as u64 - 1);
    assert_eq!(ask(&router, "h500.test"), "fine");
    // Of one service it was meant.
    acknowledge(&router, &["--service", "svc_600"]);
    wait_until("it is applied", || ask(&router, "h600.test") == "503");
    assert_eq!(ask(&router, "h601.test"), "fine");
    // And of all, but that the whole fleet goes is another matter.
    acknowledge(&router, &["emptied"]);
    wait_until("half of the fleet is left", || {
        router.metric_with("ringway_guard_holding", "rule=\"emptied\"") == 0 && holding(&router) > 0
    });
    let served = (0..SERVICES - 1).filter(|n| ask(&router, &host(*n)) == "fine").count();
    assert!((SERVICES / 2 - 2..=SERVICES / 2).contains(&served), "{served}");
    acknowledge(&router, &["fleet"]);
    wait_until("nothing is held", || holding(&router) == 0);
    wait_until("all is applied", || ask(&router, "h998.test") == "503");
    assert_eq!(ask(&router, "h500.test"), "fine");
}

#[test]
fn what_is_held_outlives_the_process_and_its_place_in_the_file() {
    let origin = Origin::saying("fine");
    let router = router(&origin);
    let file = router.folder().join("changes.jsonl");
    append(&file, &emptied(2));
    wait_until("the rest is held", || holding(&router) == (SERVICES - SHARE) as u64);
    replace(&file, "");
    wait_until("it is on record", || {
        let record = std::fs::read(router.folder().join("state/manifest.json")).unwrap_or_default();
        serde_json::from_slice::<Value>(&record).is_ok_and(|record| record["held"].is_string())
    });
    let router = router.start_again();
    // Another process has a share of its own.
    wait_until("the rest is held again", || holding(&router) == (SERVICES - 2 * SHARE) as u64);
    acknowledge(&router, &["emptied"]);
    acknowledge(&router, &["fleet"]);
    wait_until("all is applied", || (0..SERVICES).step_by(99).all(|n| ask(&router, &host(n)) == "503"));
}

/// Addresses that were given up may be another's by then.
#[test]
fn what_was_acknowledged_stays_so_whenever_the_process_is_killed() {
    let (old, new) = (Origin::saying("old"), Origin::saying("new"));
    // A large set, most of which nobody listens on.
    let nobody = (0..23).map(|n| SocketAddr::from(([127, 1, 0, n + 1], 9)));
    let large: Vec<_> = [old.address].into_iter().chain(nobody).collect();
    let begins = [maps("a.test", "svc_a", 1), endpoints("svc_a", &large, 1)].concat();
    let router = Setup::new().feed(Some(&begins)).start();
    let file = router.folder().join("changes.jsonl");
    append(&file, &endpoints("svc_a", &[new.address], 2));
    wait_until("it is held", || holding(&router) == 1);
    acknowledge(&router, &["--service", "svc_a"]);
    // At once, when it has been applied, and when it has been served for a while.
    let mut router = router.start_again();
    for _ in 0..2 {
        wait_until("it is applied", || ask(&router, "a.test") == "new");
        router = router.start_again();
        assert!((0..10).all(|_| ask(&router, "a.test") == "new"), "{}", router.part.said());
        assert_eq!(holding(&router), 0);
    }
    // It is meant for ten minutes, and no restart ends them.
    let again = [endpoints("svc_a", &large, 3), endpoints("svc_a", &[new.address], 4)].concat();
    append(&file, &[again, maps("b.test", "svc_a", 1)].concat());
    wait_until("it is read", || ask(&router, "b.test") != "404");
    wait_until("it is applied", || ask(&router, "b.test") == "new");
    assert_eq!(holding(&router), 0);
}

/// R-126, as the router's operator sees it.
#[test]
fn a_fall_by_half_is_applied_and_by_more_when_somebody_says_so() {
    // Sets too small to be guarded one by one, of which none is emptied.
    let set = |service: usize, endpoints: u16, version| {
        let address = |n| SocketAddr::from(([127, 0, 0, 1], 1_000 + n));
        endpoints_of(service, (0..endpoints).map(address).collect(), version)
    };
    let begins = (0..100).map(|service| set(service, 10, 1)).collect::<String>();
    let router = Setup::new().feed(Some(&begins)).start();
    let file = router.folder().join("changes.jsonl");
    append(&file, &(0..98).map(|service| set(service, 5, 2)).collect::<String>());
    router.wait_metric("ringway_feed_applied_total", 198);
    assert_eq!(holding(&router), 0);
    append(&file, &set(98, 3, 2));
    router.wait_metric("ringway_feed_applied_total", 199);
    append(&file, &set(99, 5, 2));
    wait_until("it is held", || router.metric_with("ringway_guard_holding", "rule=\"fleet\"") == 1);
    let (_, said) = guards(&router, &["list"]);
    assert!(said.contains("eps:svc_99/local"), "{said}");
    assert_eq!(router.metric("ringway_feed_applied_total"), 199);
    acknowledge(&router, &["fleet"]);
    router.wait_metric("ringway_feed_applied_total", 200);
    assert_eq!(router.metric("ringway_guard_released_total"), 1);
}

fn endpoints_of(service: usize, addresses: Vec<SocketAddr>, version: u64) -> String {
    endpoints(&format!("svc_{service}"), &addresses, version)
}

#[test]
fn who_lets_go_is_told_of_a_service_that_nobody_knows_and_sees_at_once_what_is_held() {
    // A large set, most of which is lost.
    let large: Vec<_> = (1..=24).map(|n| SocketAddr::from(([127, 1, 0, n], 9))).collect();
    let begins = [maps("a.test", "svc_a", 1), endpoints("svc_a", &large, 1)].concat();
    let router = Setup::new().feed(Some(&begins)).start();
    append(&router.folder().join("changes.jsonl"), &endpoints("svc_a", &large[..1], 2));
    wait_until("it is held", || holding(&router) == 1);
    let acknowledge = |service| guards(&router, &["acknowledge", "--service", service]);
    let (code, said) = acknowledge("svc_b");
    assert!(code == Some(0) && said.contains("no such service"), "{code:?}: {said}");
    assert_eq!(holding(&router), 1);
    let (code, said) = acknowledge("svc_a");
    assert!(code == Some(0) && !said.contains("no such service"), "{code:?}: {said}");
    wait_until("it is applied", || router.metric("ringway_feed_applied_total") == 3);
    // The feed applies, and then shows: within a turn of its thread.
    let applied = Instant::now();
    wait_until("it is shown so", || holding(&router) == 0);
    assert!(applied.elapsed() < Duration::from_millis(500), "{:?}", applied.elapsed());
}

#[test]
fn without_a_feed_nothing_is_guarded() {
    let router = Setup::to(&[Origin::saying("fine").address]).start();
    assert_eq!(router.admin("/v1/guards").json()["guards"], serde_json::json!([]));
    let (code, said) = guards(&router, &["list"]);
    assert!(code == Some(0) && said.contains("changes come from no feed"), "{said}");
    let (code, said) = guards(&router, &["acknowledge", "fleet"]);
    assert!(code == Some(1) && said.contains("nothing is guarded"), "{said}");
    let (code, said) = guards(&router, &["acknowledge", "--service", "a b/c"]);
    assert!(code == Some(2) && said.is_empty(), "{code:?}: {said}");
    let post =
        "POST /v1/guards/services/a%20b/acknowledge HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n";
    let refused = Wire::connect(router.admin).ask(post);
    assert!(refused.status == 404 && refused.text().contains("no service's id"), "{}", refused.text());
}
