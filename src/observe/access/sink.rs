//! A core's end of the access log.

use super::AccessRecord;
use super::line::Line;
use crate::limits::{
    LOG_HOST_OCTETS_MAX, LOG_ID_OCTETS_MAX, LOG_METHOD_OCTETS_MAX, LOG_PATH_OCTETS_MAX, LOG_RING_OCTETS,
};
use crate::observe::CoreMetrics;
use crate::observe::timestamp::Clock;
use rtrb::{Consumer, Producer, RingBuffer};
use std::fmt::Write;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// Where a core puts its records. Stays with its core.
pub struct LogSink {
    line: Line,
    clock: Clock,
    ring: Producer<u8>,
    metrics: Arc<CoreMetrics>,
}

/// The other end, for the log's thread: whole lines, back to back.
pub struct LogSource(pub(super) Consumer<u8>);

/// Both ends of one core's log. `metrics` are that core's; dropped records are counted there.
#[must_use]
pub fn ring(metrics: Arc<CoreMetrics>) -> (LogSink, LogSource) {
    let (producer, consumer) = RingBuffer::new(LOG_RING_OCTETS);
    (LogSink { line: Line::new(), clock: Clock::new(), ring: producer, metrics }, LogSource(consumer))
}

impl LogSink {
    /// Writes one line, or drops and counts the record if the ring is full. No system call, no allocation.
    pub fn write(&mut self, record: &AccessRecord<'_>) {
        self.line.clear();
        format(&mut self.line, &mut self.clock, record);
        let pushed = self.line.finish().is_some_and(|line| self.ring.push_entire_slice(line).is_ok());
        if !pushed {
            self.metrics.log_dropped.inc();
        }
    }
}

/// `,"name":` as octets.
macro_rules! key {
    ($name:literal) => {
        concat!(",\"", $name, "\":").as_bytes()
    };
}

/// Field names are those of the Elastic Common Schema where it has one, `ringway.…` otherwise. Durations are in
/// nanoseconds, as `event.duration` is there.
fn format(line: &mut Line, clock: &mut Clock, record: &AccessRecord<'_>) {
    line.raw(b"{\"@timestamp\":\"");
    line.raw(clock.format(record.time_unix_ms).as_bytes());
    line.raw(b"\",\"log.level\":\"");
    line.raw(level(record).as_bytes());
    line.raw(
        concat!(
            "\",\"event.dataset\":\"ringway.access\",\"service.version\":\"",
            env!("CARGO_PKG_VERSION"),
            "\",\"http.request.id\":\""
        )
        .as_bytes(),
    );
    line.raw(record.request_id.as_octets());
    line.raw(b"\"");
    text(line, key!("trace.id"), record.trace_id.as_bytes(), LOG_ID_OCTETS_MAX);
    text(line, key!("span.id"), record.span_id.as_bytes(), LOG_ID_OCTETS_MAX);
    line.raw(b",\"client.ip\":\"");
    address(line, record.client);
    line.raw(b"\"");
    text(line, key!("http.request.method"), record.method, LOG_METHOD_OCTETS_MAX);
    text(line, key!("url.domain"), record.host, LOG_HOST_OCTETS_MAX);
    text(line, key!("url.path"), record.path, LOG_PATH_OCTETS_MAX);
    number(line, key!("http.response.status_code"), u64::from(record.status));
    number(line, key!("http.request.bytes"), record.octets_in);
    number(line, key!("http.response.bytes"), record.octets_out);
    number(line, key!("event.duration"), nanoseconds(record.duration));
    number(line, key!("ringway.origin_duration"), nanoseconds(record.origin));
    number(line, key!("ringway.attempts"), u64::from(record.attempts));
    number(line, key!("ringway.core"), u64::from(record.core));
    optional(line, record);
    line.raw(b"}\n");
}

/// The fields that not every record has.
fn optional(line: &mut Line, record: &AccessRecord<'_>) {
    if !record.service.is_empty() {
        text(line, key!("ringway.service"), record.service.as_bytes(), LOG_ID_OCTETS_MAX);
    }
    if let Some(endpoint) = record.endpoint {
        line.raw(b",\"ringway.endpoint\":\"");
        if endpoint.is_ipv6() {
            line.raw(b"[");
        }
        address(line, endpoint.ip());
        line.raw(if endpoint.is_ipv6() { b"]:" } else { b":" });
        line.number(u64::from(endpoint.port()));
        line.raw(b"\"");
    }
    if let Some(reason) = record.reason {
        line.raw(b",\"ringway.reason\":\"");
        line.raw(reason.as_str().as_bytes());
        line.raw(b"\",\"ringway.fault\":\"");
        line.raw(reason.fault().as_str().as_bytes());
        line.raw(b"\"");
    }
}

fn level(record: &AccessRecord<'_>) -> &'static str {
    match record {
        AccessRecord { status: 500.., .. } => "error",
        AccessRecord { reason: Some(_), .. } => "warn",
        _ => "info",
    }
}

fn text(line: &mut Line, key: &[u8], value: &[u8], max: usize) {
    line.raw(key);
    line.raw(b"\"");
    line.escaped(value, max);
    line.raw(b"\"");
}

fn number(line: &mut Line, key: &[u8], value: u64) {
    line.raw(key);
    line.number(value);
}

fn address(line: &mut Line, address: IpAddr) {
    match address {
        IpAddr::V4(v4) => {
            for (at, part) in v4.octets().into_iter().enumerate() {
                if at > 0 {
                    line.raw(b".");
                }
                line.number(u64::from(part));
            }
        }
        // The line's writer never fails; one that is full says so in the end.
        IpAddr::V6(v6) => drop(write!(line, "{v6}")),
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
