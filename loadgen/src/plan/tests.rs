//! Plan files: what they say, and what they are told when they are wrong.
#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test

use std::time::Duration;

use proptest::prelude::*;
use ringway::proto::http1::Method;

use super::*;
use crate::draw::Size;

fn parsed(text: &str) -> Plan {
    parse("p.yaml", text.as_bytes()).unwrap()
}

fn mistakes(text: &str) -> Vec<String> {
    parse("p.yaml", text.as_bytes()).unwrap_err().to_string().lines().map(str::to_owned).collect()
}

#[test]
fn a_plan_says_what_it_means() {
    let plan = parsed(
        "about: Shops in the morning.\nseed: 7\nrounds: 3\nconnections: 10\ntimeout: 2s\nkeep_alive: 0.9\n\
         hosts: dataset:1000\nspacing: poisson\nwarm_up: 2s\n\
         requests:\n  - { path: /a?b=c, weight: 3 }\n  - { method: POST, body: [{ size: 1KiB..2KiB, weight: 9 }, { size: 1MiB }] }\n\
         phases:\n  - { for: 4s, rate: 100..300 }\n  - { for: 1s, rate: 0, storm: 50 }\n",
    );
    assert_eq!((plan.seed, plan.rounds, plan.connections, plan.timeout.as_secs()), (7, 3, 10, 2));
    assert_eq!(
        (plan.about.as_str(), plan.names),
        ("Shops in the morning.", Names::Dataset(1000, Draw::Zipf))
    );
    let [get, post] = plan.kinds.items() else { unreachable!("two kinds") };
    assert_eq!((get.method, get.path.as_str(), &get.body), (Method::Get, "/a?b=c", &None));
    let sizes = post.body.as_ref().unwrap();
    assert_eq!(sizes.items(), [Size { least: 1024, most: 2048 }, Size::fixed(1 << 20)]);
    assert_eq!((post.method, sizes.shares().next()), (Method::Post, Some(0.9)));
    assert_eq!(plan.kinds.shares().next(), Some(0.75));
    let piece = |seconds, from, to| Piece { seconds, from, to };
    let rate = Profile::new(vec![piece(2.0, 100.0, 100.0), piece(4.0, 100.0, 300.0), piece(1.0, 0.0, 0.0)]);
    assert_eq!(plan.load, Load::Open { rate, spacing: Spacing::Poisson });
    let storm = Profile::new(vec![piece(2.0, 0.0, 0.0), piece(4.0, 0.0, 0.0), piece(1.0, 50.0, 50.0)]);
    assert_eq!(plan.storm, Some(storm));
    let (warmup, keep) = (Duration::from_secs(2), Duration::from_secs(5));
    assert_eq!(plan.extent, Extent::Time { warmup, keep });
}

#[test]
fn what_is_not_said_has_defaults() {
    let plan = parsed("{ about: a, phases: [{ for: 1s }], think: 10ms..50ms, host: a.example }");
    assert_eq!((plan.connections, plan.rounds, plan.seed), (64, 1, 1));
    let think = Delay::Uniform(Duration::from_millis(10), Duration::from_millis(50));
    assert_eq!((plan.load, plan.storm), (Load::Closed { think }, None));
    assert_eq!(plan.names, Names::One("a.example".to_owned()));
    assert_eq!(parsed("{ about: a, phases: [{ for: 1s }] }").names, Names::Target);
}

#[test]
fn a_shorter_plan_has_the_same_rates() {
    let plan =
        parsed("{ about: a, warm_up: 2s, phases: [{ for: 10s, rate: 10..30, storm: 4 }] }").shortened(10.0);
    let piece = |seconds, from, to| Piece { seconds, from, to };
    let rate = Profile::new(vec![piece(0.2, 10.0, 10.0), piece(1.0, 10.0, 30.0)]);
    assert_eq!(plan.load, Load::Open { rate, spacing: Spacing::Even });
    assert_eq!(plan.storm.unwrap().pieces()[1], piece(1.0, 4.0, 4.0));
    let (warmup, keep) = (Duration::from_millis(200), Duration::from_secs(1));
    assert_eq!(plan.extent, Extent::Time { warmup, keep });
}

