//! Changes from a file, while it grows, is replaced, goes, and comes back.

use std::path::PathBuf;

use crate::support::changes::{append, ask, endpoints, maps, removes, replace, tombstone};
use crate::support::*;

fn file(router: &Router) -> PathBuf {
    router.folder().join("changes.jsonl")
}

#[track_caller]
fn wait_served(router: &Router, host: &str, wanted: &str) {
    wait_until(&format!("{host} leads to {wanted}"), || ask(router, host) == wanted);
}

#[test]
fn a_file_is_read_before_ready_and_followed() {
    let (one, two) = (Origin::saying("one"), Origin::saying("two"));
    let begins = [maps("a.test", "svc_a", 1), endpoints("svc_a", &[one.address], 1)].concat();
    let router = Setup::new().feed(Some(&begins)).start();
    // Known before the router is ready.
    assert_eq!((ask(&router, "a.test"), ask(&router, "b.test")), ("one".into(), "404".into()));

    append(&file(&router), &endpoints("svc_a", &[two.address], 2));
    wait_served(&router, "a.test", "two");
    // An older version changes nothing; the one behind it tells that it was read.
    append(&file(&router), &[endpoints("svc_a", &[one.address], 1), maps("b.test", "svc_a", 1)].concat());
    wait_served(&router, "b.test", "two");
    assert_eq!(ask(&router, "a.test"), "two");

    // A line counts when it has ended.
    let line = tombstone("b.test", 2);
    let (begin, end) = line.split_at(line.len() / 2);
    append(&file(&router), begin);
    append(&file(&router).with_file_name("other"), "nothing to do with it");
    assert_eq!(ask(&router, "b.test"), "two");
    append(&file(&router), end.trim_end());
    pause(std::time::Duration::from_millis(20));
    assert_eq!(ask(&router, "b.test"), "two");
    append(&file(&router), "\n");
    wait_served(&router, "b.test", "404");
    append(&file(&router), &removes("a.test", 2));
    wait_served(&router, "a.test", "404");

    assert_eq!(router.metric("ringway_feed_lines_total"), 7);
    assert_eq!(router.metric("ringway_feed_applied_total"), 6);
    assert_eq!(router.metric("ringway_feed_stale_total"), 1);
    router.wait_metric("ringway_feed_visible_duration_seconds_count", 6);
    assert_eq!(router.metric("ringway_table_overlay_keys"), 3);
}

#[test]
fn a_replaced_file_is_more_log_and_removes_nothing() {
    let (one, two) = (Origin::saying("one"), Origin::saying("two"));
    let begins = [maps("a.test", "svc_a", 1), endpoints("svc_a", &[one.address], 1)].concat();
    let router = Setup::new().feed(Some(&begins)).start();
    let second = [maps("b.test", "svc_b", 1), endpoints("svc_b", &[two.address], 1)].concat();
    replace(&file(&router), &second);
    wait_served(&router, "b.test", "two");
    assert_eq!(ask(&router, "a.test"), "one");
    // Cut and written anew in its place.
    std::fs::write(file(&router), endpoints("svc_a", &[two.address], 2)).unwrap();
    wait_served(&router, "a.test", "two");
    // Gone, and here again with what was and more.
    std::fs::remove_file(file(&router)).unwrap();
    wait_until("it is told", || router.part.said().contains("cannot be read; it is waited for"));
    assert_eq!((ask(&router, "a.test"), router.admin("/readyz").status), ("two".into(), 200));
    append(&file(&router), &[second, maps("c.test", "svc_b", 1)].concat());
    wait_served(&router, "c.test", "two");
    assert_eq!(ask(&router, "b.test"), "two");
}

#[test]
fn a_router_waits_for_its_file_and_says_so() {
    let origin = Origin::saying("fine");
    let router = Setup::new().feed(None).launch();
    let why = wait_for("it says why it is not ready", wait::PATIENCE, || {
        std::net::TcpStream::connect(router.admin).ok()?;
        let got = router.admin("/readyz");
        got.text().contains("it is waited for").then_some(got)
    });
    assert_eq!(why.status, 503);
    assert!(why.text().contains("changes.jsonl"), "{}", why.text());
    append(&file(&router), &[maps("a.test", "svc_a", 1), endpoints("svc_a", &[origin.address], 1)].concat());
    wait_until("it is ready", || router.admin("/readyz").status == 200);
    assert_eq!(ask(&router, "a.test"), "fine");
}

