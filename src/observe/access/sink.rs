//! A core's end of the access log.

use super::AccessRecord;
use super::field::{Field, Fields};
use super::line::Line;
use crate::limits::{
    LOG_HOST_OCTETS_MAX, LOG_ID_OCTETS_MAX, LOG_METHOD_OCTETS_MAX, LOG_PATH_OCTETS_MAX, LOG_RING_OCTETS,
    LOG_TASK_OCTETS_MAX, SLOW_RING_OCTETS,
};
use crate::observe::drain::LogSource;
use crate::observe::timestamp::Clock;
use crate::observe::{CoreMetrics, Reason, Stage, Times};
use crate::runtime::Stall;
use rtrb::{Producer, RingBuffer};
use std::fmt::Write;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

/// Where a core puts its records. Stays with its core.
pub struct LogSink {
    line: Line,
    clock: Clock,
    ring: Producer<u8>,
    /// What `/v1/slow` shows.
    slow: Producer<u8>,
    metrics: Arc<CoreMetrics>,
}

/// Both ends of one core's log, and where slow requests and stalls are noted beside it. `metrics` are that core's; what is
/// dropped is counted there.
#[must_use]
pub fn ring(metrics: Arc<CoreMetrics>) -> (LogSink, LogSource, LogSource) {
    let (ring, log) = RingBuffer::new(LOG_RING_OCTETS);
    let (slow, notes) = RingBuffer::new(SLOW_RING_OCTETS);
    let sink = LogSink { line: Line::new(), clock: Clock::new(), ring, slow, metrics };
    (sink, LogSource(log), LogSource(notes))
}

impl LogSink {
    /// Writes one line of these fields, or drops and counts the record if the ring is full. One that was slow is noted with
    /// all fields too. No system call, no allocation.
    pub fn write(&mut self, record: &AccessRecord<'_>, fields: Fields) {
        self.line.clear();
        if record.slow {
            format(&mut self.line, &mut self.clock, record, Fields::ALL);
            self.metrics.slow_requests.inc();
            self.note();
        }
        if !record.slow || fields != Fields::ALL {
            self.line.clear();
            format(&mut self.line, &mut self.clock, record, fields);
        }
        let pushed = self.line.finish().is_some_and(|line| self.ring.push_entire_slice(line).is_ok());
        if !pushed {
            self.metrics.log_dropped.inc();
        }
    }

    /// Notes that core number `core` stalled, for `/v1/slow`. `time_unix_ms` is when the turn ended.
    pub fn stall(&mut self, time_unix_ms: u64, core: u16, stall: &Stall) {
        self.line.clear();
        let line = &mut self.line;
        line.raw(b"{\"@timestamp\":");
        plain(line, self.clock.format(time_unix_ms).as_bytes());
        line.raw(b",\"ringway.core\":");
        line.number(u64::from(core));
        line.raw(b",\"ringway.stall\":");
        line.number(nanoseconds(stall.took));
        for (at, (name, times)) in stall.tasks.iter().enumerate() {
            line.raw(if at == 0 { b",\"ringway.tasks\":{" } else { b"," });
            text(line, name.as_bytes(), LOG_TASK_OCTETS_MAX);
            line.raw(b":");
            line.number(u64::from(*times));
        }
        line.raw(if stall.tasks.is_empty() { b"}\n" } else { b"}}\n" });
        self.note();
    }

    fn note(&mut self) {
        let pushed = self.line.finish().is_some_and(|line| self.slow.push_entire_slice(line).is_ok());
        if !pushed {
            self.metrics.slow_dropped.inc();
        }
    }
}

fn format(line: &mut Line, clock: &mut Clock, record: &AccessRecord<'_>, fields: Fields) {
    let mut before: &[u8] = b"{";
    for field in fields.iter().filter(|field| is_there(*field, record)) {
        line.raw(before);
        line.raw(field.key());
        value(line, clock, record, field);
        before = b",";
    }
    line.raw(if before == b"{" { b"{}\n" } else { b"}\n" });
}

