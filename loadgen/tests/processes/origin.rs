//! `origin`, under curl and under raw sockets.

use std::io::{Read, Write};
use std::process::Command;

use ringway_loadgen::pattern;

use crate::support::{Origin, Started, connect, ended};

fn curl(arguments: &str) -> Vec<u8> {
    let output =
        Command::new("curl").args(["-sS", "--max-time", "30"]).args(arguments.split_whitespace()).output();
    let output = output.expect("curl is missing; install it with: apt-get install curl");
    assert!(output.status.success(), "curl {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn curl_text(arguments: &str) -> String {
    String::from_utf8(curl(arguments)).unwrap()
}

fn body(octets: usize) -> Vec<u8> {
    let mut body = vec![0; octets];
    pattern::fill(1, 0, &mut body);
    body
}

#[test]
fn answers_any_path_with_the_fixed_body() {
    let origin = Origin::start("--size 1000 --fields 9");
    let url = format!("http://{}", origin.address);
    for path in ["/", "/some/where?a=b", "/delay/1"] {
        assert_eq!(curl(&format!("{url}{path}")), body(1000), "{path}");
    }
    let head = curl_text(&format!("-I {url}/"));
    assert!(
        head.starts_with("HTTP/1.1 200 OK\r\n") && head.contains("\r\nContent-Length: 1000\r\n"),
        "{head}"
    );
    assert_eq!(head.lines().count(), 1 + 9 + 1);
    let statuses = curl_text(&format!("-o /dev/null -w %{{http_code}} {url}/status/503"));
    assert_eq!(statuses, "503");
    assert_eq!(curl_text(&format!("-w %{{http_code}} {url}/status/204")), "204");
}

#[test]
fn streams_every_framing() {
    let origin = Origin::start("");
    for octets in [0, 1, 16_351, 16_352, 16_353, 1_000_000] {
        for kind in ["size", "chunked", "close"] {
            let got = curl(&format!("http://{}/{kind}/{octets}", origin.address));
            assert!(got == body(octets), "/{kind}/{octets} gave {} octets", got.len());
        }
    }
    assert_eq!(ended("digest 1000000").1.trim(), pattern::digest(1, 1_000_000));
}

#[test]
fn counts_and_digests_what_is_sent() {
    let origin = Origin::start("");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), body(300_000)).unwrap();
    let (path, digest) = (file.path().display(), pattern::digest(1, 300_000));
    for framing in ["", "-H Transfer-Encoding:chunked", "-H Expect:", "--http1.0 -H Expect:"] {
        let answer = curl_text(&format!(
            "-D - -o /dev/null {framing} --data-binary @{path} http://{}/digest",
            origin.address
        ));
        assert!(answer.contains("\r\nX-Received-Octets: 300000\r\n"), "{framing}: {answer}");
        assert!(answer.contains(&format!("\r\nX-Received-Sha256: {digest}\r\n")), "{framing}: {answer}");
    }
    let answer = curl_text(&format!("-D - -o /dev/null -d abc http://{}/sink", origin.address));
    assert!(answer.contains("\r\nX-Received-Octets: 3\r\n") && !answer.contains("Sha256"), "{answer}");
}

#[test]
fn keeps_connections_and_closes_when_asked() {
    let origin = Origin::start("");
    let url = format!("http://{}", origin.address);
    let several = format!(
        "-o /dev/null -o /dev/null -o /dev/null -w %{{num_connects}} {url}/ {url}/chunked/9 {url}/size/9"
    );
    assert_eq!(curl_text(&several), "100");
    let closed = curl_text(&format!("-D - -o /dev/null -H Connection:close {url}/"));
    assert!(closed.contains("\r\nConnection: close\r\n"), "{closed}");
}

#[test]
fn reads_pipelined_and_dribbled_requests() {
    let origin = Origin::start("--size 10");
    let get = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n".repeat(3);
    let post = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc";
    let last = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let all = [&get[..], post, last].concat();
    let mut stream = connect(origin.address);
    stream.set_nodelay(true).unwrap();
    for octet in &all {
        stream.write_all(&[*octet]).unwrap();
    }
    let mut dribbled = Vec::new();
    stream.read_to_end(&mut dribbled).unwrap();
    let mut stream = connect(origin.address);
    stream.write_all(&all).unwrap();
    let mut pipelined = Vec::new();
    stream.read_to_end(&mut pipelined).unwrap();
    for answers in [dribbled, pipelined] {
        assert_eq!(answers.windows(15).filter(|line| line == b"HTTP/1.1 200 OK").count(), 5);
        assert!(answers.ends_with(&body(10)));
    }
}

#[test]
fn refuses_what_is_no_http() {
    let origin = Origin::start("");
    for wrong in
        ["GET / HTTP/1.1\r\n\r\n", "HELLO\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n"]
    {
        let answer = String::from_utf8(origin.exchange(wrong.as_bytes())).unwrap();
        assert!(
            answer.starts_with("HTTP/1.1 400 ") && answer.contains("\r\nConnection: close\r\n"),
            "{answer}"
        );
    }
    assert_eq!(
        origin.exchange(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
        b""
    );
}

/// A reader that stalls holds the origin back; it does not fill its memory.
#[test]
fn memory_is_flat_under_a_slow_reader() {
    let origin = Origin::start("");
    let before = origin.peak_kib();
    let mut stream = connect(origin.address);
    let size: u64 = 48 << 20;
    write!(stream, "GET /close/{size} HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let (mut first, mut rest) = ([0; 65_536], Vec::new());
    stream.read_exact(&mut first).unwrap();
    // It serves others meanwhile, so it has had every chance to make more than the sockets' buffers take.
    for _ in 0..50 {
        origin.exchange(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    }
    stream.read_to_end(&mut rest).unwrap();
    assert!(first.len() as u64 + rest.len() as u64 > size);
    let mut last = [0; 1_000];
    pattern::fill(1, size - 1_000, &mut last);
    assert!(rest.ends_with(&last));
    let grown = origin.peak_kib() - before;
    assert!(grown < 8 << 10, "grew by {grown} KiB");
}

#[test]
fn listens_on_many_addresses_until_it_is_told_to_end() {
    for signal in ["-TERM", "-INT"] {
        let process = Started::new("origin --listen 127.0.0.1:0,[::1]:0,127.0.0.2:0");
        let addresses = process.first_line.trim().strip_prefix("listening on ").unwrap();
        for address in addresses.split(", ") {
            assert_eq!(curl(&format!("http://{address}/size/5")), body(5));
        }
        assert_eq!(addresses.split(", ").count(), 3);
        process.signal(signal);
        let (rest, status) = process.end();
        assert_eq!((rest.as_str(), status.code()), ("", Some(0)), "{signal}");
    }
}

#[test]
fn an_address_in_use_is_told() {
    let origin = Origin::start("");
    let (code, out, err) = ended(&format!("origin --listen {}", origin.address));
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(err.contains(&format!("--listen {}: Address already in use", origin.address)), "{err}");
}
