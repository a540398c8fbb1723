//! Endpoints by name: their addresses come from DNS, follow it, and outlive it.

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::dns::{Dns, Mood};
use crate::support::*;

const GET: &str = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// An origin on another loopback address, with the same port as `like`.
fn origin_at(address: &str, like: &Origin, body: &'static str) -> Origin {
    Origin::at(SocketAddr::new(ip(address), like.address.port()), body)
}

fn setup(dns: &Dns, endpoint: String) -> Setup {
    Setup::new()
        .service_at("svc_a", &["a.test"], &[endpoint])
        .set("resolver.servers", json!([dns.address.to_string()]))
}

fn ask(router: &Router) -> String {
    let got = router.connect().ask(GET);
    assert_eq!(got.status, 200, "{got:?}");
    got.text().to_owned()
}

#[test]
fn addresses_follow_their_name_and_outlive_it() {
    let dns = Dns::start();
    let one = Origin::saying("one");
    let other = origin_at("127.0.0.2", &one, "other");
    dns.set("app.test", &[ip("127.0.0.1")], 1);
    let router = setup(&dns, format!("app.test:{}", one.address.port())).start();
    // Known before the router is ready.
    assert_eq!(ask(&router), "one");
    // Its time is over within a second or two.
    dns.set("app.test", &[ip("127.0.0.2")], 1);
    wait_until("requests go to the new address", || ask(&router) == "other");
    // Both.
    dns.set("app.test", &[ip("127.0.0.1"), ip("127.0.0.2")], 1);
    let before = one.requests().len();
    wait_until("requests go to both", || !ask(&router).is_empty() && one.requests().len() > before + 5);
    // DNS fails, is silent, knows the name no more: what was known stays.
    for mood in [Mood::Fails, Mood::Silent] {
        let failed = router.metric_with("ringway_name_lookups_total", "outcome=\"failed\"");
        dns.mood(mood);
        wait_until("a look-up has failed", || {
            ask(&router);
            router.metric_with("ringway_name_lookups_total", "outcome=\"failed\"") > failed
        });
        assert_eq!(router.metric("ringway_names_failing"), 1);
        (0..50).for_each(|_| drop(ask(&router)));
    }
    assert!(router.part.said().contains("\"dns.question.name\":\"app.test\""), "{}", router.part.said());
    // It comes back.
    dns.set("app.test", &[ip("127.0.0.2")], 1);
    dns.mood(Mood::Answers);
    wait_until("DNS is heard again", || router.metric("ringway_names_failing") == 0);
    wait_until("requests go to what it says", || (0..10).all(|_| ask(&router) == "other"));
    drop(other);
}

#[test]
fn an_answer_is_used_for_as_long_as_it_holds() {
    let dns = Dns::start();
    let origin = Origin::saying("fine");
    dns.set("app.test", &[ip("127.0.0.1")], 3600);
    let router = setup(&dns, format!("app.test:{}", origin.address.port())).start();
    let asked = dns.queries();
    let began = Instant::now();
    while began.elapsed() < Duration::from_millis(2_500) {
        assert_eq!(ask(&router), "fine");
    }
    assert_eq!(dns.queries(), asked, "requests must not cost look-ups");
    assert_eq!((router.metric("ringway_names"), router.metric("ringway_names_failing")), (1, 0));
}

#[test]
fn a_start_does_not_wait_for_ever_and_a_name_may_come_later() {
    let dns = Dns::start();
    let origin = Origin::saying("fine");
    dns.mood(Mood::Silent);
    let setup = setup(&dns, format!("app.test:{}", origin.address.port()));
    let router = setup.service("svc_b", &["b.test"], &[origin.address]).start();
    // Nobody else waits for it.
    assert_eq!(router.connect().ask("GET / HTTP/1.1\r\nHost: b.test\r\n\r\n").status, 200);
    let got = router.connect().ask(GET);
    assert_eq!(got.problem()["type"], "urn:ringway:problem:no-healthy-endpoints");
    dns.set("app.test", &[ip("127.0.0.1")], 60);
    dns.mood(Mood::Answers);
    wait_until("the name has an address", || router.connect().ask(GET).status == 200);
}

/// So many endpoints whose names nobody answers, spelled to come before others.
fn silent(dns: &Dns, domain: &str) -> Vec<String> {
    dns.silence(domain);
    (0..200).map(|n| format!("a{n}.{domain}:81")).collect()
}

fn asked(host: &str) -> String {
    format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n")
}