/// Not every record has every field.
fn is_there(field: Field, record: &AccessRecord<'_>) -> bool {
    match field {
        Field::Service => !record.service.is_empty(),
        Field::Endpoint => record.endpoint.is_some(),
        Field::Reason | Field::Fault => record.reason.is_some(),
        Field::Stages => record.slow,
        _ => true,
    }
}

/// Durations are in nanoseconds, as the Elastic Common Schema has `event.duration`.
fn value(line: &mut Line, clock: &mut Clock, record: &AccessRecord<'_>, field: Field) {
    match field {
        Field::Timestamp => plain(line, clock.format(record.time_unix_ms).as_bytes()),
        Field::Level => plain(line, level(record).as_bytes()),
        Field::Dataset => plain(line, b"ringway.access"),
        Field::Version => plain(line, env!("CARGO_PKG_VERSION").as_bytes()),
        Field::RequestId => plain(line, record.request_id.as_octets()),
        Field::TraceId => text(line, record.trace_id.as_bytes(), LOG_ID_OCTETS_MAX),
        Field::SpanId => text(line, record.span_id.as_bytes(), LOG_ID_OCTETS_MAX),
        Field::Client => {
            line.raw(b"\"");
            match record.client {
                Some(client) => address(line, client),
                None => line.raw(b"unix"),
            }
            line.raw(b"\"");
        }
        Field::Method => text(line, record.method, LOG_METHOD_OCTETS_MAX),
        Field::Host => text(line, record.host, LOG_HOST_OCTETS_MAX),
        Field::Path => text(line, record.path, LOG_PATH_OCTETS_MAX),
        Field::Status => line.number(u64::from(record.status)),
        Field::OctetsIn => line.number(record.octets_in),
        Field::OctetsOut => line.number(record.octets_out),
        Field::Duration => line.number(nanoseconds(record.times.whole())),
        Field::Origin => line.number(nanoseconds(record.times.origin())),
        Field::Stages => stages(line, &record.times),
        Field::Attempts => line.number(u64::from(record.attempts)),
        Field::Core => line.number(u64::from(record.core)),
        Field::Service => text(line, record.service.as_bytes(), LOG_ID_OCTETS_MAX),
        Field::Endpoint => match record.socket {
            Some(path) => {
                line.raw(b"\"unix:");
                line.escaped(path, LOG_ID_OCTETS_MAX);
                line.raw(b"\"");
            }
            None => record.endpoint.into_iter().for_each(|endpoint| socket_address(line, endpoint)),
        },
        Field::Reason => plain(line, record.reason.map_or("", Reason::as_str).as_bytes()),
        Field::Fault => plain(line, record.reason.map_or("", |reason| reason.fault().as_str()).as_bytes()),
    }
}

fn level(record: &AccessRecord<'_>) -> &'static str {
    match record {
        AccessRecord { status: 500.., .. } => "error",
        AccessRecord { reason: Some(_), .. } => "warn",
        _ => "info",
    }
}

/// A string that needs no escape.
fn plain(line: &mut Line, value: &[u8]) {
    line.raw(b"\"");
    line.raw(value);
    line.raw(b"\"");
}

fn text(line: &mut Line, value: &[u8], max: usize) {
    line.raw(b"\"");
    line.escaped(value, max);
    line.raw(b"\"");
}

fn stages(line: &mut Line, times: &Times) {
    line.raw(b"{\"head\":");
    line.number(nanoseconds(times.head));
    for stage in Stage::ALL {
        line.raw(b",");
        plain(line, stage.as_str().as_bytes());
        line.raw(b":");
        line.number(nanoseconds(times.of(stage)));
    }
    line.raw(b"}");
}

fn socket_address(line: &mut Line, endpoint: SocketAddr) {
    let (open, close): (&[u8], &[u8]) = if endpoint.is_ipv6() { (b"\"[", b"]:") } else { (b"\"", b":") };
    line.raw(open);
    address(line, endpoint.ip());
    line.raw(close);
    line.number(u64::from(endpoint.port()));
    line.raw(b"\"");
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
