//! Changes that are wrong, and a folder that another process has, or has a file of somebody else's.

use serde_json::Value;

use crate::support::changes::{append, endpoints, maps};
use crate::support::*;

#[test]
fn bad_changes_are_told_with_their_place_kept_and_counted_and_good_ones_go_on() {
    let origin = Origin::saying("fine");
    let begins = [maps("a.test", "svc_a", 1), endpoints("svc_a", &[origin.address], 1)].concat();
    let router = Setup::new().feed(Some(&begins)).start();
    let file = router.folder().join("changes.jsonl");
    let overlong = format!("{{\"kind\":\"{}\"}}\n", "x".repeat(1 << 20));
    let bad = [
        "{\"kind\":\n",
        "{\"kind\":\"domain_map\",\"hostname\":\"a..test\",\"service\":\"svc_a\",\"class\":\"custom\",\"version\":9}\n",
        "\u{0}\n",
        &overlong,
        "[1]\n",
    ];
    let unknown = "{\"kind\":\"hologram\",\"version\":1}\n";
    let more = maps("b.test", "svc_a", 1).replace('{', "{\"colour\":\"red\",");
    append(&file, &[&*bad.concat(), unknown, &more].concat());
    wait_until("the good one behind them holds", || {
        router.connect().ask("GET / HTTP/1.1\r\nHost: b.test\r\n\r\n").status == 200
    });
    let refused = |reason| router.metric_with("ringway_feed_refused_total", &format!("reason=\"{reason}\""));
    assert_eq!(["not_json", "malformed", "too_long"].map(refused), [2, 2, 1]);
    assert_eq!(router.metric("ringway_feed_unknown_kinds_total"), 1);
    assert_eq!(router.metric("ringway_feed_unknown_fields_total"), 1);
    assert_eq!(router.metric_with("ringway_feed_quarantined_total", "outcome=\"kept\""), 5);
    let kept = std::fs::read_to_string(router.folder().join("state/quarantine.jsonl")).unwrap();
    let kept: Vec<Value> = kept.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let lines: Vec<u64> = kept.iter().map(|kept| kept["line"].as_u64().unwrap()).collect();
    assert_eq!(lines, [3, 4, 5, 6, 7]);
    assert_eq!(kept[0]["offset"], begins.len());
    assert_eq!(kept[1]["change"], bad[1].trim_end());
    let said = router.part.said();
    for line in lines {
        assert!(said.contains(&format!("changes.jsonl:{line}: ")), "{line}: {said}");
    }
    assert!(said.contains("`hostname` "), "{said}");
}

#[test]
fn a_flood_of_bad_changes_costs_a_bounded_part_of_log_and_disk() {
    const LINES: usize = 100_000;
    let router = Setup::new().feed(Some(&"nonsense\n".repeat(LINES))).start();
    assert_eq!(router.metric("ringway_feed_refused_total"), LINES as u64);
    assert_eq!(router.metric("ringway_feed_quarantined_total"), LINES as u64);
    let told = router.part.said().matches("a change is refused").count();
    assert!((1..200).contains(&told), "{told}");
    let folder = std::fs::read_dir(router.folder().join("state")).unwrap();
    let octets: u64 = folder.map(|file| file.unwrap().metadata().unwrap().len()).sum();
    assert!(octets < 3 << 20, "{octets}");
}

#[test]
fn a_folder_has_one_process() {
    let router = Setup::new().feed(Some("")).start();
    let state = router.folder().join("state").display().to_string();
    let mut second = Setup::new().feed(Some("")).set("state.dir", state).launch();
    assert_eq!(second.part.wait_exit(wait::PATIENCE).code(), Some(1));
    let said = second.part.said();
    assert!(said.contains("is used by another process (pid ") && said.contains("edge.yaml:"), "{said}");
    // Killed, it leaves the folder to the next.
    router.start_again();
}

/// As an operator's own snapshot, named by the year.
#[test]
fn a_file_with_a_number_that_is_not_the_tables_is_left_and_told_of() {
    let router = Setup::new().feed(Some(&maps("a.test", "svc_a", 1))).start();
    let others = |router: &Router| router.folder().join("state/2026.snap");
    std::fs::write(others(&router), "mine").unwrap();
    let mut router = router.start_again();
    router.wait_ready();
    assert_eq!(std::fs::read(others(&router)).unwrap(), b"mine");
    let told = router.part.said().matches("numbers that the table has not come to").count();
    assert_eq!(told, 1, "{}", router.part.said());
}
