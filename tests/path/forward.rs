//! Well-formed traffic between curl and nginx.

use crate::support::*;

const MEGABYTE: usize = 1 << 20;

fn router(nginx: &Nginx) -> Router {
    // The default, which all other tests forgo for the sake of their neighbours.
    Setup::to(&[nginx.address]).set("idle", "adaptive").start()
}

#[test]
fn files_go_up_and_come_down_with_a_length() {
    let nginx = Nginx::start();
    let router = router(&nginx);
    let file = noise(300_000);
    let put = Curl::new().body("-T", &file).get(&router, "a.test", "/files/noise");
    assert_eq!(put.status, 201, "{}", put.heads);
    assert_eq!(std::fs::read(nginx.file("noise")).unwrap(), file);

    let got = Curl::new().get(&router, "a.test", "/files/noise");
    assert_eq!((got.status, got.field("content-length")), (200, Some("300000")));
    assert!(got.body == file, "another file came back");

    let head = Curl::new().with(["-I"]).get(&router, "a.test", "/files/noise");
    assert_eq!((head.status, head.field("content-length")), (200, Some("300000")));
    assert_eq!(head.heads.lines().filter(|line| line.starts_with("HTTP/")).count(), 1);

    let gone = Curl::new().with(["-X", "DELETE"]).get(&router, "a.test", "/files/noise");
    assert_eq!((gone.status, gone.body.len()), (204, 0));
    assert!(!nginx.file("noise").exists());
}

#[test]
fn bodies_go_up_and_come_down_in_chunks() {
    let nginx = Nginx::start();
    let router = router(&nginx);
    let file = noise(3 * MEGABYTE + 17);
    let chunked = Curl::new().with(["-H", "Transfer-Encoding: chunked"]);
    let put = chunked.body("-T", &file).get(&router, "a.test", "/files/noise");
    assert_eq!(put.status, 201, "{}", put.heads);
    assert!(std::fs::read(nginx.file("noise")).unwrap() == file, "another file went up");
    let got = Curl::new().get(&router, "a.test", "/chunked/noise");
    assert_eq!((got.status, got.field("transfer-encoding")), (200, Some("chunked")));
    assert!(got.body == file, "another file came back");
}

#[test]
fn a_post_comes_back_as_it_went() {
    let nginx = Nginx::start();
    let router = router(&nginx);
    for size in [0, 1, 4096, 40_000] {
        let body = noise(size);
        let post = Curl::new().with(["-X", "POST"]).body("--data-binary", &body);
        let echo = post.get(&router, "a.test", "/echo");
        assert_eq!((echo.status, echo.body), (200, body));
    }
}

#[test]
fn an_origin_that_ends_bodies_by_closing() {
    let nginx = Nginx::start();
    let router = router(&nginx);
    let file = noise(2 * MEGABYTE);
    std::fs::write(nginx.file("noise"), &file).unwrap();
    let got = Curl::new().get(&router, "a.test", "/until-close/noise");
    assert_eq!((got.status, got.field("transfer-encoding")), (200, Some("chunked")));
    assert!(got.body == file, "another file came back");
    // HTTP/1.0 knows no chunks, so the end of the connection is the end of the body.
    let got = Curl::new().with(["--http1.0"]).get(&router, "a.test", "/until-close/noise");
    assert_eq!((got.status, got.field("transfer-encoding")), (200, None));
    assert_eq!(got.field("connection"), Some("close"));
    assert!(got.body == file, "another file came back");
}

#[test]
fn conditional_and_ranged_answers() {
    let nginx = Nginx::start();
    let router = router(&nginx);
    std::fs::write(nginx.file("text"), "0123456789").unwrap();
    let first = Curl::new().get(&router, "a.test", "/files/text");
    let etag = format!("If-None-Match: {}", first.field("etag").unwrap());
    let same = Curl::new().with(["-H", &etag]).get(&router, "a.test", "/files/text");
    assert_eq!((same.status, same.body.len()), (304, 0));
    let part = Curl::new().with(["-r", "2-4"]).get(&router, "a.test", "/files/text");
    assert_eq!((part.status, part.text()), (206, "234"));
    let empty = Curl::new().get(&router, "a.test", "/empty");
    assert_eq!((empty.status, empty.field("content-length")), (204, None));
}

#[test]
fn an_upload_waits_for_100_continue() {
    let nginx = Nginx::start();
    let router = router(&nginx);
    let file = noise(2 * MEGABYTE);
    let expecting = Curl::new().with(["-H", "Expect: 100-continue", "--expect100-timeout", "60"]);
    let put = expecting.body("-T", &file).get(&router, "a.test", "/files/noise");
    let statuses: Vec<&str> =
        put.heads.lines().filter(|line| line.starts_with("HTTP/")).map(|line| &line[9..12]).collect();
    assert_eq!(statuses, ["100", "201"], "{}", put.heads);
    assert!(std::fs::read(nginx.file("noise")).unwrap() == file, "another file went up");
}

