//! What the admin listener shows of how things stand.

use serde_json::{Value, json};

use crate::support::changes::{append, ask, endpoints, maps};
use crate::support::origin::ok;
use crate::support::*;

#[track_caller]
fn shown(router: &Router, path: &str) -> Value {
    let got = router.admin(path);
    assert_eq!(got.status, 200, "{path}");
    serde_json::from_str(got.text()).unwrap()
}

#[test]
fn state_tells_how_far_the_feed_has_come_and_what_each_core_has() {
    let _alone = alone();
    let origin = Origin::saying("fine");
    let begins = [endpoints("svc_a", &[origin.address], 1), maps("a.test", "svc_a", 1)].concat();
    let router = Setup::new().feed(Some(&begins)).start();
    let changes = router.folder().join("changes.jsonl");
    wait_until("it is read", || shown(&router, "/v1/state")["feed"]["line"] == 3);
    let state = shown(&router, "/v1/state");
    let feed = &state["feed"];
    assert_eq!((&feed["file"], &feed["offset"]), (&json!(changes), &json!(begins.len())));
    assert_eq!((&feed["applied"], &feed["quarantine"]["refused"]), (&json!(2), &json!({})));
    assert!(feed["lag_seconds"].as_f64().unwrap() < wait::PATIENCE.as_secs_f64(), "{feed}");
    append(&changes, "nonsense\n");
    append(&changes, &maps("b.test", "svc_a", 1));
    wait_until("it holds", || ask(&router, "b.test") == "fine");
    wait_until("every core has it", || {
        let state = shown(&router, "/v1/state");
        let publications = &state["feed"]["publications"];
        state["cores"].as_array().unwrap().iter().all(|core| core["publication"] == *publications)
    });
    let state = shown(&router, "/v1/state");
    let feed = &state["feed"];
    assert_eq!((&feed["line"], &feed["applied"]), (&json!(5), &json!(3)));
    assert_eq!(feed["quarantine"]["refused"], json!({ "not_json": 1 }));
    let kept = feed["quarantine"]["file"].as_str().unwrap();
    wait_until("it is kept", || std::fs::read_to_string(kept).is_ok_and(|kept| kept.contains("nonsense")));
    let keys = |core: &Value| (core["overlay"]["keys"].clone(), core["levels"].clone());
    for core in state["cores"].as_array().unwrap() {
        assert_eq!(keys(core), (json!(3), json!(0)), "{state}");
        assert_eq!(core["overlay"], state["overlay"]);
    }
    assert_eq!(router.metric("ringway_feed_offset_bytes"), feed["offset"].as_u64().unwrap());
    assert_eq!(state["digest"].as_str().unwrap().len() % 16, 0, "{state}");
}

#[test]
fn host_names_with_most_are_shown_and_no_client_makes_one_up() {
    let origin = Origin::answering(|head, _| match head.path() {
        "/large" => ok("x".repeat(3 << 20)),
        _ => ok("fine"),
    });
    let refused = ports::free_address();
    let begins = [
        endpoints("svc_a", &[origin.address], 1),
        endpoints("svc_b", &[refused], 1),
        maps("a.test", "svc_a", 1),
        maps("*.apps.test", "svc_a", 1),
        maps("down.test", "svc_b", 1),
    ];
    let router = Setup::new().feed(Some(&begins.concat())).start();
    let mut client = router.connect();
    let mut get = |host: &str, path: &str, status: u16| {
        let head = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        assert_eq!(client.ask(&head).status, status, "{head}");
    };
    const ASKED: usize = 3_200;
    for n in 0..ASKED {
        get("a.test", "/", 200);
        if n % 4 == 0 {
            get(&format!("n{n}.apps.test"), "/", 200);
            get(&format!("n{n}.nowhere.test"), "/", 404);
        }
    }
    (0..3).for_each(|_| get("down.test", "/", 502));
    (0..2).for_each(|_| get("a.test", "/large", 200));
    wait_until("all have ended", || {
        let top = shown(&router, "/v1/top");
        top["errors"]["hosts"][0]["total"] == 3 && top["octets"]["hosts"][0]["total"].as_u64() > Some(6 << 20)
    });
    let top = shown(&router, "/v1/top");
    assert_eq!(top["errors"]["hosts"].as_array().unwrap().len(), 1, "{top}");
    assert_eq!(top["errors"]["hosts"][0]["host"], "down.test");
    assert_eq!(top["errors"]["others"], ASKED / 4, "made up names are nobody's");
    let of = |rank: &str, host: &str| {
        let hosts = top[rank]["hosts"].as_array().unwrap();
        hosts.iter().find(|shown| shown["host"] == host).map_or(0, |shown| shown["total"].as_u64().unwrap())
    };
    let near = |drawn: u64, is: usize| drawn.abs_diff(is as u64) < is as u64 / 2;
    assert!(near(of("requests", "a.test"), ASKED) && near(of("requests", "*.apps.test"), ASKED / 4), "{top}");
    assert!(of("octets", "a.test") >= 6 << 20, "{top}");
    // The same as series.
    let series = |name: &str, host: &str| router.metric_with(name, &format!("host=\"{host}\""));
    assert_eq!(series("ringway_host_requests_total", "a.test"), of("requests", "a.test"));
    assert_eq!(series("ringway_host_errors_total", "down.test"), 3);
    assert_eq!(series("ringway_host_errors_total", "(others)"), ASKED as u64 / 4);
    assert_eq!(router.metric("ringway_top_dropped_total"), 0);
    let names: Vec<String> = router.admin("/metrics").text().lines().map(str::to_owned).collect();
    assert!(!names.iter().any(|line| line.contains("nowhere.test")), "{names:?}");
    assert!(!names.iter().any(|line| line.contains("host=\"n")), "{names:?}");
}
