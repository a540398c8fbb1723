//! A sender that empties everything by mistake: it takes a share a minute, and nobody's tombstone waits for it.

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

fn acknowledge(router: &Router, rule: &str) -> u16 {
    let request =
        format!("POST /v1/guards/{rule}/acknowledge HTTP/1.1\r\nHost: admin\r\nContent-Length: 0\r\n\r\n");
    Wire::connect(router.admin).ask(request).status
}

#[test]
fn a_bug_that_empties_all_services_takes_a_share_and_no_tombstone_waits() {
    let origin = Origin::saying("fine");
    let router = router(&origin);
    let file = router.folder().join("changes.jsonl");
    append(&file, &[emptied(2), tombstone("h999.test", 2)].concat());
    wait_until("the tombstone holds", || ask(&router, "h999.test") == "404");
    wait_until("the rest is held", || holding(&router) == (SERVICES - SHARE) as u64);
    let served = (0..SERVICES - 1).filter(|n| ask(&router, &host(*n)) == "fine").count();
    assert_eq!(served, SERVICES - SHARE - 1);
    assert!(router.part.said().contains("a guard holds changes of endpoints back"), "{}", router.part.said());
    let shown: Value = router.admin("/v1/guards").json();
    let rule = shown["guards"].as_array().unwrap().iter().find(|guard| guard["id"] == "emptied").unwrap();
    assert_eq!(rule["held"], SERVICES - SHARE);
    assert!(rule["keys"].as_array().unwrap().len() > 1, "{rule}");

    // The sender is mended: a newer value wins over what is held.
    append(&file, &endpoints("svc_500", &[origin.address], 3));
    wait_until("it is no longer held", || holding(&router) == (SERVICES - SHARE) as u64 - 1);
    assert_eq!(ask(&router, "h500.test"), "fine");
    // It was meant, but that the whole fleet goes is another matter.
    assert_eq!((acknowledge(&router, "emptied"), acknowledge(&router, "no_such")), (202, 404));
    wait_until("half of the fleet is left", || {
        router.metric_with("ringway_guard_holding", "rule=\"emptied\"") == 0 && holding(&router) > 0
    });
    let served = (0..SERVICES - 1).filter(|n| ask(&router, &host(*n)) == "fine").count();
    assert!((SERVICES / 2 - 2..=SERVICES / 2).contains(&served), "{served}");
    assert_eq!(acknowledge(&router, "fleet"), 202);
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
    assert_eq!((acknowledge(&router, "emptied"), acknowledge(&router, "fleet")), (202, 202));
    wait_until("all is applied", || (0..SERVICES).step_by(99).all(|n| ask(&router, &host(n)) == "503"));
}

#[test]
fn without_a_feed_nothing_is_guarded() {
    let router = Setup::to(&[Origin::saying("fine").address]).start();
    assert_eq!(acknowledge(&router, "fleet"), 409);
    assert_eq!(router.admin("/v1/guards").json()["guards"], serde_json::json!([]));
}
