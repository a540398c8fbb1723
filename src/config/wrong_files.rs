//! Files with one mistake each and the line that each gets. A right `listeners:` stands above them on line 1.

/// The rest of the file, and the mistake's line behind `FILE:`.
pub(super) const WRONG: &[(&str, &str)] = &[
    // Fields.
    ("nod: {}", "2: unknown field \"nod\"; did you mean node?"),
    (
        "tls: {}",
        "2: unknown field \"tls\"; the fields here are node, cores, idle, listeners, admin, state, resolver, timeouts, \
         retry, limits, paths, reuse, services, access_log, process_log",
    ),
    ("node: { regoin: a }", "2: node: unknown field \"regoin\"; did you mean region?"),
    ("node: { Region: a }", "2: node: unknown field \"Region\"; did you mean region?"),
    ("idle: park\nidle: spin", "3: \"idle\" occurs twice here, first on line 2; remove one"),
    ("\"idle\": park\nidle: spin", "3: \"idle\" occurs twice here, first on line 2; remove one"),
    ("node: { pop: a,\n  pop: b }", "3: \"pop\" occurs twice here, first on line 2; remove one"),
    ("[a]: 1", "2: a field's name must be plain text, as in name: value"),
    ("node:\n", "2: node: expected fields (name: value), found nothing"),
    ("timeouts: ~", "2: timeouts: expected fields (name: value), found nothing"),
    ("idle:\n\n\nadmin: {}", "2: idle: expected a single value, found nothing"),
    ("idle: [park]", "2: idle: expected a single value, found a list"),
    ("idle: { park: 1 }", "2: idle: expected a single value, found fields"),
    // Things of YAML that are refused.
    ("idle: &a park", "2: anchors (&name) are not accepted; write the value out where it is needed"),
    ("idle: *a", "2: aliases (*name) are not accepted; write the value out"),
    ("idle: !x park", "2: tags are not accepted; remove \"!x\""),
    ("idle: !!str park", "2: tags are not accepted; remove \"!!str\""),
    // Resolver.
    (
        "resolver: { servers: [10.0.0.53] }",
        "2: resolver.servers[0]: \"10.0.0.53\" has no port; write 10.0.0.53:PORT",
    ),
    // Retry.
    (
        "retry: { on: [http_503, http503] }",
        "2: retry.on[1]: unknown value \"http503\"; did you mean http_503?",
    ),
    ("retry: { on: [http_500] }", "2: retry.on[0]: unknown value \"http_500\"; did you mean http_502?"),
    (
        "retry: { on: [always] }",
        "2: retry.on[0]: unknown value \"always\"; use connect_failure, closed, http_502, http_503 or timeout",
    ),
    // Node, cores, idle.
    ("node: { id: a/b }", "2: node.id: \"a/b\" is not a name; use 1 to 63 of A-Z a-z 0-9 . _ -"),
    ("node: { pop: \"\" }", "2: node.pop: \"\" is not a name; use 1 to 63 of A-Z a-z 0-9 . _ -"),
    ("cores: all", "2: cores: unknown value \"all\"; use auto, or a list of CPU numbers as in [0, 1]"),
    ("cores: []", "2: cores: names no CPU; list at least one, or write auto"),
    ("cores: [0, 1, 0]", "2: cores[2]: CPU 0 is in the list already; remove one"),
    ("cores: [0, -1]", "2: cores[1]: \"-1\" is not a CPU number; write one from 0 to 1023"),
    ("cores:\n  - 0\n  - 1024", "4: cores[1]: \"1024\" is not a CPU number; write one from 0 to 1023"),
    ("idle: sleep", "2: idle: unknown value \"sleep\"; use park, spin or adaptive"),
    // Admin.
    (
        "admin: { address: \"0.0.0.0:9180\" }",
        "2: admin.address: 0.0.0.0:9180 is not on loopback, where alone plain HTTP may administer; use \
         127.0.0.1:9180 or [::1]:9180",
    ),
    (
        "admin: { address: \"127.0.0.1:8080\" }",
        "2: admin.address: 127.0.0.1:8080 is taken by a listener; give the admin listener a port of its own",
    ),
    ("admin: { addres: \"127.0.0.1:9180\" }", "2: admin: unknown field \"addres\"; did you mean address?"),
    // State.
    ("state: { dir: \"\" }", "2: state.dir: \"\" is not a path; give one such as ./var/ringway"),
    (
        "state: { snapshot: \"a\\0b\" }",
        "2: state.snapshot: \"a\\0b\" is not a path; give one such as ./base.snap",
    ),
    ("state: { feed: {} }", "2: state.feed.kind is missing; add it, as in kind: inline"),
    ("state: { feed: inline }", "2: state.feed: expected fields (name: value), found a single value"),
    ("state: { feed: { kind: file } }", "2: state.feed.path is missing; add it, as in path: ./changes.jsonl"),
    (
        "state: { feed: { kind: file, path: \"\" } }",
        "2: state.feed.path: \"\" is not a path; give one such as ./changes.jsonl",
    ),
    (
        "state: { feed: { kind: file, path: a } }\nservices: [{ id: svc_a, hostnames: [a.b], endpoints: [\"10.0.0.1:1\"] }]",
        "3: services: belong to the inline feed, and the feed is a file; remove them here and add them to it as changes, \
         or say state.feed: { kind: inline }",
    ),
    (
        "state: { feed: { kind: kafka, brokers: [], topic: a } }",
        "2: state.feed.kind: kafka is not yet supported in this version; use inline or file",
    ),
    ("state: { feed: { kind: inlin } }", "2: state.feed.kind: unknown value \"inlin\"; did you mean inline?"),
    (
        "state: { feed: { kind: inline, path: a } }",
        "2: state.feed: unknown field \"path\"; the fields here are kind",
    ),
    // Timeouts, limits, access log.
    (
        "timeouts: { connect: 5 }",
        "2: timeouts.connect: \"5\" is not a duration; write a whole number and ms, s, m or h, as in 5s",
    ),
    (
        "timeouts: { connect: 1.5s }",
        "2: timeouts.connect: \"1.5s\" is not a duration; write a whole number and ms, s, m or h, as in 5s",
    ),
    (
        "timeouts: { idle: 99999999999999999999h }",
        "2: timeouts.idle: \"99999999999999999999h\" \
         is not a duration; write a whole number and ms, s, m or h, as in 5s",
    ),
    ("timeouts: { connect: 19ms }", "2: timeouts.connect: \"19ms\" is out of range; give 20ms to 1m"),
    ("timeouts: { drain: 25h }", "2: timeouts.drain: \"25h\" is out of range; give 0s to 24h"),
    ("timeouts: { conect: 1s }", "2: timeouts: unknown field \"conect\"; did you mean connect?"),
    (
        "limits: { head_fields: many }",
        "2: limits.head_fields: \"many\" is not a whole number; write digits alone, as in 100",
    ),
    (
        "limits: { request_head_bytes: 32769 }",
        "2: limits.request_head_bytes: \"32769\" is out of range; give 1024 to 32768",
    ),
    ("reuse: all", "2: reuse: unknown value \"all\"; use service or endpoint"),
    ("paths: loose", "2: paths: unknown value \"loose\"; use normalize, strict or raw"),
    ("access_log: { path: \"\" }", "2: access_log.path: \"\" is not a path; give one such as ./access.log"),
    (
        "access_log: { success_sample: 5% }",
        "2: access_log.success_sample: \"5%\" is not a share; write a number from 0 to 1, as in 0.05",
    ),
    (
        "access_log: { success_sample: NaN }",
        "2: access_log.success_sample: \"NaN\" is not a share; write a number from 0 to 1, as in 0.05",
    ),
    (
        "access_log: { success_sample: 1.01 }",
        "2: access_log.success_sample: \"1.01\" is out of range; give 0 to 1",
    ),
    (
        "access_log: { fields: [] }",
        "2: access_log.fields: is empty; list at least one name (docs/reference/metrics.md has the list), or write all",
    ),
    (
        "access_log: { fields: [url.path, url.pth] }",
        "2: access_log.fields[1]: unknown value \"url.pth\"; did you mean url.path?",
    ),
    (
        "access_log: { fields: [user.name] }",
        "2: access_log.fields[0]: unknown value \"user.name\"; use a name of a field; docs/reference/metrics.md has the list",
    ),
    (
        "access_log: { fields: url.path }",
        "2: access_log.fields: unknown value \"url.path\"; use all, or a list of names",
    ),
    (
        "process_log: { level: trace }",
        "2: process_log.level: unknown value \"trace\"; use debug, info, warn or error",
    ),
    // Services.
    ("services: svc_a", "2: services: expected a list, as in [a, b], found a single value"),
    ("services: [svc_a]", "2: services[0]: expected fields (name: value), found a single value"),
    (
        "services:\n  - hostnames: [a.b]\n    endpoints: [\"10.0.0.1:1\"]",
        "3: services[0].id is missing; add it, as in id: svc_hello",
    ),
    (
        "services:\n  - id: svc_a\n    hostnames: []\n    endpoints: [\"10.0.0.1:1\"]",
        "4: services[0].hostnames: is empty; list at least one host name",
    ),
    (
        "services:\n  - id: svc_a\n    hostnames: [a.b]\n    endpoints: []",
        "5: services[0].endpoints: is empty; list at least one, as in \"127.0.0.1:9000\"",
    ),
    (
        "services: [{ id: hello, hostnames: [a.b], endpoints: [\"10.0.0.1:1\"] }]",
        "2: services[0].id: \"hello\" does not begin with svc_; service ids do, as in svc_hello",
    ),
    (
        "services: [{ id: svc_a/b, hostnames: [a.b], endpoints: [\"10.0.0.1:1\"] }]",
        "2: services[0].id: \"svc_a/b\" has '/' at octet 5; a service id is made \
         of letters, digits, '_', '-' and '.'",
    ),
    (
        "services:\n  - { id: svc_a, hostnames: [a.b], endpoints: [\"10.0.0.1:1\"] }\n\
         \x20 - { id: svc_a, hostnames: [c.d], endpoints: [\"10.0.0.1:1\"] }",
        "4: services[1].id: svc_a is the id of another service (line 3); give each its own",
    ),
    (
        "services:\n  - { id: svc_a, hostnames: [a.b], endpoints: [\"10.0.0.1:1\"] }\n\
         \x20 - { id: svc_b, hostnames: [A.B], endpoints: [\"10.0.0.1:1\"] }",
        "4: services[1].hostnames[0]: a.b is given already (line 3); a host name has one service, remove one",
    ),
    (
        "services: [{ id: svc_a, hostnames: [a.b], endpoints: [\"10.0.0.1:1\", \"10.0.0.1:1\"] }]",
        "2: services[0].endpoints[1]: 10.0.0.1:1 is in this list already; remove one",
    ),
    (
        "services: [{ id: svc_a, hostnames: [a.b], endpoints: [\"127.0.0.1:8080\"] }]",
        "2: services[0].endpoints[0]: 127.0.0.1:8080 is this router's own listener; \
         give the origin's address",
    ),
    (
        "services: [{ id: svc_a, hostnames: [a.b], endpoints: [\"127.0.0.1:9180\"] }]",
        "2: services[0].endpoints[0]: 127.0.0.1:9180 is this router's own listener; \
         give the origin's address",
    ),
    (
        "services: [{ id: svc_a, hostnames: [a.b], endpoints: [host] }]",
        "2: services[0].endpoints[0]: \"host\" has no port; write IP:PORT, NAME:PORT or unix:/PATH, as in \
         127.0.0.1:8080, app.internal:8080 or unix:/run/app.sock",
    ),
    (
        "services: [{ id: svc_a, hostnames: [a.b], endpoints: [\"0.0.0.0:80\"] }]",
        "2: services[0].endpoints[0]: \"0.0.0.0:80\" is no single host's address; give the origin's own",
    ),
    (
        "services: [{ id: svc_a, hostnames: [a.b], endpoints: [\"10.0.0.1:1\"], timeouts: { idle: 1s } }]",
        "2: services[0].timeouts: unknown field \"idle\"; no service can override it, \
         set it in the router's timeouts",
    ),
    (
        "limits: { head_fields: 50 }\nservices: [{ id: svc_a, hostnames: [a.b], endpoints: [\"10.0.0.1:1\"],\n  \
         limits: { head_fields: 60 } }]",
        "4: services[0].limits.head_fields: \"60\" is above the router's 50, which holds first; \
         raise limits.head_fields too",
    ),
    (
        "services: [{ id: svc_a, hostnames: [a.b], endpoints: [\"10.0.0.1:1\"], limits: { response_head_bytes: 2000 } }]",
        "2: services[0].limits: unknown field \"response_head_bytes\"; no service can override it, \
         set it in the router's limits",
    ),
];
