//! Where clients come in: both families on one socket, ports below 1024.

use std::net::SocketAddr;

use serde_json::json;

use crate::support::origin::ok;
use crate::support::*;

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
