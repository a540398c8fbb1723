//! Answers to the client: the origin's, passed on, and the router's own.

use std::cell::Cell;
use std::time::Duration;

use super::client::Client;
use super::core::Edge;
use super::door::Door;
use super::failure::Failure;
use super::log::Record;
use super::reader::Reader;
use super::relay::Relay;
use super::request::{Identity, Scratch};
use crate::limits;
use crate::policy::Pace;
use crate::proto::http1::{BodyReader, Framing, Method, ResponseEdits, Version, write_response_head};
use crate::proto::problem::{Problem, Reply as ProblemReply};
use crate::runtime::Stream;

/// An origin's response on its way to the client.
pub(super) struct Reply<'a> {
    pub(super) edge: &'a Edge,
    pub(super) client: &'a Stream,
    pub(super) door: &'a Door,
    pub(super) scratch: &'a Scratch,
    pub(super) identity: &'a Identity,
    pub(super) record: &'a Record,
    /// The origin's and the client's.
    pub(super) paces: (Pace, Pace),
    /// The request's body has been read to its end, or may be before the response ends.
    pub(super) is_read: bool,
}

/// Which connections outlast the response.
pub(super) struct Done {
    pub(super) client_goes_on: bool,
    pub(super) origin_goes_on: bool,
}

impl Reply<'_> {
    /// Sends the head, the first `length` octets of `reader`, and the body behind it.
    ///
    /// # Errors
    /// One side broke off. What the client has by then does not look complete.
    pub(super) async fn pass_on(
        &self,
        reader: &mut Reader,
        origin: &Stream,
        length: usize,
    ) -> Result<Done, Failure> {
        let Reply { edge, scratch, .. } = self;
        let response = &scratch.response;
        let edits = ResponseEdits {
            request_id: &self.identity.request_id,
            date: &edge.date(),
            client_version: scratch.head.version(),
            keep_alive: self.is_read && scratch.head.keep_alive() && !self.door.is_closed(),
            upgrade: false,
        };
        let mut out = edge.core.head_buffer();
        let delivery = write_response_head(&mut out, response, &reader.octets()[..length], &edits);
        let nominated = response.nominated(&reader.octets()[..length]);
        reader.consume(length);
        let head_octets = out.len();
        self.record.sent(head_octets);
        self.record.answered(response.status());
        self.record.until_close.set(delivery.framing == Framing::UntilClose);
        let (mut body, begun) = (BodyReader::new(response.framing()), Cell::new(false));
        let relay = Relay {
            from: (&mut *reader, origin),
            to: self.client,
            framing: delivery.framing,
            paces: self.paces,
            content: &self.record.content_out,
            most: u64::MAX,
            nominated: &nominated,
            kept: None,
            begun: &begun,
        };
        let passed = relay.run(&mut body, out).await;
        if passed.is_err() && !begun.get() {
            // Head and all are still here, and the client can be told what happened.
            self.record.forget_answer(head_octets);
        }
        passed.map_err(Failure::of_download)?;
        Ok(Done {
            client_goes_on: delivery.keep_alive,
            origin_goes_on: response.keep_alive() && body.is_done(),
        })
    }
}

/// Passes an interim response on, to clients that know of them (RFC 9110, 15.2).
pub(super) fn interim(
    edge: &Edge,
    client: &Stream,
    scratch: &Scratch,
    identity: &Identity,
    record: &Record,
    octets: &[u8],
) {
    if scratch.head.version() == Version::Http10 {
        return;
    }
    // Told once is enough, and the router may have been first.
    if scratch.response.status() == 100 && record.continued.replace(true) {
        return;
    }
    let edits = ResponseEdits {
        request_id: &identity.request_id,
        date: &edge.date(),
        client_version: Version::Http11,
        keep_alive: true,
        upgrade: false,
    };
    let mut out = edge.core.head_buffer();
    write_response_head(&mut out, &scratch.response, octets, &edits);
    record.sent(out.len());
    client.send(out);
}

/// Tells a client that waits for it to send its body (RFC 9110, 10.1.1), unless it has been told or answered.
pub(super) fn go_on(client: &Stream, record: &Record) {
    const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
    if !record.is_answered() && !record.continued.replace(true) {
        record.sent(CONTINUE.len());
        client.send(CONTINUE.to_vec());
    }
}

/// Answers with a problem document (RFC 9457, R-061). `goes_on` if the connection may be used after it.
pub(super) fn problem(
    edge: &Edge,
    client: &Client,
    scratch: &Scratch,
    identity: &Identity,
    record: &Record,
    failure: &Failure,
    goes_on: bool,
) {
    let Some(kind) = failure.problem() else { return };
    let detail = failure.detail.map(|error| error.to_string()).unwrap_or_default();
    // Of a head that was refused, only the method may be known.
    let head = (!scratch.octets.is_empty()).then_some(&scratch.head);
    let instance = head.map_or(b"".as_slice(), |head| head.path(&scratch.octets));
    let problem = Problem { kind, detail: &detail, instance, request_id: &identity.request_id };
    let fields = if kind.status() == 503 { "Retry-After: 1\r\n" } else { "" };
    let reply = ProblemReply {
        date: &edge.date(),
        keep_alive: goes_on,
        head_only: match head {
            Some(head) => head.method() == Method::Head,
            None => client.reader.octets().trim_ascii_start().starts_with(b"HEAD "),
        },
        fields,
    };
    let mut out = edge.core.head_buffer();
    problem.write_response(&mut out, &reply);
    record.sent(out.len());
    record.answered(kind.status());
    client.stream.send(out);
}

/// Lets the client read the last answer: FIN after it, then what still comes is read and dropped, within bounds. Closing at
/// once would reset the connection, and the reset may overtake the answer (RFC 9112, 9.6).
pub(super) async fn linger(edge: &Edge, client: &mut Client) {
    client.stream.finish_sending();
    if !client.has_taken_all(edge).await {
        return;
    }
    client.stream.set_timeout(Duration::from_millis(limits::LINGER_MS));
    let mut left = limits::LINGER_OCTETS;
    loop {
        let at_hand = client.reader.octets().len();
        client.reader.consume(at_hand);
        left = left.saturating_sub(at_hand);
        if left == 0 || !matches!(client.reader.more(&client.stream).await, Ok(true)) {
            return;
        }
    }
}