#[test]
fn names_that_nobody_answers_make_no_other_service_wait() {
    let dns = Dns::start();
    let one = Origin::saying("one");
    let other = origin_at("127.0.0.2", &one, "other");
    let port = one.address.port();
    dns.set("good.test", &[ip("127.0.0.1")], 1);
    let mut router = setup(&dns, format!("good.test:{port}"))
        .service_at("svc_bad", &["bad.test"], &silent(&dns, "bad.test"))
        .start();
    // The first request of all; the others are known not to have been waited for.
    assert_eq!(ask(&router), "one");
    let said = router.part.said();
    assert!(said.contains("they are not waited for") && said.contains("a0.bad.test"), "{said}");
    assert!(router.metric("ringway_names_waiting") > 0);
    let follows = || {
        for (address, body) in [("127.0.0.2", "other"), ("127.0.0.1", "one")] {
            dns.set("good.test", &[ip(address)], 1);
            wait_until("requests go to the new address", || ask(&router) == body);
        }
    };
    follows();
    wait_until("silent names fail", || router.metric("ringway_names_failing") > 0);
    follows();
    // More of them come with a reload, and a name that is answered.
    dns.set("fresh.test", &[ip("127.0.0.1")], 60);
    let more = silent(&dns, "more.test");
    router.change(|setup| {
        setup.service_at("svc_more", &["more.test"], &more).service_at(
            "svc_fresh",
            &["fresh.test"],
            &[format!("fresh.test:{port}")],
        )
    });
    assert_eq!(router.reload().status, 200);
    assert_eq!(router.connect().ask(asked("fresh.test")).text(), "one");
    dns.set("good.test", &[ip("127.0.0.2")], 1);
    wait_until("requests go to the new address", || ask(&router) == "other");
    // Those that are waited for once are not waited for again, though most of them are still to be asked for.
    let told = || router.part.said().matches("they are not waited for").count();
    assert_eq!((router.reload().status, told()), (200, 2));
    drop(other);
}

#[test]
fn a_reload_that_is_refused_forgets_no_address() {
    let dns = Dns::start();
    let origin = Origin::saying("fine");
    let port = origin.address.port();
    let other = origin_at("127.0.0.2", &origin, "other");
    dns.set("app.old.test", &[ip("127.0.0.1")], 1);
    dns.set("tick.test", &[ip("127.0.0.1")], 1);
    let mut router = setup(&dns, format!("app.old.test:{port}"))
        .service_at("svc_b", &["b.test"], &[format!("tick.test:{port}")])
        .start();
    assert_eq!(ask(&router), "fine");
    // Nobody would tell the address again.
    dns.silence("old.test");
    router.change(|setup| {
        let new = setup.services(&[]).service_at("svc_c", &["c.test"], &[format!("c.old.test:{port}")]);
        new.set("access_log.path", "/no/such/folder/log")
    });
    let got = router.reload();
    assert!(got.status == 422 && got.text().contains("/no/such/folder/log"), "{got:?}");
    dns.set("tick.test", &[ip("127.0.0.2")], 1);
    wait_until("addresses have changed", || router.connect().ask(asked("b.test")).text() == "other");
    assert_eq!(ask(&router), "fine");
    assert_eq!(router.metric("ringway_names"), 2);
    drop(other);
}

#[test]
fn nobody_waits_for_a_reload_that_waits_for_names() {
    let dns = Dns::start();
    let origin = Origin::saying("fine");
    dns.set("app.test", &[ip("127.0.0.1")], 60);
    dns.silence("bad.test");
    let mut router = setup(&dns, format!("app.test:{}", origin.address.port())).start();
    // The main thread answers while a reload is under way: on a busy machine perhaps not the first time.
    let is_heard = (0..5).any(|nth| {
        let (id, host) = (format!("svc_{nth}"), format!("h{nth}.test"));
        router.change(|setup| setup.service_at(&id, &[&host], &[format!("n{nth}.bad.test:81")]));
        let before = dns.queries();
        std::thread::scope(|scope| {
            let reload = scope.spawn(|| router.reload());
            wait_until("the new name is asked for", || dns.queries() > before);
            let explained = router.admin("/v1/explain?host=a.test&path=/&method=GET");
            let was_first = !reload.is_finished();
            assert_eq!(explained.status, 200, "{explained:?}");
            assert_eq!(reload.join().expect("an answer").status, 200);
            was_first
        })
    });
    assert!(is_heard);
}