#[test]
fn connections_are_kept_on_both_sides() {
    let nginx = Nginx::start();
    let router = router(&nginx);
    let got = Curl::new().get(&router, "a.test", "/uri/[1-50]");
    assert_eq!((got.status, got.connects, got.text()), (200, 1, "/uri/50"));
    assert_eq!(router.metric("ringway_connections_accepted_total"), 1);
    assert_eq!(router.metric("ringway_upstream_connects_total"), 1);
    assert_eq!(router.metric("ringway_upstream_reused_total"), 49);
    assert_eq!(router.metric_with("ringway_requests_total", "class=\"2xx\""), 50);
    router.wait_quiet();
}

#[test]
fn a_side_that_closes_does_not_end_the_other() {
    let nginx = Nginx::start();
    let router = router(&nginx);
    // The origin closes after each response; the client stays.
    let mut client = router.connect();
    for _ in 0..3 {
        let got = client.ask("GET /close HTTP/1.1\r\nHost: a.test\r\n\r\n");
        assert_eq!((got.status, got.text(), got.head.get("connection")), (200, "closing", None));
    }
    assert_eq!(router.metric("ringway_upstream_connects_total"), 3);
    // The client closes; the origin's connection is kept for the next.
    for _ in 0..3 {
        let mut client = router.connect();
        let got = client.ask("GET /uri/ HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n");
        assert_eq!((got.status, got.head.get("connection")), (200, Some("close")));
        assert_eq!(client.end(), Cut::Closed);
    }
    // At most one per core.
    assert!(router.metric("ringway_upstream_connects_total") <= 5);
}

#[test]
fn pipelined_requests_are_answered_in_their_order() {
    let nginx = Nginx::start();
    let router = router(&nginx);
    let mut client = router.connect();
    let requests: String = (0..200)
        .map(|n| {
            let method = if n % 3 == 0 { "HEAD" } else { "GET" };
            format!("{method} /uri/{n} HTTP/1.1\r\nHost: a.test\r\n\r\n")
        })
        .collect();
    client.send(requests).unwrap();
    for n in 0..200 {
        if n % 3 == 0 {
            let (status, head) = client.response_head().unwrap();
            assert_eq!(
                (status, head.get("content-length")),
                (200, Some(format!("/uri/{n}").len()).map(|l| l.to_string()).as_deref())
            );
        } else {
            assert_eq!(client.response().unwrap().text(), format!("/uri/{n}"));
        }
    }
    assert_eq!(router.metric("ringway_connections_accepted_total"), 1);
}

#[test]
fn clients_of_http_1_0() {
    let nginx = Nginx::start();
    let router = router(&nginx);
    let mut client = router.connect();
    let got = client.ask("GET /uri/ HTTP/1.0\r\nHost: a.test\r\n\r\n");
    assert_eq!((got.status, got.text(), got.head.get("connection")), (200, "/uri/", Some("close")));
    assert_eq!(client.end(), Cut::Closed);
    let mut client = router.connect();
    for _ in 0..2 {
        let got = client.ask("GET /uri/ HTTP/1.0\r\nHost: a.test\r\nConnection: keep-alive\r\n\r\n");
        assert_eq!((got.status, got.head.get("connection")), (200, Some("keep-alive")));
    }
    // A body whose length nobody knows cannot be followed by another.
    std::fs::write(nginx.file("text"), "abc").unwrap();
    let got = client.ask("GET /chunked/text HTTP/1.0\r\nHost: a.test\r\nConnection: keep-alive\r\n\r\n");
    assert_eq!((got.status, got.text(), got.head.get("transfer-encoding")), (200, "abc", None));
    assert_eq!(client.end(), Cut::Closed);
}

#[test]
fn the_balancer_in_front_may_ask_how_the_router_is() {
    let nginx = Nginx::start();
    let ask = "GET /.well-known/gateway-health HTTP/1.1\r\nHost: whatever\r\n\r\n";
    let known = Setup::to(&[nginx.address]).listener("internal_from", vec!["127.0.0.0/8"]).start();
    let got = known.connect().ask(ask);
    assert_eq!((got.status, got.text()), (200, "ok\n"));
    let unknown = Setup::to(&[nginx.address]).listener("internal_from", vec!["10.0.0.0/8"]).start();
    assert_eq!(unknown.connect().ask(ask).problem()["status"], 404);
}

#[test]
fn ipv6_listeners_and_endpoints() {
    let origin = std::net::TcpListener::bind("[::1]:0").unwrap();
    let address = origin.local_addr().unwrap();
    std::thread::spawn(move || {
        let mut wire = Wire::new(origin.accept().unwrap().0);
        let head = wire.head().unwrap();
        let forwarded = head.get("x-forwarded-for").unwrap_or_default().to_owned();
        wire.send(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{forwarded}", forwarded.len()))
    });
    let setup = Setup::to(&[address]);
    let listen: std::net::SocketAddr = format!("[::1]:{}", setup.address.port()).parse().unwrap();
    let router = setup.listener("address", listen.to_string()).start();
    let got = Wire::connect(listen).ask("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n");
    assert_eq!((got.status, got.text()), (200, "::1"));
    router.wait_quiet();
}