#[test]
fn settings_are_reloaded_and_the_table_stays() {
    let origin = Origin::saying("fine");
    let begins = [maps("a.test", "svc_a", 1), endpoints("svc_a", &[origin.address], 1)].concat();
    let mut router = Setup::new().feed(Some(&begins)).start();
    append(&file(&router), &maps("b.test", "svc_a", 1));
    wait_served(&router, "b.test", "fine");
    router.change(|setup| setup.set("limits.target_bytes", 64));
    assert_eq!(router.reload().status, 200);
    assert_eq!((ask(&router, "a.test"), ask(&router, "b.test")), ("fine".into(), "fine".into()));
    let long = format!("GET /{} HTTP/1.1\r\nHost: a.test\r\n\r\n", "x".repeat(64));
    assert_eq!(router.connect().ask(long).status, 414);
    append(&file(&router), &tombstone("a.test", 2));
    wait_served(&router, "a.test", "404");
    // Another feed takes a restart, and its services with it.
    router.change(|setup| {
        setup.set("state.feed", serde_json::json!({ "kind": "inline" })).service(
            "svc_b",
            &["c.test"],
            &[origin.address],
        )
    });
    let told = router.reload();
    assert_eq!(told.status, 200, "{}", told.text());
    assert!(told.text().contains("state.feed.kind"), "{}", told.text());
    assert_eq!((ask(&router, "b.test"), ask(&router, "c.test")), ("fine".into(), "404".into()));
}

#[test]
fn a_burst_is_taken_whole() {
    const CHANGES: usize = 50_000;
    let _alone = alone();
    let origin = Origin::saying("fine");
    let router = Setup::new().feed(Some(&endpoints("svc_a", &[origin.address], 1))).start();
    let burst: String = (0..CHANGES).map(|n| maps(&format!("h{n}.test"), "svc_a", 1)).collect();
    let began = std::time::Instant::now();
    append(&file(&router), &burst);
    router.wait_metric("ringway_feed_applied_total", CHANGES as u64 + 1);
    println!("{CHANGES} changes taken in within {:?}", began.elapsed());
    wait_served(&router, &format!("h{}.test", CHANGES - 1), "fine");
    for n in (0..CHANGES).step_by(997) {
        assert_eq!(ask(&router, &format!("h{n}.test")), "fine");
    }
    assert_eq!(router.metric("ringway_feed_full_total"), 0);
}

/// As an editor does, or a program that writes the same file again.
#[test]
fn a_file_that_is_written_over_in_its_place_is_noticed() {
    let origins = ["one", "two"].map(Origin::saying);
    let sets: String = ["svc_a", "svc_b"]
        .iter()
        .zip(&origins)
        .map(|(id, origin)| endpoints(id, &[origin.address], 1))
        .collect();
    let others: String = (0..1_000).map(|n| maps(&format!("h{n}.test"), "svc_a", 1)).collect();
    let text = |service, version| [maps("a.test", service, version), sets.clone(), others.clone()].concat();
    let router = Setup::new().feed(Some(&text("svc_a", 1))).start();
    let file = router.folder().join("changes.jsonl");
    assert_eq!(ask(&router, "a.test"), "one");
    let overwrite = |service, version| {
        let mut file = std::fs::File::options().write(true).open(&file).unwrap();
        std::io::Write::write_all(&mut file, text(service, version).as_bytes()).unwrap();
    };
    overwrite("svc_b", 2);
    wait_until("what it says is served", || ask(&router, "a.test") == "two");
    assert!(router.part.said().contains("the feed's file was written anew"), "{}", router.part.said());
    // And while there is no router.
    wait_until("what was read is on record", || {
        let record = std::fs::read_to_string(router.folder().join("state/manifest.json"));
        record.is_ok_and(|record| record.contains("offset"))
    });
    let mut router = router.launch_again(|_| overwrite("svc_a", 3));
    router.wait_ready();
    assert_eq!(ask(&router, "a.test"), "one");
}