/// Every mistake, with its line and how to mend it, in one reading.
#[test]
fn mistakes_are_told_all_at_once() {
    let text = "abuot: x\nconnections: 0\nhosts: dataset:0\nhost: a\nthink: 5ms\nkeep_alive: 2\n\
                requests:\n  - { method: FETCH }\n  - { body: 1KiB }\n  - { method: PUT, body: 1kb }\n  - { path: a, weight: 0 }\n\
                phases:\n  - { for: 1s, rate: fast }\n  - { rate: 5 }\n  - { for: 1s, rate: 1..99999999 }\n";
    assert_eq!(
        mistakes(text),
        [
            "p.yaml:1: about is missing; add it, as in about: What it stands for",
            "p.yaml:1: unknown field \"abuot\"; did you mean about?",
            "p.yaml:2: connections: \"0\" is out of range; give 1 to 9900",
            "p.yaml:3: hosts: after dataset: write a count from 1 to 4000000",
            "p.yaml:4: host: hosts are given too; remove one of them",
            "p.yaml:6: keep_alive: \"2\" is out of range; give 0 to 1",
            "p.yaml:8: requests[0].method: unknown value \"FETCH\"; use GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS",
            "p.yaml:9: requests[1].body: a GET has no body; remove it, or use POST",
            "p.yaml:10: requests[2].body: \"1kb\" is not a size; write as 512, 16KiB or 1KiB..1MiB",
            "p.yaml:11: requests[3].path: a path starts with / and has visible ASCII characters only; others are written \
             as %XX",
            "p.yaml:11: requests[3].weight: \"0\" is out of range; give 1 to 1000000",
            "p.yaml:13: phases[0].rate: \"fast\" is not a rate; write requests a second, as in 1000, or 1000..5000 for a \
             ramp",
            "p.yaml:14: phases[1].for is missing; add it, as in for: 10s",
            "p.yaml:15: phases[2].rate: \"1..99999999\" is too fast; at most 10000000",
        ]
    );
}

#[test]
fn what_does_not_go_together_is_told() {
    for (text, told) in [
        ("{ about: a, phases: [] }", "phases: has 0 items; list 1 to 256"),
        ("{ about: '', phases: [{ for: 1s }] }", "about: says nothing"),
        ("{ about: a, phases: [{ for: 1s }], requests: [] }", "requests: has 0 items; list 1 to 64"),
        ("{ about: a, draw: zipf, phases: [{ for: 1s }] }", "draw: there is nothing to draw from"),
        ("{ about: a, phases: [{ for: 1s, rate: 5 }, { for: 1s }] }", "phases: some have a rate"),
        ("{ about: a, phases: [{ for: 1s, rate: 0 }] }", "phases: send nothing"),
        ("{ about: a, phases: [{ for: 24h }, { for: 1s }] }", "phases: last longer than a day"),
        ("{ about: a, think: 1s, phases: [{ for: 1s, rate: 5 }] }", "think: arrivals at a rate do not wait"),
        ("{ about: a, think: 1h, phases: [{ for: 1s }] }", "think: \"1h\" is too long; at most 1m"),
        (
            "{ about: a, think: { median: 5s, p99: 1s }, phases: [{ for: 1s }] }",
            "think: give a median above 0",
        ),
        ("[]", "expected fields (name: value), found a list; loadgen/plans/README.md shows the form"),
    ] {
        let found = mistakes(text);
        assert!(found.iter().any(|line| line.starts_with(&format!("p.yaml:1: {told}"))), "{text}: {found:?}");
    }
}

proptest! {
    #[test]
    fn no_octets_panic(octets: Vec<u8>, cut in 0usize..200, at in 0usize..200) {
        let _ = parse("p", &octets);
        let good = b"{ about: a, think: { median: 5ms, p99: 1s }, requests: [{ body: 1KiB..2KiB, method: PUT }], phases: [{ for: 1s }] }";
        let mut bent = good.to_vec();
        bent.truncate(cut.max(1));
        let _ = parse("p", &bent);
        let mut bent = good.to_vec();
        let at = at % bent.len();
        bent.splice(at..at, octets);
        let _ = parse("p", &bent);
    }
}
