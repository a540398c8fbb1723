//! Heads that are refused, host names that nobody has, and the wall between tenants.

use std::sync::Arc;

use crate::support::origin::ok;
use crate::support::*;

/// Request, status. Each ends its connection.
const REFUSED: &[(&str, u16)] = &[
    ("GET / HTTP/1.1\nHost: a.test\n\n", 400),
    ("GET / HTTP/1.1\r\nHost: a.test\nX: 1\r\n\r\n", 400),
    ("GET  / HTTP/1.1\r\nHost: a.test\r\n\r\n", 400),
    (" GET / HTTP/1.1\r\nHost: a.test\r\n\r\n", 400),
    ("GET / HTTP/1.1 \r\nHost: a.test\r\n\r\n", 400),
    ("GET /\r\nHost: a.test\r\n\r\n", 400),
    ("GET / FTP/1.1\r\nHost: a.test\r\n\r\n", 400),
    ("G@T / HTTP/1.1\r\nHost: a.test\r\n\r\n", 400),
    ("GET /a b HTTP/1.1\r\nHost: a.test\r\n\r\n", 400),
    ("GET /#x HTTP/1.1\r\nHost: a.test\r\n\r\n", 400),
    ("GET * HTTP/1.1\r\nHost: a.test\r\n\r\n", 400),
    ("GET ftp://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a.test\r\nHost: a.test\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a.test, b.test\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a.test/x\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a.test:x\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a.test\r\nX : 1\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a.test\r\nX: 1\r\n folded\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a.test\r\nno colon\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a.test\r\nX: a\0b\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a.test\r\nX: a\rb\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1, 1\r\n\r\nx", 400),
    ("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: +1\r\n\r\nx", 400),
    ("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxy", 400),
    ("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 18446744073709551616\r\n\r\n", 400),
    (
        "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        400,
    ),
    ("POST / HTTP/1.0\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: a.test\r\nContent_Length: 3\r\n\r\nabc", 400),
    ("POST / HTTP/1.1\r\nHost: a.test\r\nConnection: content-length\r\nContent-Length: 1\r\n\r\nx", 400),
    ("TRACE / HTTP/1.1\r\nHost: a.test\r\n\r\n", 405),
    ("CONNECT a.test:80 HTTP/1.1\r\nHost: a.test\r\n\r\n", 501),
    ("POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501),
    (
        "POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        501,
    ),
    ("GET / HTTP/2.0\r\nHost: a.test\r\n\r\n", 505),
    ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
];

#[test]
fn malformed_heads_are_refused_and_the_connection_closed() {
    let origin = Origin::saying("fine");
    let router = Setup::to(&[origin.address]).start();
    for (request, status) in REFUSED {
        let mut client = router.connect();
        // What follows must not be taken for a request of its own.
        client.send(format!("{request}GET /smuggled HTTP/1.1\r\nHost: a.test\r\n\r\n")).unwrap();
        let got = client.response().unwrap_or_else(|cut| panic!("{request:?}: {cut:?}"));
        assert_eq!(got.status, *status, "{request:?}: {}", got.text());
        assert!(!got.problem()["detail"].as_str().unwrap().is_empty());
        assert_eq!(got.head.get("connection"), Some("close"), "{request:?}");
        assert_eq!(client.end(), Cut::Closed, "{request:?}");
    }
    assert_eq!(origin.connections(), 0);
    router.wait_quiet();
}

#[test]
fn heads_beyond_the_bounds() {
    let origin = Origin::saying("fine");
    let router = Setup::to(&[origin.address]).start();
    let get = |target: &str, fields: &str| format!("GET {target} HTTP/1.1\r\nHost: a.test\r\n{fields}\r\n");
    let field = |octets| format!("X: {}\r\n", "x".repeat(octets));
    let fields = |count| (0..count).map(|n| format!("X-{n}: 1\r\n")).collect::<String>();
    let path = |octets: usize| format!("/{}", "p".repeat(octets - 1));
    let cases = [
        (get("/", &field(32_000)), 200),
        (get("/", &field(33_000)), 431),
        (get("/", &field(1 << 20)), 431),
        (get("/", &fields(99)), 200),
        (get("/", &fields(100)), 431),
        (get(&path(8192), ""), 200),
        (get(&path(8193), ""), 414),
        (get(&path(100_000), ""), 414),
        (format!("{} / HTTP/1.1\r\nHost: a.test\r\n\r\n", "M".repeat(33)), 501),
    ];
    for (request, status) in cases {
        let mut client = router.connect();
        // The router may close before it has read all of a head that is too long.
        let _ = client.send(&request);
        let got = client.response().unwrap_or_else(|cut| panic!("{}: {cut:?}", &request[..50]));
        assert_eq!(got.status, status, "{}", &request[..50]);
    }
    router.wait_quiet();
}

#[test]
fn narrower_bounds_can_be_set() {
    let origin = Origin::saying("fine");
    let bounds =
        Setup::to(&[origin.address]).set("limits.request_head_bytes", 1024).set("limits.head_fields", 16);
    let router = bounds.start();
    let ask =
        |fields: &str| router.connect().ask(format!("GET / HTTP/1.1\r\nHost: a.test\r\n{fields}\r\n")).status;
    let fields = |count| (0..count).map(|n| format!("X-{n}: 1\r\n")).collect::<String>();
    assert_eq!(ask(&fields(15)), 200);
    assert_eq!(ask(&fields(16)), 431);
    assert_eq!(ask(&format!("X: {}\r\n", "x".repeat(900))), 200);
    assert_eq!(ask(&format!("X: {}\r\n", "x".repeat(1024))), 431);
}

#[test]
fn an_unknown_host_is_told_so_and_nothing_more() {
    let origin = Origin::saying("fine");
    let router = Setup::to(&[origin.address]).start();
    let mut client = router.connect();
    for host in ["b.test", "a.test.", "A.TEST", "xa.test", "test", "a.test.evil", "[::1]", "127.0.0.1"] {
        let got = client.ask(format!("GET /secret HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        if host.eq_ignore_ascii_case("a.test") || host == "a.test." {
            assert_eq!(got.status, 200, "{host}");
            continue;
        }
        assert_eq!(got.status, 404, "{host}");
        let problem = got.problem();
        assert_eq!(problem["type"], "urn:ringway:problem:unknown-host");
        assert_eq!(problem["instance"], "/secret");
        assert!(!got.text().contains("svc_") && !got.text().contains("127.0.0.1:"));
    }
    // A body that goes with it ends the connection: it is not read.
    let got = client.ask("POST / HTTP/1.1\r\nHost: b.test\r\nContent-Length: 3\r\n\r\nabc");
    assert_eq!((got.status, got.head.get("connection")), (404, Some("close")));
    assert_eq!(client.end(), Cut::Closed);
    // HEAD gets no body.
    let mut client = router.connect();
    client.send("HEAD / HTTP/1.1\r\nHost: b.test\r\n\r\nGET / HTTP/1.1\r\nHost: a.test\r\n\r\n").unwrap();
    assert_eq!(client.response_head().unwrap().0, 404);
    assert_eq!(client.response().unwrap().text(), "fine");
    let missed = router.metric_with("ringway_failures_total", "reason=\"unknown_host\"");
    assert_eq!(missed, 8);
}

/// Whatever is wrong with the head (RFC 9110, 9.3.2).
#[test]
fn an_error_that_answers_head_has_no_content() {
    let router = Setup::new().set("timeouts.request_head", "500ms").start();
    for (status, head) in [
        (400, "HEAD / HTTP/1.1\r\n\r\n".to_owned()),
        (400, "HEAD / HTTP/1.1\r\nHost: a b\r\n\r\n".to_owned()),
        (400, "\r\nHEAD / HTTP/1.1\r\nHost: a.test\r\nContent-Length: +1\r\n\r\n".to_owned()),
        (400, "HEAD / HTTP/1.1\r\nHost: a.test\r\na b: c\r\n\r\n".to_owned()),
        (400, "HEAD https://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n".to_owned()),
        (404, "HEAD / HTTP/1.1\r\nHost: b.test\r\nConnection: close\r\n\r\n".to_owned()),
        (408, "HEAD / HTTP/1.1\r\nHost: a.te".to_owned()),
        (414, format!("HEAD /{} HTTP/1.1\r\nHost: a.test\r\n\r\n", "x".repeat(9000))),
        (417, "HEAD / HTTP/1.1\r\nHost: a.test\r\nExpect: more\r\n\r\n".to_owned()),
        (431, format!("HEAD / HTTP/1.1\r\nHost: a.test\r\na: {}\r\n\r\n", "x".repeat(40_000))),
        (501, "HEAD / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: gzip\r\n\r\n".to_owned()),
        (505, "HEAD / HTTP/2.0\r\nHost: a.test\r\n\r\n".to_owned()),
    ] {
        let mut client = router.connect();
        client.send(&head).unwrap();
        let got = client.rest().unwrap();
        let got = String::from_utf8_lossy(&got);
        assert!(got.starts_with(&format!("HTTP/1.1 {status} ")), "{head}: {got}");
        assert!(got.ends_with("\r\n\r\n") && got.matches("\r\n\r\n").count() == 1, "{head}: {got}");
    }
}

/// Three services, each with host names and an origin of its own, behind clients that mix them on kept connections.
#[test]
fn a_tenant_gets_its_own_requests_only() {
    const TENANTS: usize = 3;
    const CLIENTS: usize = 8;
    const REQUESTS: usize = 1250;
    let strays = Arc::new(std::sync::Mutex::new(Vec::new()));
    let origins: Vec<Origin> = (0..TENANTS)
        .map(|tenant| {
            let strays = Arc::clone(&strays);
            Origin::answering(move |head, body| {
                let host = head.get("host").unwrap_or_default().to_owned();
                if !host.ends_with(&format!(".t{tenant}.test")) {
                    strays.lock().unwrap().push(format!("{host} at {tenant}"));
                }
                ok(format!("{tenant} {host} {} {}", head.path(), String::from_utf8_lossy(body)))
            })
        })
        .collect();
    let mut setup = Setup::new().set("access_log.success_sample", 0);
    for (tenant, origin) in origins.iter().enumerate() {
        let hosts: Vec<String> = (0..5).map(|n| format!("h{n}.t{tenant}.test")).collect();
        let hosts: Vec<&str> = hosts.iter().map(String::as_str).collect();
        setup = setup.service(&format!("svc_{tenant}"), &hosts, &[origin.address]);
    }
    let router = setup.start();
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let router = &router;
            scope.spawn(move || {
                let mut wire = router.connect();
                for n in 0..REQUESTS {
                    let tenant = (client + n * 7 + n / 5) % TENANTS;
                    let host = format!("h{}.t{tenant}.test", n % 5);
                    let body = format!("{client}.{n}");
                    let length = body.len();
                    let got = wire.ask(format!(
                        "POST /{n} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\n\r\n{body}"
                    ));
                    assert_eq!(got.text(), format!("{tenant} {host} /{n} {body}"));
                }
            });
        }
    });
    assert_eq!(*strays.lock().unwrap(), [""; 0]);
    let served: usize = origins.iter().map(|origin| origin.requests().len()).sum();
    assert_eq!(served, CLIENTS * REQUESTS);
    router.wait_quiet();
}
