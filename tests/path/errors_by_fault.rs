//! Errors by whose fault they are, and times by who took them.

use std::time::Duration;

use serde_json::json;

use crate::support::origin::ok;
use crate::support::*;

const GET: &str = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";

#[test]
fn errors_of_the_client_the_gateway_and_the_origin_land_in_different_series() {
    let origin = Origin::answering(|head, _| match head.path() {
        "/500" => b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n".to_vec(),
        _ => ok("fine"),
    });
    let (dead, other) = (ports::free_address(), ports::free_address());
    let listener =
        json!({ "address": other.to_string(), "protocol": "http", "internal_from": ["127.0.0.0/8"] });
    let setup = Setup::to(&[origin.address]).service("svc_dead", &["dead.test"], &[dead]);
    let mut router = setup.also_listen(listener).start();
    let mut client = router.connect();
    let mut asked =
        |path: &str, host: &str| client.ask(format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n")).status;
    assert_eq!((asked("/", "a.test"), asked("/500", "a.test")), (200, 500));
    assert_eq!((asked("/", "dead.test"), asked("/", "b.test")), (502, 404));
    // The gateway's own: what a load balancer hears of a listener that goes away.
    let mut balancer = Wire::connect(other);
    let health = "GET /.well-known/gateway-health HTTP/1.1\r\nHost: lb\r\n\r\n";
    assert_eq!(balancer.ask(health).status, 200);
    router.change(Setup::listen_once);
    assert_eq!(router.reload().status, 200);
    assert_eq!(balancer.ask(health).status, 503);
    let total = |labels: &str| router.metric_with("ringway_errors_total", labels);
    for (labels, errors) in [
        ("fault=\"client\",by=\"ringway\",status=\"4xx\"", 1),
        ("fault=\"gateway\",by=\"ringway\",status=\"5xx\"", 1),
        ("fault=\"origin\",by=\"ringway\",status=\"5xx\"", 1),
        ("fault=\"origin\",by=\"origin\",status=\"5xx\"", 1),
        ("", 4),
    ] {
        assert_eq!(total(labels), errors, "{labels}");
    }
    let of_service = |labels: &str| router.metric_with("ringway_service_errors_total", labels);
    wait_until("cores have handed over what they counted", || of_service("") == 4);
    for (labels, errors) in [
        ("service=\"svc_a\",fault=\"origin\",by=\"origin\"", 1),
        ("service=\"svc_a\"", 1),
        ("service=\"svc_dead\",fault=\"origin\",by=\"ringway\"", 1),
        ("service=\"(none)\",fault=\"client\"", 1),
        ("service=\"(none)\",fault=\"gateway\"", 1),
    ] {
        assert_eq!(of_service(labels), errors, "{labels}");
    }
}

/// However many services fail, the exposition stays small, and no error is lost.
#[test]
fn series_by_service_are_bounded() {
    const SERVICES: usize = 300;
    let dead = ports::free_address();
    let names: Vec<(String, String)> =
        (0..SERVICES).map(|n| (format!("svc_{n}"), format!("h{n}.test"))).collect();
    let setup = names.iter().fold(Setup::new(), |setup, (id, host)| setup.service(id, &[host], &[dead]));
    let router = setup.start();
    let mut client = router.connect();
    for (_, host) in &names {
        assert_eq!(client.ask(format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n")).status, 502);
    }
    let errors = || router.metric("ringway_service_errors_total");
    wait_until("cores have handed over what they counted", || errors() == SERVICES as u64);
    let exposition = router.admin("/metrics");
    let series = exposition.text().lines().filter(|line| line.starts_with("ringway_service_errors_total{"));
    assert_eq!(series.count(), 4 * 101, "a hundred services and the others, by kind");
    assert!(router.metric_with("ringway_service_errors_total", "(others)") >= 200);
}

/// What the origin and the body take is not the router's, whether the request succeeds or not.
#[test]
fn overhead_excludes_the_origin_and_the_transfer() {
    const WAIT: Duration = Duration::from_millis(150);
    let origin = Origin::start(|mut visit| {
        while let Ok((head, _)) = visit.request() {
            pause(WAIT);
            if head.path() == "/reset" {
                return visit.reset();
            }
            visit.say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na");
            pause(WAIT);
            visit.say("b");
        }
    });
    let router = Setup::to(&[origin.address]).start();
    assert_eq!(router.connect().ask(GET).text(), "ab");
    assert_eq!(
        router.connect().ask("POST /reset HTTP/1.1\r\nHost: a.test\r\nContent-Length: 0\r\n\r\n").status,
        502
    );
    let sum = |name: &str| router.metric_ms(&format!("ringway_{name}_duration_seconds_sum"));
    let (whole, origins) = (sum("request"), sum("origin"));
    let (transfer, own) = (sum("transfer"), sum("overhead"));
    assert!(whole >= 440 && origins >= 290 && transfer >= 140, "{whole} {origins} {transfer} {own}");
    assert!(own <= 60, "{own} ms of {whole} are said to be the router's own");
    assert!((origins + transfer + own).abs_diff(whole) <= 3, "the parts are the whole");
}
