//! Very many connections, and more than there are descriptors for.

use std::net::TcpStream;

use crate::support::*;

const GET: &str = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";

/// Connections that each made one request and stay.
fn idle(router: &Router, count: usize) -> Vec<Wire> {
    (0..count)
        .map(|_| {
            let mut client = router.connect();
            assert_eq!(client.ask(GET).status, 200);
            client
        })
        .collect()
}

#[test]
fn ten_thousand_idle_connections() {
    const CONNECTIONS: usize = 10_000;
    let _alone = alone();
    let origin = Origin::saying("fine");
    let setup = Setup::to(&[origin.address]).set("timeouts.idle", "10m").set("access_log.success_sample", 0);
    // Their other ends are in this process, under the same limit.
    let router = setup.under(["prlimit", "--nofile=20000:20000"]).start();
    idle(&router, 100).clear();
    router.wait_quiet();
    let before = router.resident();
    let clients = idle(&router, CONNECTIONS);
    router.wait_metric("ringway_connections_open", CONNECTIONS as u64);
    assert_eq!(router.metric("ringway_ring_accept_pauses_total"), 0);
    let each = router.resident().saturating_sub(before) / CONNECTIONS as u64;
    println!("resident memory per idle connection: {each} octets");
    assert!(each <= 2048, "{each} octets per idle connection");
    // Newcomers are served, and so are those that were here before.
    for _ in 0..20 {
        assert_eq!(router.connect().ask(GET).status, 200);
    }
    let mut clients = clients;
    for client in clients.iter_mut().step_by(97) {
        assert_eq!(client.ask(GET).status, 200);
    }
    drop(clients);
    router.wait_quiet();
}

#[test]
fn more_connections_than_the_limit_wait_their_turn() {
    let _alone = alone();
    let origin = Origin::saying("fine");
    let router = Setup::to(&[origin.address]).under(["prlimit", "--nofile=600:600"]).start();
    let mut first = idle(&router, 50);
    let crowd: Vec<TcpStream> = (0..1000).map(|_| TcpStream::connect(router.address).unwrap()).collect();
    wait_until("accepting pauses", || router.metric("ringway_ring_accept_pauses_total") > 0);
    // Who is in is served, and the process is well.
    for client in &mut first {
        assert_eq!(client.ask(GET).status, 200);
    }
    assert!(router.metric("ringway_connections_open") < 600);
    drop(crowd);
    // All that wait are taken up in their turn, closed as they are; then there is room again.
    wait_until("the crowd is gone", || router.metric("ringway_connections_open") <= 50);
    let again = idle(&router, 50);
    drop((first, again));
    router.wait_quiet();
}

/// EMFILE itself: the kernel refuses descriptors that the router believes to have.
#[test]
fn a_kernel_without_descriptors() {
    let _alone = alone();
    let origin = Origin::saying("fine");
    // So few that each accept is a request of its own: one that is in the kernel already keeps the limit of its time.
    let mut router = Setup::to(&[origin.address]).set("limits.connections_per_core", 1000).start();
    let mut first = idle(&router, 20);
    let held = router.descriptors();
    let pid = router.part.pid().to_string();
    let limit = |soft: usize| {
        let told = part::run(&["prlimit", "--pid", &pid, &format!("--nofile={soft}:20000")], "util-linux");
        assert!(told.status.success(), "{told:?}");
    };
    // Scrapes need descriptors too: these have theirs.
    let mut scrapes: Vec<Wire> = (0..30).map(|_| Wire::connect(router.admin)).collect();
    wait_until("all are accepted", || router.descriptors() >= held + scrapes.len());
    limit(router.descriptors() + 30);
    let crowd: Vec<TcpStream> = (0..200).map(|_| TcpStream::connect(router.address).unwrap()).collect();
    wait_for("the pause is counted", wait::PATIENCE, || {
        assert_eq!(router.part.has_ended(), None, "{}", router.part.said());
        pause(std::time::Duration::from_millis(100));
        let exposition = scrapes
            .pop()
            .expect("it takes less than these")
            .ask("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
        let pauses =
            exposition.text().lines().filter(|line| line.starts_with("ringway_ring_accept_pauses_total"));
        pauses.map(|line| line.ends_with(" 0")).any(|none| !none).then_some(())
    });
    for client in &mut first {
        assert!([200, 503].contains(&client.ask(GET).status));
    }
    limit(20_000);
    drop(crowd);
    wait_until("the crowd is gone", || router.metric("ringway_connections_open") <= 20);
    let again = idle(&router, 50);
    drop((first, again));
    router.wait_quiet();
}
