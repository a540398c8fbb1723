//! Records under hostile input, whole or not at all, and the choice of what is logged.
#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test

use super::{AccessRecord, Field, Fields, LogSource, ring, should_log};
use crate::limits::{LOG_HOST_OCTETS_MAX, LOG_METHOD_OCTETS_MAX, LOG_PATH_OCTETS_MAX, LOG_RECORD_OCTETS_MAX};
use crate::observe::{CoreMetrics, Reason, Times};
use crate::proto::trace::{IdSource, RequestId};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

/// A record whose texts can be chosen; the rest is usual.
pub(crate) fn record<'a>(request_id: &'a RequestId, host: &'a [u8], path: &'a [u8]) -> AccessRecord<'a> {
    AccessRecord {
        time_unix_ms: 784_111_777_042,
        request_id,
        trace_id: "0af7651916cd43dd8448eb211c80319c",
        span_id: "b7ad6b7169203331",
        client: Some(IpAddr::from([192, 0, 2, 7])),
        method: b"GET",
        host,
        path,
        status: 200,
        service: "svc_shop",
        endpoint: Some(SocketAddr::from(([10, 2, 3, 4], 10_001))),
        socket: None,
        attempts: 1,
        octets_in: 612,
        octets_out: 1234,
        times: Times {
            head: Duration::from_micros(200),
            stages: [100, 0, 400, 1000, 0].map(Duration::from_micros),
        },
        slow: false,
        reason: None,
        core: 1,
    }
}

pub(crate) fn any_id() -> RequestId {
    IdSource::new(1, 2, 3).request_id()
}

/// Takes everything out of the ring.
fn drain(source: &mut LogSource) -> Vec<u8> {
    source.take()
}

/// The line of one record.
fn written(record: &AccessRecord<'_>) -> String {
    let metrics = Arc::new(CoreMetrics::default());
    let (mut sink, mut source, _) = ring(Arc::clone(&metrics));
    sink.write(record, Fields::ALL);
    assert_eq!(metrics.log_dropped.get(), 0);
    String::from_utf8(drain(&mut source)).unwrap()
}

#[test]
fn a_success_reads_so() {
    let id = any_id();
    let line = written(&record(&id, b"shop.example.com", b"/cart"));
    let expected = json!({
        "@timestamp": "1994-11-06T08:49:37.042Z",
        "log.level": "info",
        "event.dataset": "ringway.access",
        "service.version": env!("CARGO_PKG_VERSION"),
        "http.request.id": id.as_str(),
        "trace.id": "0af7651916cd43dd8448eb211c80319c",
        "span.id": "b7ad6b7169203331",
        "client.ip": "192.0.2.7",
        "http.request.method": "GET",
        "url.domain": "shop.example.com",
        "url.path": "/cart",
        "http.response.status_code": 200,
        "http.request.bytes": 612,
        "http.response.bytes": 1234,
        "event.duration": 1_500_000,
        "ringway.origin_duration": 1_400_000,
        "ringway.attempts": 1,
        "ringway.core": 1,
        "ringway.service": "svc_shop",
        "ringway.endpoint": "10.2.3.4:10001",
    });
    assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), expected);
    assert!(line.len() <= 1024, "R-186: about 1 KB a record; {}", line.len());
}

