//! Whole files, right and wrong.
#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test
use std::path::PathBuf;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::observe::access::{Field, Fields};
use crate::observe::process_log::Level;
use crate::policy::RetryOn;

const QUICKSTART: &str = include_str!("../../docs/examples/quickstart.yaml");
/// The least that is right, apart from a warning.
const LEAST: &str = "listeners: [{ address: \"127.0.0.1:8080\", protocol: http }]\n";

fn checked(text: &str) -> Config {
    parse("f", text.as_bytes(), "host").unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

/// The lines that a file gets, without the file's name.
fn lines(bytes: impl AsRef<[u8]>) -> Vec<String> {
    let mistakes = parse("f", bytes.as_ref(), "host").unwrap_err().to_string();
    mistakes.lines().map(|line| line.strip_prefix("f:").unwrap_or(line).to_owned()).collect()
}

#[test]
fn the_quickstart_is_right() {
    let config = checked(QUICKSTART);
    let label = |text| Label::parse(text).unwrap();
    assert_eq!(
        config.node,
        Node { id: label("edge-1"), region: Region::parse("local").unwrap(), pop: label("local") }
    );
    assert_eq!((config.cores, config.idle), (Cores::Auto, Idle::Adaptive));
    assert_eq!(
        config.listeners,
        [Listener {
            address: ListenAddress::parse("127.0.0.1:8080").unwrap(),
            mode: 0o660,
            protocol: Protocol::Http,
            trusted_proxies: Peers::default(),
            internal_from: Peers::default(),
        }]
    );
    assert_eq!(config.admin, Admin { address: "127.0.0.1:9180".parse().unwrap() });
    let dir = PathBuf::from("./var/ringway");
    assert_eq!(config.state, State { dir, snapshot: None, feed: Feed::Inline });
    assert_eq!(
        config.services,
        [Service {
            id: ServiceId::parse("svc_hello").unwrap(),
            hostnames: vec![HostName::parse("hello.localhost").unwrap()],
            endpoints: vec![Endpoint::parse("127.0.0.1:9000").unwrap()],
            settings: ServiceSettings::default(),
        }]
    );
    assert_eq!((config.timeouts, config.limits), (Timeouts::default(), Limits::default()));
    assert_eq!(config.warnings, [""; 0]);
}

#[test]
fn a_feed_from_a_file_needs_no_services_and_warns_of_none() {
    let text = "listeners: [{ address: \"127.0.0.1:8080\", protocol: http }]\nstate: { feed: { kind: file, path: ./c.jsonl } }\n";
    for services in ["", "services: []\n"] {
        let config = parse("edge.yaml", [text, services].concat().as_bytes(), "host").unwrap();
        assert_eq!(config.state.feed, Feed::File(PathBuf::from("./c.jsonl")));
        assert_eq!((config.services.len(), config.warnings), (0, vec![]));
    }
}

/// Every field, none of which has its default.
const EVERYTHING: &str = r#"
node: { id: edge-7, region: oregon, pop: pdx1 }
cores: [3, 1]
idle: park
listeners:
  - address: "[::]:80"
    protocol: http
    trusted_proxies: [10.0.0.0/8, "2001:db8::1"]
    internal_from: [127.0.0.0/8]
  - { address: "unix:/run/edge.sock", protocol: http, mode: 666, internal_from: [unix] }
admin: { address: "[::1]:9180" }
resolver: { servers: ["10.0.0.53:53"] }
state: { dir: /var/lib/ringway, snapshot: /srv/base.snap, feed: { kind: inline } }
services:
  - id: svc_a
    hostnames: [Shop.Example.COM, xn--bcher-kva.example]
    endpoints: [10.0.0.1:80, "[2001:db8::1]:80"]
    timeouts: { response_head: 2s, connect: 250ms }
    retry: { on: [] }
    limits: { request_body_bytes: 2000000, target_bytes: 500, client_min_bytes_per_second: 7, upstream_waiting: 0 }
    paths: raw
    reuse: service
timeouts: { request_head: 5s, idle: 1m, drain: 0s,
  connect: 1s, response_head: 10s, body_progress: 20s, upstream_idle: 5s, upstream_wait: 2s }
retry: { on: [timeout, http_502] }
paths: strict
reuse: endpoint
limits:
  request_head_bytes: 8192
  response_head_bytes: 4096
  head_fields: 50
  target_bytes: 1000
  request_body_bytes: 1000000
  client_min_bytes_per_second: 0
  origin_min_bytes_per_second: 9
  connections_per_core: 20000
  upstream_idle_connections: 0
  upstream_connections: 4
  upstream_requests: 3
  upstream_waiting: 2
access_log: { path: /var/log/ringway/access.jsonl, success_sample: 1, slow: 300ms,
  fields: [url.path, "@timestamp"] }
process_log: { level: debug }
"#;

#[test]
fn everything_may_be_set() {
    let config = checked(EVERYTHING);
    let s = Duration::from_secs;
    assert_eq!(config.cores, Cores::Pinned(vec![3, 1]));
    assert_eq!(config.idle, Idle::Park);
    let blocks: Vec<String> =
        config.listeners[0].trusted_proxies.blocks.iter().map(Cidr::to_string).collect();
    assert_eq!(blocks, ["10.0.0.0/8", "2001:db8::1/128"]);
    assert_eq!(config.listeners[0].internal_from.blocks, [Cidr::parse("127.0.0.0/8").unwrap()]);
    let unix = &config.listeners[1];
    assert_eq!((unix.mode, unix.internal_from.unix, unix.trusted_proxies.unix), (0o666, true, false));
    assert_eq!(config.state.snapshot, Some(PathBuf::from("/srv/base.snap")));
    let origin = OriginTimeouts {
        connect: s(1),
        response_head: s(10),
        body_progress: s(20),
        upstream_idle: s(5),
        upstream_wait: s(2),
    };
    assert_eq!(config.timeouts, Timeouts { request_head: s(5), idle: s(60), drain: s(0), origin });
    assert_eq!(config.retry, RetryOn { http_502: true, timeout: true, ..RetryOn::NOTHING });
    assert_eq!(config.resolver, Resolver { servers: vec!["10.0.0.53:53".parse().unwrap()] });
    let service = &config.services[0];
    let names: Vec<&str> = service.hostnames.iter().map(HostName::as_str).collect();
    assert_eq!(names, ["shop.example.com", "xn--bcher-kva.example"]);
    let overridden = OriginTimeouts { connect: Duration::from_millis(250), response_head: s(2), ..origin };
    assert_eq!(service.settings.timeouts, overridden);
    assert_eq!(service.settings.retry, RetryOn::NOTHING);
    let request = RequestLimits {
        head_bytes: 8192,
        head_fields: 50,
        target_bytes: 1000,
        body_bytes: 1_000_000,
        client_bytes_per_second: 0,
        origin_bytes_per_second: 9,
    };
    let overridden =
        RequestLimits { target_bytes: 500, body_bytes: 2_000_000, client_bytes_per_second: 7, ..request };
    assert_eq!(service.settings.limits, overridden);
    let upstream = UpstreamLimits { idle_connections: 0, connections: 4, requests: 3, waiting: 2 };
    assert_eq!(service.settings.upstream, UpstreamLimits { waiting: 0, ..upstream });
    let limits = Limits { request, response_head_bytes: 4096, connections_per_core: 20_000, upstream };
    assert_eq!(config.limits, limits);
    assert_eq!((config.paths, service.settings.paths), (Paths::Strict, Paths::Raw));
    assert_eq!((config.reuse, service.settings.reuse), (Reuse::Endpoint, Reuse::Service));
    let path = LogPath::File("/var/log/ringway/access.jsonl".into());
    let fields = Fields::NONE.with(Field::Timestamp).with(Field::Path);
    let log = AccessLog { path, success_sample: 1.0, slow: Duration::from_millis(300), fields };
    assert_eq!(config.access_log, log);
    assert_eq!(config.process_log, Level::Debug);
    assert_eq!(config.warnings, [""; 0]);
}

#[test]
fn five_mistakes_five_lines() {
    let wrong = "node: [edge-1]
cores: auto
idle: adaptve
listeners:
  - { address: \"127.0.0.1\", protocol: http }
admin: { address: \"127.0.0.1:9180\" }
servces: []
timeouts: { connect: 5x }
";
    assert_eq!(
        lines(wrong),
        [
            "1: node: expected fields (name: value), found a list",
            "3: idle: unknown value \"adaptve\"; did you mean adaptive?",
            "5: listeners[0].address: \"127.0.0.1\" has no port; write 127.0.0.1:PORT",
            "7: unknown field \"servces\"; did you mean services?",
            "8: timeouts.connect: \"5x\" is not a duration; write a whole number and ms, s, m or h, as in 5s",
        ]
    );
}

/// Each file gets exactly this one line. Line 1 is always [`LEAST`].
#[test]
fn one_mistake_one_line() {
    let told = |rest: &str| lines([LEAST, rest].concat());
    for (rest, expected) in super::wrong_files::WRONG {
        assert_eq!(told(rest), [*expected], "{rest}");
    }
}

#[test]
fn mistakes_of_listeners() {
    let told = |listener: &str| lines(format!("listeners: [{{ {listener}, protocol: http }}]\n"));
    for (listener, mistake) in [
        ("address: /run/a", "address: \"/run/a\" is a path; write it as unix:/run/a"),
        (
            "address: \"unix:a\"",
            "address: \"unix:a\" is no socket's absolute path; write it as in unix:/run/app.sock",
        ),
        (
            "address: \"unix:/a\", mode: 777",
            "mode: \"777\" is no mode of a socket; write three of 0, 2, 4 and 6, as in 660",
        ),
        ("address: \"127.0.0.1:1\", mode: 660", "mode: is for Unix sockets alone; remove it"),
        (
            "address: \"127.0.0.1:1\", internal_from: [unix]",
            "internal_from[0]: unix is for peers of Unix sockets; name address blocks here",
        ),
        (
            "address: \"unix:/a\", trusted_proxies: [10.0.0.0/8]",
            "trusted_proxies[0]: peers of a Unix socket have no address as \"10.0.0.0/8\"; write unix",
        ),
    ] {
        assert_eq!(told(listener), [format!("1: listeners[0].{mistake}")], "{listener}");
    }
    // A wrong address, or none, hides no other mistake.
    for (listener, wrong) in [
        (
            "address: \"unix:a\", mode: 777, trusted_proxies: [10.0.0.0/8]",
            &["address", "mode", "trusted_proxies[0]"][..],
        ),
        (
            "address: \"127.0.0.1\", mode: 777, internal_from: [unix]",
            &["address", "mode", "mode", "internal_from[0]"],
        ),
        ("mode: 777, internal_from: [nobody]", &["address", "mode", "internal_from[0]"]),
        ("mode: 660, internal_from: [unix]", &["address"]),
    ] {
        let told = told(listener);
        let field =
            |line: &String| line["1: listeners[0].".len()..].split([':', ' ']).next().unwrap().to_owned();
        assert_eq!(told.iter().map(field).collect::<Vec<_>>(), wrong, "{told:?}");
    }
}

#[test]
fn structure() {
    for (file, expected) in [
        ("", "1: expected fields (name: value), found nothing; docs/examples/quickstart.yaml shows the form"),
        (
            "# only a remark\n",
            "1: expected fields (name: value), found nothing; docs/examples/quickstart.yaml shows the form",
        ),
        (
            "- a\n",
            "1: expected fields (name: value), found a list; docs/examples/quickstart.yaml shows the form",
        ),
        (
            "idle: park\n",
            "1: listeners is missing; add it, as in listeners: \
             [{ address: \"127.0.0.1:8080\", protocol: http }]",
        ),
        (
            "listeners: []\n",
            "1: listeners: is empty; list at least one, as in \
             { address: \"127.0.0.1:8080\", protocol: http }",
        ),
        ("a: 1\n--- \nb: 2\n", "2: a second document begins; keep one and remove this ---"),
        (
            "a: 1\n...\nb: 2\n",
            "3: a second document begins, since ... has ended the first; keep one and remove the ...",
        ),
        ("%YAML 1.2\n---\na: 1\n", "1: directives (%…) are not accepted; remove this line"),
        ("a:\n  b: 1\n\tc: 2\n", "2: a tab here or on the next line; indent with spaces"),
    ] {
        assert_eq!(lines(file), [expected], "{file:?}");
    }
    let unclosed = lines("listeners: [\n");
    assert_eq!(unclosed.len(), 1);
    assert!(unclosed[0].contains("not valid YAML"), "{unclosed:?}");
}

#[test]
fn bounds() {
    let huge = [LEAST.as_bytes(), "#".repeat(4 << 20).as_bytes()].concat();
    assert_eq!(lines(huge), ["1: the file has more than 4194304 bytes; move services to a snapshot"]);
    let deep = "nested deeper than 16; no field is, see whether a bracket is left open";
    assert_eq!(lines(format!("a: {}", "[".repeat(100_000))), [format!("1: {deep}")]);
    let many = format!("a: [{}]", "1,".repeat(600_000));
    assert_eq!(lines(many), ["1: more than 500000 values; move services to a snapshot"]);
    assert_eq!(lines(b"idle: park\n\xff\n"), ["2: not UTF-8; save the file as UTF-8"]);

    let ports = |n: u16| (1..=n).map(|port| format!("\"10.0.0.1:{port}\"")).collect::<Vec<_>>().join(", ");
    let service =
        |n| format!("{LEAST}services: [{{ id: svc_a, hostnames: [a.b], endpoints: [{}] }}]", ports(n));
    assert_eq!(checked(&service(4_096)).services[0].endpoints.len(), 4_096);
    let told = "a service has at most 4096, put a balancer before the rest";
    assert_eq!(lines(service(4_097)), [format!("2: services[0].endpoints: has 4097 endpoints; {told}")]);
    let listener = |port| format!("{{ address: \"127.0.0.1:{port}\", protocol: http }}");
    let listeners = |n: u16| format!("listeners: [{}]", (1..=n).map(listener).collect::<Vec<_>>().join(", "));
    assert_eq!(checked(&listeners(64)).listeners.len(), 64);
    assert_eq!(
        lines(listeners(65)),
        ["1: listeners: has 65 listeners; at most 64 are served, remove the rest"]
    );

    let wrong = LEAST.to_owned() + &(0..1_500).map(|i| format!("field_{i}: 1\n")).collect::<String>();
    let told = lines(wrong);
    assert_eq!(told.len(), 1_001);
    assert_eq!(told[0].split(';').next(), Some("2: unknown field \"field_0\""));
    assert_eq!(told[1_000], " 500 more mistakes; mend these first");
}

/// Nine levels of nine references each: 387 million values, had aliases been followed.
#[test]
fn an_alias_bomb_is_refused() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..9 {
        let refs = vec![format!("*a{}", level - 1); 9].join(", ");
        bomb.push_str(&format!("a{level}: &a{level} [{refs}]\n"));
    }
    let told = lines(bomb);
    assert_eq!(
        told.iter().filter(|l| l.ends_with("aliases (*name) are not accepted; write the value out")).count(),
        72
    );
    assert!(told[0].starts_with("1: "), "{}", told[0]);
}

#[test]
fn warnings_are_told_apart() {
    let warnings = |text: &str| checked(text).warnings;
    let none = "f:1: warning: there are no services, so every request gets 404; add some under services";
    assert_eq!(warnings(LEAST), [none]);
    let everybody = QUICKSTART.replace("protocol: http", "protocol: http, trusted_proxies: [\"::/0\"]");
    let told = warnings(&everybody);
    assert_eq!(told.len(), 1);
    assert!(
        told[0].ends_with("trusted_proxies: ::/0 trusts every peer; name the blocks that you mean"),
        "{told:?}"
    );
}

#[test]
fn a_host_name_that_is_no_label_gives_way() {
    let id = |host| parse("f", LEAST.as_bytes(), host).unwrap().node.id.to_string();
    assert_eq!(id("edge-3.example"), "edge-3.example");
    assert_eq!(id(""), "localhost");
    assert_eq!(id("a b"), "localhost");
}

/// Text that is nearly a configuration: the quickstart with a stretch replaced.
fn nearly_right() -> impl Strategy<Value = Vec<u8>> {
    let splice = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..8),
        "[-:{}\\[\\],&*!|>'\"%@`# \n\t?~a0.\u{85}\u{2028}é]{0,8}".prop_map(String::into_bytes),
    ];
    (0..QUICKSTART.len(), 0..40_usize, splice).prop_map(|(at, cut, splice)| {
        let mut bytes = QUICKSTART.as_bytes().to_vec();
        let end = bytes.len().min(at + cut);
        bytes.splice(at..end, splice);
        bytes
    })
}

