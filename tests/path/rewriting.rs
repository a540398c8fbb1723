//! What is put into a request and a response on their way, and what is taken out.

use crate::support::origin::ok;
use crate::support::*;

/// A router before an origin that answers 200.
fn pair() -> (Router, Origin) {
    let origin = Origin::saying("fine");
    (Setup::to(&[origin.address]).start(), origin)
}

fn get(fields: &str) -> String {
    format!("GET /p?q=1 HTTP/1.1\r\nHost: A.test:80\r\n{fields}\r\n")
}

#[test]
fn one_request_id_in_all_places() {
    let (router, origin) = pair();
    let mut client = router.connect();
    let got = client.ask(get("X-Request-Id: mine\r\n"));
    let id = got.head.get("x-request-id").unwrap().to_owned();
    assert_ne!(id, "mine");
    assert_eq!(origin.requests()[0].all("x-request-id"), [id.as_str()]);
    let line = router.logged(&id);
    assert_eq!(line["http.response.status_code"], 200);
    assert_eq!(line["ringway.service"], "svc_a");
    assert_eq!(line["url.path"], "/p");
    // Again, for an answer of the router's own.
    let got = client.ask("GET / HTTP/1.1\r\nHost: b.test\r\n\r\n");
    let problem = got.problem();
    let other = problem["request_id"].as_str().unwrap();
    assert_ne!(other, id);
    assert_eq!(router.logged(other)["ringway.reason"], "unknown_host");
}

#[test]
fn a_trace_is_continued() {
    let (router, origin) = pair();
    let trace = "0af7651916cd43dd8448eb211c80319c";
    let inbound = format!("traceparent: 00-{trace}-b7ad6b7169203331-01\r\ntracestate: k=v\r\n");
    let got = router.connect().ask(get(&inbound));
    let request = &origin.requests()[0];
    let [outbound] = request.all("traceparent")[..] else { panic!("{request:?}") };
    let parts: Vec<&str> = outbound.split('-').collect();
    assert_eq!((parts[0], parts[1], parts[3]), ("00", trace, "01"));
    assert_ne!(parts[2], "b7ad6b7169203331");
    assert_eq!(request.all("tracestate"), ["k=v"]);
    let line = router.logged(got.head.get("x-request-id").unwrap());
    assert_eq!((line["trace.id"].as_str(), line["span.id"].as_str()), (Some(trace), Some(parts[2])));
}

#[test]
fn a_trace_is_begun_where_none_comes_or_a_malformed_one() {
    let (router, origin) = pair();
    let mut client = router.connect();
    let zero = "00-00000000000000000000000000000000-b7ad6b7169203331-01";
    let inbound = ["", "not-a-trace", zero, "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"];
    for value in inbound {
        let field = format!("traceparent: {value}\r\ntracestate: k=v\r\n");
        assert_eq!(client.ask(get(if value.is_empty() { "" } else { &field })).status, 200);
    }
    let mut traces: Vec<String> = Vec::new();
    for request in origin.requests() {
        let [outbound] = request.all("traceparent")[..] else { panic!("{request:?}") };
        let parts: Vec<&str> = outbound.split('-').collect();
        assert_eq!(
            (parts[0], parts[1].len(), parts[2].len(), parts[3].len()),
            ("00", 32, 16, 2),
            "{outbound}"
        );
        assert_eq!(request.get("tracestate"), None, "belongs to a trace that ended here");
        traces.push(parts[1].to_owned());
    }
    traces.sort_unstable();
    traces.dedup();
    assert_eq!(traces.len(), inbound.len());
}

#[test]
fn what_strangers_claim_to_forward_is_replaced() {
    let (router, origin) = pair();
    let claims = "X-Forwarded-For: 1.2.3.4\r\nX-Forwarded-Host: evil\r\nX-Forwarded-Proto: https\r\n\
                  X-Forwarded-Port: 1\r\nForwarded: for=1.2.3.4\r\nX-Real-Id: kept\r\n";
    router.connect().ask(get(claims));
    let request = &origin.requests()[0];
    assert_eq!(request.all("x-forwarded-for"), ["127.0.0.1"]);
    assert_eq!(request.all("x-forwarded-host"), ["A.test:80"]);
    assert_eq!(request.all("x-forwarded-proto"), ["http"]);
    assert_eq!(request.all("x-forwarded-port"), [""; 0]);
    assert_eq!(request.all("forwarded"), [""; 0]);
    assert_eq!(request.all("x-real-id"), ["kept"]);
    assert_eq!(request.all("host"), ["A.test:80"]);
    assert_eq!(request.start, "GET /p?q=1 HTTP/1.1");
}

#[test]
fn a_trusted_proxy_is_believed() {
    let origin = Origin::saying("fine");
    let router = Setup::to(&[origin.address]).listener("trusted_proxies", vec!["127.0.0.1/32"]).start();
    let told = "X-Forwarded-For: 1.2.3.4\r\nX-Forwarded-Host: shop\r\nX-Forwarded-Proto: https\r\n";
    router.connect().ask(get(told));
    let request = &origin.requests()[0];
    assert_eq!(request.all("x-forwarded-for"), ["1.2.3.4, 127.0.0.1"]);
    assert_eq!(request.all("x-forwarded-host"), ["shop"]);
    assert_eq!(request.all("x-forwarded-proto"), ["https"]);
}

