//! Paths that could be read in more than one way: refused with a reason, resolved, or let through.

use crate::support::*;

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: a.test\r\n\r\n")
}

/// Paths as they arrive, each asked for on one connection; `None` for those that are refused.
fn arrive(paths: Option<&str>, asked: &[&str]) -> Vec<Option<String>> {
    let origin = Origin::saying("fine");
    let mut setup = Setup::to(&[origin.address]);
    if let Some(paths) = paths {
        setup = setup.of_service("paths", paths);
    }
    let router = setup.start();
    let mut client = router.connect();
    let statuses: Vec<u16> = asked.iter().map(|path| client.ask(get(path)).status).collect();
    let seen = origin.requests();
    let mut seen = seen.iter().map(|head| head.path().to_owned());
    let arrived = statuses.iter().map(|status| match status {
        200 => seen.next(),
        400 => None,
        other => panic!("{other}: {asked:?}"),
    });
    arrived.collect()
}

#[test]
fn octets_go_on_as_they_came_unless_dots_are_resolved() {
    let asked =
        ["/", "/%7Euser/caf%c3%a9?q=%2F..", "//x", "/a;v=1/b", "/a/../b?a/../b", "/a/%2e%2e/%62", "/.git/.."];
    let same = asked.map(|path| Some(path.to_owned()));
    let mut resolved = same.clone();
    resolved[4..].clone_from_slice(&["/b?a/../b", "/%62", "/"].map(|path| Some(path.to_owned())));
    assert_eq!(arrive(None, &asked), resolved);
    assert_eq!(arrive(Some("raw"), &asked), same);
    let [first, ..] = same;
    assert_eq!(arrive(Some("strict"), &asked), [first, None, None, None, None, None, None]);
}

/// What RFC 3986 would have encoded, and browsers leave as it is.
#[test]
fn characters_that_mean_the_same_to_all_pass_everywhere() {
    let asked = ["/a\"<b>^`{|}", "/?\"<>^`{|}\\..\\x"];
    let same = asked.map(|path| Some(path.to_owned()));
    for paths in [None, Some("strict"), Some("raw")] {
        assert_eq!(arrive(paths, &asked), same, "{paths:?}");
    }
    assert_eq!(arrive(Some("strict"), &["/a\\b", "/..\\b"]), [None, None]);
}

#[test]
fn an_absolute_target_is_resolved_too() {
    let origin = Origin::saying("fine");
    let router = Setup::to(&[origin.address]).start();
    let mut client = router.connect();
    for target in ["http://a.test/x/../y?q", "http://a.test?q", "http://a.test/%2f"] {
        client.ask(get(target));
    }
    let seen: Vec<String> = origin.requests().iter().map(|head| head.path().to_owned()).collect();
    assert_eq!(seen, ["/y?q", "/?q"]);
}

#[test]
fn ambiguous_paths_are_refused_with_a_reason() {
    let asked = [
        "/a%2fb",
        "/..%5cadmin",
        "/a\\b",
        "/%252e%252e/admin",
        "/a/..;/admin",
        "/%00",
        "/%c0%ae/",
        "/%",
        "/../etc",
    ];
    let origin = Origin::saying("fine");
    let router = Setup::to(&[origin.address]).service("svc_raw", &["raw.test"], &[origin.address]);
    let router = router.of_service("paths", "raw").start();
    let mut client = router.connect();
    for path in asked {
        let got = client.ask(get(path));
        assert_eq!(got.status, 400, "{path}");
        let problem = got.problem();
        assert!(problem["detail"].as_str().unwrap().starts_with("the path "), "{problem}");
        let line = router.logged(problem["request_id"].as_str().unwrap());
        assert_eq!((&line["ringway.reason"], &line["url.path"]), (&"ambiguous_path".into(), &path.into()));
    }
    let refused = router.metric_with("ringway_failures_total", "reason=\"ambiguous_path\"");
    assert_eq!(refused, asked.len() as u64);
    assert_eq!(origin.requests().len(), 0);
    for path in asked {
        assert_eq!(client.ask(get(path).replace("a.test", "raw.test")).status, 200, "{path}");
    }
    let seen: Vec<String> = origin.requests().iter().map(|head| head.path().to_owned()).collect();
    assert_eq!(seen, asked);
}

/// The router's own path is met however it is written, and never reaches a service.
#[test]
fn the_health_path_has_no_second_spelling() {
    let origin = Origin::saying("fine");
    let router = Setup::to(&[origin.address]).start();
    let mut client = router.connect();
    for path in [
        "/.well-known/gateway-health",
        "//.well-known/gateway-health",
        "/.well-known/./gateway-health",
        "/x/../.well-known/gateway-health",
        "/.well-known/gateway%2dhealth",
        "/.well-known;x/gateway-health;y",
    ] {
        assert_eq!(client.ask(get(path)).status, 404, "{path}: not for strangers");
    }
    assert_eq!(origin.requests().len(), 0);
}
