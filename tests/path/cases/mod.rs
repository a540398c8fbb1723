//! The corpus of black-box cases in `tests/cases`, against the router: a client's raw octets, an origin that keeps what
//! it got, and a strict second parser on either side. `docs/conformance.md` tells what others do with the same cases.

mod corpus;
mod message;
mod page;
mod peers;
mod play;
mod recorder;
mod script;
mod verdict;

use std::time::Duration;

use self::play::Stage;
use self::recorder::Recorder;
use self::verdict::Strictness;
use crate::support::{Setup, ports};

#[test]
fn the_router_does_what_every_case_says() {
    let recorder = Recorder::start();
    let [a, b] = recorder.addresses();
    let trusted = ports::free_address();
    let small = serde_json::json!({
        "id": "svc_small", "hostnames": ["small.test"], "endpoints": [a.to_string()],
        "limits": { "request_head_bytes": 1024, "head_fields": 16, "target_bytes": 100, "request_body_bytes": 100 },
    });
    let services = serde_json::json!([
        { "id": "svc_a", "hostnames": ["a.test"], "endpoints": [a.to_string()] },
        { "id": "svc_b", "hostnames": ["b.test"], "endpoints": [b.to_string()] },
        small,
    ]);
    let setup = Setup::new().set("services", services);
    let listeners = serde_json::json!([
        { "address": setup.address.to_string(), "protocol": "http" },
        { "address": trusted.to_string(), "protocol": "http", "trusted_proxies": ["127.0.0.0/8"] },
    ]);
    let router = setup.set("listeners", listeners).start();
    let stage = Stage {
        address: router.address,
        trusted,
        recorder: &recorder,
        strictness: Strictness::Exact,
        patience: Duration::from_secs(5),
    };
    let cases = corpus::read();
    let mut failed = 0;
    for case in &cases {
        if let Err(mismatch) = stage.play(case) {
            failed += 1;
            println!("{}\n  wanted {}, not {}", case.name(), mismatch.wanted, mismatch.told);
            println!("  {}: {}", case.rule, case.why);
        }
    }
    println!("{} cases", cases.len());
    assert_eq!(failed, 0, "cases failed");
    router.wait_quiet();
}

#[test]
fn every_case_says_which_rule_it_is_of() {
    let cases = corpus::read();
    let known = |rule: &str| rule.starts_with("RFC ") || rule.starts_with("R-");
    for case in &cases {
        assert!(case.rule.split("; ").all(known), "{}: {:?}", case.name(), case.rule);
        assert!(!case.group.is_empty(), "{}", case.name());
    }
    let mut names: Vec<String> = cases.iter().map(corpus::Case::name).collect();
    names.sort();
    let twice: Vec<_> = names.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| &pair[0]).collect();
    assert!(twice.is_empty(), "the same name twice: {twice:?}");
}