#[test]
fn internal_fields_of_clients_are_stripped() {
    let (router, origin) = pair();
    let claims = "X-Verified-Subject: root\r\nx-verified-scopes: all\r\nX-Attempt: 9\r\n";
    router.connect().ask(get(claims));
    let request = &origin.requests()[0];
    assert!(request.fields.iter().all(|(name, _)| !name.to_lowercase().starts_with("x-verified")));
    assert_eq!(request.all("x-attempt"), ["1"]);
    assert_eq!(request.all("via"), ["1.1 ringway"]);
}

#[test]
fn the_second_attempt_says_so() {
    let (origin, refusing) = (Origin::saying("fine"), ports::free_address());
    let router = Setup::to(&[refusing, origin.address]).start();
    let mut client = router.connect();
    let attempts = |head: &Head| head.get("x-attempt").map(str::to_owned);
    let tried = wait_for("an endpoint that refuses is tried first", wait::PATIENCE, || {
        assert_eq!(client.ask(get("")).status, 200);
        origin.requests().iter().filter_map(attempts).find(|attempt| attempt != "1")
    });
    assert_eq!(tried, "2");
    let second = router.metric("ringway_second_attempts_total");
    let told = origin.requests().iter().filter_map(attempts).filter(|attempt| attempt == "2").count();
    assert_eq!(second, told as u64);
}

#[test]
fn fields_of_one_connection_stay_there() {
    let origin = Origin::answering(|_, _| {
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: X-Hop, keep-alive\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\n\
          Proxy-Connection: keep-alive\r\nX-End: 1\r\n\r\nok"
            .to_vec()
    });
    let router = Setup::to(&[origin.address]).start();
    let hop = "Connection: close, X-Mine, TE\r\nX-Mine: 1\r\nTE: gzip\r\nKeep-Alive: timeout=5\r\n\
               Proxy-Connection: keep-alive\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMA\r\nX-End: 1\r\n";
    let got = router.connect().ask(get(hop));
    let request = &origin.requests()[0];
    let stopped = [
        "connection",
        "x-mine",
        "te",
        "keep-alive",
        "proxy-connection",
        "upgrade",
        "http2-settings",
        "x-hop",
    ];
    for name in stopped {
        assert_eq!(request.get(name), None, "{name} reached the origin");
    }
    for name in ["x-hop", "keep-alive", "proxy-connection"] {
        assert_eq!(got.head.get(name), None, "{name} reached the client");
    }
    assert_eq!((request.get("x-end"), got.head.get("x-end")), (Some("1"), Some("1")));
    assert_eq!(got.head.all("connection"), ["close"]);
}

#[test]
fn an_absolute_target_names_the_host() {
    let (router, origin) = pair();
    let got = router.connect().ask("GET http://a.test/x?y HTTP/1.1\r\nHost: b.test\r\n\r\n");
    assert_eq!(got.status, 200);
    let request = &origin.requests()[0];
    assert_eq!((request.start.as_str(), request.all("host")), ("GET /x?y HTTP/1.1", vec!["a.test"]));
}

#[test]
fn requests_with_a_body_keep_their_framing() {
    let origin = Origin::answering(|head, body| {
        assert!(head.get("content-length").is_some() != head.get("transfer-encoding").is_some());
        ok(body)
    });
    let router = Setup::to(&[origin.address]).start();
    let mut client = router.connect();
    let got = client.ask("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n\r\nhello");
    assert_eq!(got.text(), "hello");
    let chunks = "3;ext=1\r\nhel\r\n2\r\nlo\r\n0\r\nX-Trailer: 1\r\n\r\n";
    let got =
        client.ask(format!("POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}"));
    assert_eq!(got.text(), "hello");
    assert_eq!(origin.connections(), 1);
}

#[test]
fn options_for_the_server_as_a_whole() {
    let (router, origin) = pair();
    for target in ["*", "http://a.test"] {
        let got = router.connect().ask(format!("OPTIONS {target} HTTP/1.1\r\nHost: a.test\r\n\r\n"));
        assert_eq!(got.status, 200);
    }
    assert!(origin.requests().iter().all(|head| head.start == "OPTIONS * HTTP/1.1"));
}

#[test]
fn ipv4_peers_of_a_dual_stack_listener_are_ipv4() {
    let origin = Origin::saying("fine");
    let setup = Setup::to(&[origin.address]).listener("trusted_proxies", vec!["127.0.0.0/8"]);
    let listen = format!("[::]:{}", setup.address.port());
    let router = setup.listener("address", listen).start();
    let got = router.connect().ask(get("X-Forwarded-For: 1.2.3.4\r\n"));
    assert_eq!(origin.requests()[0].all("x-forwarded-for"), ["1.2.3.4, 127.0.0.1"]);
    assert_eq!(router.logged(got.head.get("x-request-id").unwrap())["client.ip"], "127.0.0.1");
}
