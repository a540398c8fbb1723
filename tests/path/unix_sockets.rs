//! Origins on Unix sockets.

use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::support::*;

/// Answers every request with what follows its head, until its listener is removed.
fn echo_at(path: &Path) -> Arc<AtomicUsize> {
    let listener = UnixListener::bind(path).unwrap();
    let connections = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&connections);
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            seen.fetch_add(1, Ordering::AcqRel);
            thread::spawn(move || echo(stream));
        }
    });
    connections
}

fn echo(mut stream: std::os::unix::net::UnixStream) {
    let mut at_hand = Vec::new();
    let mut room = vec![0; 64 << 10];
    loop {
        let (end, length) = loop {
            if let Some(end) = at_hand.windows(4).position(|four| four == b"\r\n\r\n") {
                let head = String::from_utf8_lossy(&at_hand[..end]).to_ascii_lowercase();
                let length = head
                    .split("content-length: ")
                    .nth(1)
                    .map_or(0, |rest| rest.split("\r\n").next().unwrap().parse::<usize>().unwrap());
                if at_hand.len() >= end + 4 + length {
                    break (end + 4, length);
                }
            }
            match stream.read(&mut room) {
                Ok(octets) if octets > 0 => at_hand.extend_from_slice(&room[..octets]),
                _ => return,
            }
        };
        let body: Vec<u8> = at_hand.drain(..end + length).skip(end).collect();
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
        if stream.write_all(&[head.into_bytes(), body].concat()).is_err() {
            return;
        }
    }
}

#[test]
fn a_unix_socket_is_an_endpoint_like_any_other() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("app.sock");
    let connections = echo_at(&path);
    let endpoint = format!("unix:{}", path.display());
    let setup = Setup::new().service_at("svc_a", &["a.test"], std::slice::from_ref(&endpoint));
    let router = setup.start();
    let mut client = router.connect();
    for octets in [0, 5, 4_096, 1 << 20, 7] {
        let body = noise(octets);
        client
            .send(format!("PUT /{octets} HTTP/1.1\r\nHost: a.test\r\nContent-Length: {octets}\r\n\r\n"))
            .unwrap();
        client.send(&body).unwrap();
        let got = client.response().unwrap();
        assert!(got.status == 200 && got.body == body, "{octets} octets");
        let line = router.logged(got.head.get("x-request-id").unwrap());
        assert_eq!(line["ringway.endpoint"], endpoint.as_str());
    }
    assert_eq!(connections.load(Ordering::Acquire), 1, "its connection is kept like any other");
}

#[test]
fn a_socket_that_nobody_listens_on_is_an_endpoint_that_is_dead() {
    let dir = tempfile::tempdir().unwrap();
    let (left, never, good) = (dir.path().join("left"), dir.path().join("never"), dir.path().join("good"));
    drop(UnixListener::bind(&left).unwrap());
    echo_at(&good);
    let endpoints: Vec<String> =
        [&left, &never, &good].iter().map(|path| format!("unix:{}", path.display())).collect();
    let router = Setup::new()
        .service_at("svc_a", &["a.test"], &endpoints)
        .service_at("svc_b", &["b.test"], &endpoints[..1])
        .start();
    let mut client = router.connect();
    let mut ask = |host: &str| client.ask(format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n"));
    // With two dead of three a request may meet both; then it is answered 502, once for each core.
    let statuses: Vec<u16> = (0..100).map(|_| ask("a.test").status).collect();
    assert!(statuses.iter().filter(|status| **status != 200).count() <= 2, "{statuses:?}");
    let got = ask("b.test");
    assert_eq!(got.problem()["type"], "urn:ringway:problem:origin-unreachable");
}
