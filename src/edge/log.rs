//! What is remembered of a request while it lasts, and told when it has ended: counters, and a line of the access log.

use std::cell::Cell;
use std::net::SocketAddr;
use std::os::unix::ffi::OsStrExt;
use std::time::Instant;

use super::client::Client;
use super::core::Edge;
use super::request::{Identity, Scratch};
use super::stopwatch::Stopwatch;
use crate::observe::access::{AccessRecord, should_log};
use crate::observe::{ErrorKind, Reason};
use crate::runtime::millis;

/// One request's figures. Cells, since request and response body are on their way at the same time.
pub(super) struct Record {
    pub(super) watch: Stopwatch,
    status: Cell<u16>,
    attempts: Cell<u8>,
    endpoint: Cell<Option<SocketAddr>>,
    /// The origin has sent an octet of a response.
    pub(super) origin_spoke: Cell<bool>,
    /// The client was told to send its body (100).
    pub(super) continued: Cell<bool>,
    /// Octets of content from the client, and to it.
    pub(super) content_in: Cell<u64>,
    pub(super) content_out: Cell<u64>,
    /// Octets to the client beside that: heads, and answers of the router's own.
    heads_out: Cell<u64>,
    /// The end of the connection is the end of the response: if cut, it must end in a reset.
    pub(super) until_close: Cell<bool>,
}

impl Record {
    /// Of a request whose first octet came at `began` and whose head is whole `now`.
    pub(super) fn new(began: Instant, now: Instant) -> Record {
        Record {
            watch: Stopwatch::new(began, now),
            status: Cell::new(0),
            attempts: Cell::new(0),
            endpoint: Cell::new(None),
            origin_spoke: Cell::new(false),
            continued: Cell::new(false),
            content_in: Cell::new(0),
            content_out: Cell::new(0),
            heads_out: Cell::new(0),
            until_close: Cell::new(false),
        }
    }

    /// Another attempt begins, at this endpoint.
    pub(super) fn attempt(&self, endpoint: SocketAddr) {
        self.attempts.set(self.attempts.get().saturating_add(1));
        self.endpoint.set(Some(endpoint));
    }

    pub(super) fn attempts(&self) -> u8 {
        self.attempts.get()
    }

    /// The client has got a final response's head.
    pub(super) fn answered(&self, status: u16) {
        self.status.set(status);
    }

    /// A head, or an answer of the router's own, goes to the client.
    pub(super) fn sent(&self, octets: usize) {
        self.heads_out.set(self.heads_out.get() + octets as u64);
    }

    /// The response that was to begin has not: none of it has left, its head of `octets` neither.
    pub(super) fn forget_answer(&self, octets: usize) {
        self.status.set(0);
        self.heads_out.set(self.heads_out.get() - octets as u64);
        self.content_out.set(0);
        self.until_close.set(false);
    }

    /// Whether a final response has begun.
    pub(super) fn is_answered(&self) -> bool {
        self.status.get() != 0
    }
}

/// Counts a request that has ended, and logs it if it failed, was slow, or is in the sample.
pub(super) fn finish(
    edge: &Edge,
    client: &Client,
    scratch: &Scratch,
    identity: &Identity,
    record: &Record,
    reason: Option<Reason>,
) {
    let (metrics, settings) = (&edge.metrics, edge.settings());
    let policy = &settings.access_log;
    let (status, times) = (record.status.get(), record.watch.times(edge.core.now()));
    let duration = times.whole();
    metrics.ended(status, &times);
    if let Some(reason) = reason {
        metrics.failed(reason);
    }
    let error = ErrorKind::of(status, reason);
    if let Some(kind) = error {
        edge.count_error(&scratch.service, status, kind);
    }
    let (content_in, content_out) = (record.content_in.get(), record.content_out.get());
    let octets_in = content_in + scratch.octets.len() as u64;
    let octets_out = content_out + record.heads_out.get();
    metrics.octets_from_clients.add(octets_in);
    metrics.octets_to_clients.add(octets_out);
    metrics.octets_to_origins.add(content_in);
    metrics.octets_from_origins.add(content_out);
    edge.count_host(scratch, octets_in + octets_out, error.is_some());
    let trace = identity.trace.current();
    if !should_log(status, reason, duration, policy.slow, policy.success_sample, trace.trace_id()) {
        return;
    }
    // A refused head names nothing that could be trusted.
    let named = !scratch.octets.is_empty();
    let text = |octets: &'static [u8]| octets;
    let line = AccessRecord {
        time_unix_ms: edge.unix_ms().saturating_sub(millis(times.head + duration)),
        request_id: &identity.request_id,
        trace_id: trace.trace_id(),
        span_id: trace.span_id(),
        client: client.address(),
        method: if named { scratch.head.method_text(&scratch.octets) } else { text(b"") },
        host: if named { scratch.head.host() } else { text(b"") },
        path: if named { scratch.head.path(&scratch.octets) } else { text(b"") },
        status,
        service: &scratch.service,
        endpoint: record.endpoint.get(),
        socket: record
            .endpoint
            .get()
            .and_then(|address| settings.socket(&scratch.service, address))
            .map(|path| path.as_os_str().as_bytes()),
        attempts: record.attempts.get(),
        octets_in,
        octets_out,
        times,
        slow: duration >= policy.slow,
        reason,
        core: edge.core.number(),
    };
    edge.log.borrow_mut().write(&line, policy.fields);
}