#[test]
fn a_failure_names_its_reason_and_leaves_out_what_there_was_not() {
    let id = any_id();
    let failed = AccessRecord {
        status: 404,
        service: "",
        endpoint: None,
        reason: Some(Reason::UnknownHost),
        client: "2001:db8::1".parse().ok(),
        ..record(&id, b"nobody.example", b"/")
    };
    let read: Value = serde_json::from_str(&written(&failed)).unwrap();
    assert_eq!(read["log.level"], "warn");
    assert_eq!(read["ringway.reason"], "unknown_host");
    assert_eq!(read["ringway.fault"], "client");
    assert_eq!(read["client.ip"], "2001:db8::1");
    assert_eq!((read.get("ringway.service"), read.get("ringway.endpoint")), (None, None));
    let endpoint = Some("[100::1]:1".parse().unwrap());
    let stands_for = AccessRecord { endpoint, socket: Some(b"/run/\"app\""), ..failed };
    let read: Value = serde_json::from_str(&written(&stands_for)).unwrap();
    assert_eq!(read["ringway.endpoint"], "unix:/run/\"app\"");
    let endpoint = Some("[2001:db8::2]:81".parse().unwrap());
    let read: Value =
        serde_json::from_str(&written(&AccessRecord { status: 502, endpoint, ..failed })).unwrap();
    assert_eq!(
        (&read["log.level"], &read["ringway.endpoint"]),
        (&json!("error"), &json!("[2001:db8::2]:81"))
    );
}

#[test]
fn a_line_has_the_fields_that_were_chosen() {
    let (id, metrics) = (any_id(), Arc::new(CoreMetrics::default()));
    let (mut sink, mut source, _) = ring(metrics);
    let record = AccessRecord { slow: true, ..record(&id, b"shop.example.com", b"/cart") };
    for field in Field::ALL {
        sink.write(&record, Fields::NONE.with(*field));
        let line = String::from_utf8(drain(&mut source)).unwrap();
        let read: Value = serde_json::from_str(&line).unwrap();
        let absent = matches!(field, Field::Reason | Field::Fault);
        let names: Vec<&String> = read.as_object().unwrap().keys().collect();
        assert_eq!(names, if absent { vec![] } else { vec![field.name()] });
    }
    sink.write(&record, Fields::NONE.with(Field::Status).with(Field::Path));
    let line = String::from_utf8(drain(&mut source)).unwrap();
    assert_eq!(line, "{\"url.path\":\"/cart\",\"http.response.status_code\":200}\n");
}

/// The octets that a logged string stands for, and whether it was cut.
fn octets_of(text: &Value) -> (Vec<u8>, bool) {
    let text = text.as_str().unwrap();
    let (text, cut) = text.strip_suffix('\u{2026}').map_or((text, false), |text| (text, true));
    (text.chars().map(|char| u8::try_from(u32::from(char)).unwrap()).collect(), cut)
}

/// Octets a client could send: mostly ordinary, or anything at all, up to beyond every bound.
fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let ordinary = prop::collection::vec(b' '..=b'~', 0..1200);
    prop_oneof![ordinary, prop::collection::vec(any::<u8>(), 0..3000)]
}

proptest! {
    #[test]
    fn any_octets_make_one_line_that_reads_back(
        method in hostile(), host in hostile(), path in hostile(), trace in "\\PC{0,80}", service in "\\PC{0,80}",
        numbers in any::<(u64, u16, u8, u64, u64, Duration, [Duration; 5])>(),
        client in any::<IpAddr>(), endpoint in any::<SocketAddr>(), reason in prop::option::of(0..Reason::COUNT),
    ) {
        let id = any_id();
        let (time_unix_ms, status, attempts, octets_in, octets_out, head, stages) = numbers;
        let times = Times { head, stages: stages.map(|time| time / 5) };
        let reason = reason.map(|at| Reason::ALL[at]);
        let line = written(&AccessRecord {
            time_unix_ms, status, attempts, octets_in, octets_out, times, client: Some(client), reason,
            method: &method, trace_id: &trace, span_id: &trace, service: &service, endpoint: Some(endpoint),
            core: u16::MAX, slow: true, ..record(&id, &host, &path)
        });
        prop_assert!(line.len() <= LOG_RECORD_OCTETS_MAX);
        prop_assert_eq!(line.find('\n'), Some(line.len() - 1));
        prop_assert!(line.trim_end().bytes().all(|octet| matches!(octet, b' '..=b'~')), "{}", line);
        let read: Value = serde_json::from_str(&line).unwrap();
        for (name, text, max) in [
            ("http.request.method", &method, LOG_METHOD_OCTETS_MAX),
            ("url.domain", &host, LOG_HOST_OCTETS_MAX),
            ("url.path", &path, LOG_PATH_OCTETS_MAX),
        ] {
            let (octets, cut) = octets_of(&read[name]);
            prop_assert!(text.starts_with(&octets), "{}", name);
            prop_assert_eq!(cut, octets.len() < text.len(), "{}", name);
            // An octet takes at most six, and the mark of the cut another six.
            prop_assert!(!cut || octets.len() >= (max - 11) / 6, "{} cut at {}", name, octets.len());
        }
        prop_assert_eq!(&read["http.response.bytes"], &json!(octets_out));
        prop_assert_eq!(read["client.ip"].as_str().unwrap().parse::<IpAddr>().unwrap(), client);
        let logged: SocketAddr = read["ringway.endpoint"].as_str().unwrap().parse().unwrap();
        prop_assert_eq!((logged.ip(), logged.port()), (endpoint.ip(), endpoint.port()));
    }
}

