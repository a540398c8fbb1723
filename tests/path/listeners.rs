//! Where clients come in: Unix sockets, both families on one socket, ports below 1024.

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

use serde_json::json;

use crate::support::origin::ok;
use crate::support::*;

const SOON: Duration = Duration::from_secs(10);

/// Asks on a connection of its own; the answer's octets.
fn ask(path: &Path, request: &str) -> String {
    let mut stream = UnixStream::connect(path).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: a.test\r\nX-Forwarded-For: 192.0.2.9\r\nConnection: close\r\n\r\n")
}

fn at(path: &Path, more: &serde_json::Value) -> serde_json::Value {
    let mut listener = json!({ "address": format!("unix:{}", path.display()), "protocol": "http" });
    listener.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    listener
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_unix_socket_serves_like_any_other_listener() {
    let origin = Origin::answering(|head, _| ok(head.all("x-forwarded-for").join(",")));
    let setup = Setup::to(&[origin.address]);
    let path = setup.dir.path().join("edge.sock");
    // Left by a process that was killed.
    drop(UnixListener::bind(&path).unwrap());
    let mut router = setup.also_listen(at(&path, &json!({}))).start();
    assert_eq!(mode(&path), 0o660);
    let answer = ask(&path, &get("/"));
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("\r\n\r\nunix"), "{answer}");
    let id = answer.split("x-request-id: ").nth(1).or(answer.split("X-Request-Id: ").nth(1)).unwrap();
    assert_eq!(router.logged(&id[..id.find('\r').unwrap()])["client.ip"], "unix");
    // Its peers are trusted, and internal, only if the listener says so.
    assert!(ask(&path, &get("/.well-known/gateway-health")).starts_with("HTTP/1.1 404 "));
    router.change(|setup| {
        let trusting = json!({ "trusted_proxies": ["unix"], "internal_from": ["unix"], "mode": 600 });
        setup.listen_once().also_listen(at(&path, &trusting))
    });
    let told = router.reload();
    assert_eq!(told.status, 200, "{}", told.text());
    assert_eq!(mode(&path), 0o600);
    assert!(ask(&path, &get("/")).ends_with("\r\n\r\n192.0.2.9, unix"));
    assert!(ask(&path, &get("/.well-known/gateway-health")).starts_with("HTTP/1.1 200 "));
    // The file goes with the listener, and with the process.
    router.change(Setup::listen_once);
    assert_eq!(router.reload().status, 200);
    assert!(!path.exists());
    router.change(|setup| setup.also_listen(at(&path, &json!({}))));
    assert_eq!(router.reload().status, 200);
    assert!(ask(&path, &get("/")).starts_with("HTTP/1.1 200 "));
    router.part.signal("TERM");
    assert_eq!(router.part.wait_exit(SOON).code(), Some(0), "{}", router.part.said());
    assert!(!path.exists());
}

#[test]
fn all_cores_accept_from_a_unix_socket_and_bodies_pass() {
    let origin = Origin::answering(|_, body| ok(body));
    let setup = Setup::to(&[origin.address]);
    let path = setup.dir.path().join("edge.sock");
    let router = setup.also_listen(at(&path, &json!({}))).start();
    let body = noise(300_000).iter().map(|octet| char::from(b'a' + octet % 26)).collect::<String>();
    let head = format!(
        "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    std::thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| assert!(ask(&path, &format!("{head}{body}")).ends_with(&body)));
        }
    });
    router.wait_quiet();
}

#[test]
fn what_is_at_the_path_of_a_socket_is_not_lost() {
    let setup = Setup::new();
    let path = setup.dir.path().join("precious");
    std::fs::write(&path, "kept").unwrap();
    let mut router = setup.also_listen(at(&path, &json!({}))).launch();
    assert_eq!(router.part.wait_exit(SOON).code(), Some(1));
    assert!(router.part.said().contains("it is no socket; move it away"), "{}", router.part.said());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "kept");
    // A socket that somebody serves is not taken from them.
    let dir = tempfile::tempdir().unwrap();
    let served = dir.path().join("served.sock");
    let other = UnixListener::bind(&served).unwrap();
    let mut router = Setup::new().also_listen(at(&served, &json!({}))).launch();
    assert_eq!(router.part.wait_exit(SOON).code(), Some(1));
    assert!(router.part.said().contains("stop what serves it (ss -lxp"), "{}", router.part.said());
    UnixStream::connect(&served).unwrap();
    drop(other);
}

#[test]
fn both_families_come_in_over_one_socket() {
    let origin = Origin::answering(|head, _| ok(head.all("x-forwarded-for").join(",")));
    let setup = Setup::to(&[origin.address]);
    let port = setup.address.port();
    // An IPv4 block speaks of IPv4 clients, however they come in.
    let setup =
        setup.listener("address", format!("[::]:{port}")).listener("trusted_proxies", json!(["127.0.0.0/8"]));
    let router = setup.start();
    let claim = "GET / HTTP/1.1\r\nHost: a.test\r\nX-Forwarded-For: 192.0.2.9\r\n\r\n";
    for (address, chain, client) in
        [("127.0.0.1", "192.0.2.9, 127.0.0.1", "127.0.0.1"), ("::1", "::1", "::1")]
    {
        let address = SocketAddr::new(address.parse().unwrap(), port);
        let got = Wire::connect(address).ask(claim);
        assert_eq!((got.status, got.text()), (200, chain));
        assert_eq!(router.logged(got.head.get("x-request-id").unwrap())["client.ip"], client);
    }
}

/// In a network of its own, where nothing else has port 80, as a user who may do nothing in particular.
fn on_port_80(before: &str, capabilities: &str) -> (String, String) {
    let setup = Setup::new().listener("address", "127.0.0.1:80").set("access_log.path", "stdout");
    let config = setup.write().display().to_string();
    let drop = format!(
        "setpriv --bounding-set=-all{capabilities} --inh-caps=-all{capabilities} --ambient-caps=-all{capabilities}"
    );
    let ask =
        "curl -s -o /dev/null -w '%{http_code}' --retry 40 --retry-connrefused --retry-delay 0 --max-time 9";
    let script = format!(
        "ip link set lo up && {before} && {{ {drop} {ringway} run --config {config} & router=$!; \
         {ask} http://127.0.0.1:80/; kill $router; wait $router; }}",
        ringway = env!("CARGO_BIN_EXE_ringway"),
    );
    let line = ["unshare", "--user", "--net", "--map-root-user", "timeout", "20", "sh", "-c", &script];
    let output = part::run(&line, "util-linux");
    let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn ports_below_1024_take_a_capability_or_a_setting_and_no_root() {
    let setting = "sysctl -q -w net.ipv4.ip_unprivileged_port_start=80";
    for (before, capabilities) in [(setting, ""), ("true", ",+net_bind_service")] {
        let (out, said) = on_port_80(before, capabilities);
        assert!(out.starts_with("404"), "{before} {capabilities}: {out}\n{said}");
    }
    let (_, said) = on_port_80("true", "");
    assert!(said.contains("sysctl -w net.ipv4.ip_unprivileged_port_start=80"), "{said}");
    assert!(said.contains("CAP_NET_BIND_SERVICE"), "{said}");
}