proptest! {
    #[test]
    fn any_bytes_give_a_config_or_single_lines(
        bytes in prop_oneof![
            nearly_right(),
            prop::collection::vec(any::<u8>(), 0..200),
            "[-:{}\\[\\],&*!|>'\"%@`# \n\t?~a0.é]{0,80}".prop_map(String::into_bytes),
        ]
    ) {
        match parse("f", &bytes, "host") {
            Ok(config) => prop_assert!(!config.listeners.is_empty()),
            Err(mistakes) => {
                prop_assert!(mistakes.iter().count() > 0);
                for mistake in mistakes.iter() {
                    let line = mistake.line.unwrap_or(0);
                    let last = 1 + bytes.len();
                    prop_assert!((1..=last).contains(&line), "line {} of {}", line, last);
                    prop_assert!(!mistake.text.contains(['\n', '\r']), "{:?}", mistake.text);
                }
            }
        }
    }

    #[test]
    fn addresses_parse_as_the_library_says(text in "[0-9a-f.:\\[\\]%/]{0,24}") {
        match address::parse(&text, address::Forms::Listener) {
            Ok(address) => prop_assert_eq!(text.parse(), Ok(address)),
            Err(told) => {
                let port_zero = text.parse::<std::net::SocketAddr>().is_ok_and(|a| a.port() == 0);
                prop_assert!(port_zero || text.parse::<std::net::SocketAddr>().is_err());
                prop_assert!(told.contains("; "), "no mending in {}", told);
            }
        }
    }
}
