//! Exchanges whose octets come in any pieces, bodies of any size and framing, kept connections: what arrives is what
//! was sent, whatever the pieces.

use std::sync::Mutex;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::support::*;

/// Exchanges on one connection, one after the other.
#[derive(Clone, Debug)]
struct Exchange {
    up: Message,
    down: Message,
}

/// A body, how it is framed, and where its message is cut into pieces.
#[derive(Clone, Debug)]
struct Message {
    octets: usize,
    /// Sizes of chunks in turn; none for Content-Length.
    chunks: Vec<usize>,
    /// Sizes of writes in turn.
    pieces: Vec<usize>,
}

fn message() -> impl Strategy<Value = Message> {
    // Around the sizes of receive buffers, head buffers and send queues.
    let near = |octets: usize| octets - 3..octets + 4;
    let octets =
        prop_oneof![0usize..200, near(4096), near(8192), near(16_384), near(65_536), 0usize..300_000];
    let chunks = prop::collection::vec(prop_oneof![1usize..20, near(4096), 1usize..70_000], 0..4);
    let pieces = prop::collection::vec(prop_oneof![1usize..8, near(4096), 1usize..100_000], 1..6);
    (octets, chunks, pieces).prop_map(|(octets, chunks, pieces)| Message { octets, chunks, pieces })
}

fn exchange() -> impl Strategy<Value = Exchange> {
    (message(), message()).prop_map(|(up, down)| Exchange { up, down })
}

impl Message {
    fn body(&self) -> Vec<u8> {
        noise(self.octets)
    }

    /// The framing field and the body, coded.
    fn framed(&self) -> Vec<u8> {
        let body = self.body();
        if self.chunks.is_empty() {
            return [format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes(), &body].concat();
        }
        let mut out = b"Transfer-Encoding: chunked\r\n\r\n".to_vec();
        let (mut rest, mut sizes) = (&body[..], self.chunks.iter().cycle());
        while !rest.is_empty() {
            let (chunk, behind) = rest.split_at(rest.len().min(*sizes.next().unwrap()));
            out.extend(format!("{:x}\r\n", chunk.len()).bytes().chain(chunk.iter().copied()).chain(*b"\r\n"));
            rest = behind;
        }
        out.extend(b"0\r\n\r\n");
        out
    }

    /// Writes a whole message in its pieces.
    fn write(&self, start: &str, wire: &mut Wire) {
        let message = [start.as_bytes(), &self.framed()].concat();
        let (mut rest, mut sizes, mut writes) = (&message[..], self.pieces.iter().cycle(), 0);
        while !rest.is_empty() {
            // Small pieces at first only: a body in single octets takes too long.
            let size = *sizes.next().unwrap() * (1 + writes / 64 * 1000);
            let (piece, behind) = rest.split_at(rest.len().min(size));
            wire.send(piece).expect("the router reads");
            (rest, writes) = (behind, writes + 1);
        }
    }
}

#[test]
fn what_arrives_is_what_was_sent() {
    static PLANNED: Mutex<Vec<Exchange>> = Mutex::new(Vec::new());
    let origin = Origin::start(|mut visit| {
        while let Ok((head, body)) = visit.request() {
            let at: usize = head.path()[1..].parse().unwrap();
            let exchange = PLANNED.lock().unwrap()[at].clone();
            if body != exchange.up.body() {
                return visit.say("HTTP/1.1 500 Another body came\r\nContent-Length: 0\r\n\r\n");
            }
            exchange.down.write("HTTP/1.1 200 OK\r\n", &mut visit.wire);
        }
    });
    let router = Setup::to(&[origin.address]).set("access_log.success_sample", 0).start();
    let mut runner = TestRunner::new(Config { cases: 60, failure_persistence: None, ..Config::default() });
    let outcome = runner.run(&prop::collection::vec(exchange(), 1..6), |exchanges| {
        *PLANNED.lock().unwrap() = exchanges.clone();
        let mut client = router.connect();
        for (at, exchange) in exchanges.iter().enumerate() {
            exchange.up.write(&format!("PUT /{at} HTTP/1.1\r\nHost: a.test\r\n"), &mut client);
            let got = client.response().map_err(|cut| TestCaseError::fail(format!("{at}: {cut:?}")))?;
            prop_assert_eq!(got.status, 200, "request {}", at);
            prop_assert!(got.body == exchange.down.body(), "response {}: another body came", at);
        }
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
    router.wait_quiet();
    router.wait_metric("ringway_ring_buffers_out", 0);
}

/// All requests are sent before the first response is read, in any pieces.
#[test]
fn pipelined_bodies_in_any_pieces() {
    let origin = Origin::answering(|head, body| {
        let mut answer = format!("{} {} ", head.path(), body.len()).into_bytes();
        answer.extend_from_slice(body);
        origin::ok(answer)
    });
    let router = Setup::to(&[origin.address]).set("access_log.success_sample", 0).start();
    let mut runner = TestRunner::new(Config { cases: 30, failure_persistence: None, ..Config::default() });
    // Few enough octets that both sides' kernels hold them: nobody reads meanwhile.
    let small = message().prop_map(|message| Message { octets: message.octets % 9000, ..message });
    let outcome = runner.run(&prop::collection::vec(small, 1..12), |messages| {
        let mut client = router.connect();
        for (at, message) in messages.iter().enumerate() {
            message.write(&format!("PUT /{at} HTTP/1.1\r\nHost: a.test\r\n"), &mut client);
        }
        client.finish_sending();
        for (at, message) in messages.iter().enumerate() {
            let got = client.response().map_err(|cut| TestCaseError::fail(format!("{at}: {cut:?}")))?;
            let body = message.body();
            let wanted = [format!("/{at} {} ", body.len()).as_bytes(), &body].concat();
            prop_assert!(got.body == wanted, "response {} of {}", at, messages.len());
        }
        prop_assert_eq!(client.end(), Cut::Closed);
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
    router.wait_quiet();
}
