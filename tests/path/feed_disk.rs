//! A disk that takes nothing costs no request and no change: what is known is served, it is told, and used when it has room.

use std::path::PathBuf;

use serde_json::Value;

use crate::support::changes::{append, ask, endpoints, maps, tombstone};
use crate::support::*;

/// More than are kept in memory alone.
const MANY: usize = 40_000;

/// Starts what follows where `state` is a disk of its own, of which `more` has been done.
fn on_a_disk(setup: Setup, more: &str) -> Setup {
    let script = format!("mkdir -p state && mount -t tmpfs -o size=8m tmpfs state && {more} && exec \"$@\"");
    setup.under(["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", &script, "sh"])
}

/// A file of that disk.
fn on_disk(router: &Router, name: &str) -> PathBuf {
    let folder = router.folder().display().to_string();
    PathBuf::from(format!("/proc/{}/root{folder}/state/{name}", router.part.pid()))
}

#[test]
fn a_full_disk_is_told_of_and_used_when_it_has_room() {
    let _alone = alone();
    let origin = Origin::saying("fine");
    let setup = Setup::new().feed(Some(&endpoints("svc_a", &[origin.address], 1)));
    // Until nothing more goes in.
    let router = on_a_disk(setup, "! dd if=/dev/zero of=state/filler bs=4k status=none").start();
    let file = router.folder().join("changes.jsonl");
    // Neither what is refused nor what is more than memory should hold finds room.
    append(&file, "no change\n");
    append(&file, &(0..MANY).map(|n| maps(&format!("h{n}.test"), "svc_a", 1)).collect::<String>());
    wait_until("it fails", || router.metric("ringway_table_chores_failed_total") > 1);
    wait_until("all is served from memory", || ask(&router, "h39999.test") == "fine");
    append(&file, &tombstone("h7.test", 2));
    wait_until("changes go on", || ask(&router, "h7.test") == "404");
    let said = router.part.said();
    assert!(said.contains("No space left on device") && said.contains("it is tried again"), "{said}");
    assert_eq!(router.metric_with("ringway_feed_quarantined_total", "outcome=\"not_kept\""), 1);
    assert!(said.contains("state.dir takes no refused changes"), "{said}");

    std::fs::remove_file(on_disk(&router, "filler")).unwrap();
    wait_until("it is on record", || {
        let record = std::fs::read(on_disk(&router, "manifest.json")).unwrap_or_default();
        serde_json::from_slice::<Value>(&record).is_ok_and(|record| record["next"] != 0)
    });
    append(&file, "no change\n");
    router.wait_metric("ringway_feed_refused_total", 2);
    wait_until("it is kept", || {
        router.metric_with("ringway_feed_quarantined_total", "outcome=\"kept\"") == 1
    });
    assert_eq!(["h0.test", "h7.test", "h39999.test"].map(|host| ask(&router, host)), ["fine", "404", "fine"]);
}

/// So is a limit on the size of files (RLIMIT_FSIZE), with which the router starts again, too.
#[test]
fn files_that_may_not_grow_are_told_of_and_made_when_they_may() {
    let _alone = alone();
    let origin = Origin::saying("fine");
    let setup = Setup::new().feed(Some(&endpoints("svc_a", &[origin.address], 1)));
    let mut router = setup.under(["prlimit", "--fsize=65536:unlimited"]).start();
    let file = router.folder().join("changes.jsonl");
    append(&file, &(0..MANY).map(|n| maps(&format!("h{n}.test"), "svc_a", 1)).collect::<String>());
    for _ in 0..2 {
        wait_until("it fails", || router.metric("ringway_table_chores_failed_total") > 0);
        wait_until("all is served from memory", || ask(&router, "h39999.test") == "fine");
        let said = router.part.said();
        assert!(said.contains("File too large") && said.contains("it is tried again"), "{said}");
        router = router.start_again();
    }
    append(&file, &tombstone("h7.test", 2));
    wait_until("changes go on", || ask(&router, "h7.test") == "404");
    // What is refused is kept until its file is as large as it may be.
    let refused = format!("{}\n", "no change ".repeat(1_000));
    append(&file, &refused.repeat(10));
    router.wait_metric("ringway_feed_refused_total", 10);
    wait_until("some are kept, and some are not", || {
        let count = |outcome| router.metric_with("ringway_feed_quarantined_total", outcome);
        let (kept, not) = (count("outcome=\"kept\""), count("outcome=\"not_kept\""));
        kept > 0 && not > 0 && kept + not == 10
    });
    let kept = std::fs::read_to_string(router.folder().join("state/quarantine.jsonl")).unwrap();
    assert!(kept.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "whole lines");

    let pid = router.part.pid().to_string();
    let lifted = part::run(&["prlimit", "--pid", &pid, "--fsize=unlimited"], "util-linux");
    assert!(lifted.status.success(), "{lifted:?}");
    wait_until("it is on record", || {
        let record = std::fs::read(router.folder().join("state/manifest.json")).unwrap_or_default();
        serde_json::from_slice::<Value>(&record).is_ok_and(|record| record["next"] != 0)
    });
    assert_eq!(["h0.test", "h7.test", "h39999.test"].map(|host| ask(&router, host)), ["fine", "404", "fine"]);
}

#[test]
fn a_disk_that_cannot_be_written_is_named_at_the_start() {
    let setup = on_a_disk(Setup::new().feed(Some("")), "mount -o remount,ro state");
    let mut router = setup.launch();
    assert_eq!(router.part.wait_exit(wait::PATIENCE).code(), Some(1));
    let said = router.part.said();
    assert!(said.contains("edge.yaml:") && said.contains("Read-only file system"), "{said}");
    assert!(said.contains("let this user write to it, or name another folder"), "{said}");
}