#[test]
fn a_full_ring_drops_whole_records_and_counts_them() {
    let metrics = Arc::new(CoreMetrics::default());
    let (mut sink, mut source, _) = ring(Arc::clone(&metrics));
    let id = any_id();
    let mut sent = 0;
    // Lengths vary, so that the end of the ring falls at every place within a line; drained between, so that it wraps.
    for round in 0..5_usize {
        let before = metrics.log_dropped.get();
        while metrics.log_dropped.get() < before + 3 {
            let path = vec![b'a'; 1 + (sent * 37 + round) % 700];
            sink.write(&record(&id, b"shop.example.com", &path), Fields::ALL);
            sent += 1;
        }
        let lines = String::from_utf8(drain(&mut source)).unwrap();
        assert!(lines.ends_with('\n'));
        let whole = lines.lines().filter(|line| serde_json::from_str::<Value>(line).is_ok()).count();
        assert_eq!(whole, lines.lines().count());
        assert!(whole > 1000, "a ring of 1 MiB holds more than {whole} records");
        sent -= whole;
    }
    assert_eq!(sent as u64, metrics.log_dropped.get(), "what is not in the log was counted");
}

#[test]
fn failures_and_slow_requests_are_always_logged() {
    let slow = Duration::from_secs(1);
    let log = |status, reason, took| {
        should_log(status, reason, took, slow, 0.0, "0af7651916cd43dd8448eb211c80319c")
    };
    assert!(!log(200, None, Duration::ZERO));
    assert!(!log(404, None, Duration::ZERO), "an origin's own 404 is its answer, not our failure");
    assert!(log(404, Some(Reason::UnknownHost), Duration::ZERO));
    assert!(log(499, Some(Reason::ClientGone), Duration::ZERO));
    assert!(log(500, None, Duration::ZERO));
    assert!(log(200, None, slow));
}

#[test]
fn the_sample_hangs_on_the_trace_alone_and_has_its_share() {
    let slow = Duration::from_secs(1);
    let mut ids = IdSource::new(7, 8, 9);
    let mut random = move || ids.request_id().as_str().to_owned();
    let mut counting = (0..).map(|n: u32| format!("{n:032x}"));
    let mut sources: [&mut dyn FnMut() -> String; 2] = [&mut random, &mut || counting.next().unwrap()];
    for next in &mut sources {
        let mut logged = 0;
        for _ in 0..100_000 {
            let trace = next();
            let log = |took, sample| should_log(200, None, took, slow, sample, &trace);
            let one = log(Duration::ZERO, 0.05);
            assert_eq!(one, log(Duration::from_millis(900), 0.05), "all or none of a trace");
            assert!(!one || log(Duration::ZERO, 0.06), "a larger share holds the smaller one");
            assert!(log(Duration::ZERO, 1.0));
            logged += u32::from(one);
        }
        assert!((4_500..=5_500).contains(&logged), "R-186: 5 % +- 0.5 %; {logged} of 100,000");
    }
}
