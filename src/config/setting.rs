//! Every setting with a number in it: its name, default, range and meaning, in one table. The reader and
//! docs/reference/configuration.md both follow it.
use std::time::Duration;

use super::checked::{Limits, OriginTimeouts, RequestLimits, Timeouts, UpstreamLimits};
use super::quantity::{Setting, setting};
use crate::limits::{
    BODY_OCTETS_MAX, CONNECTIONS_PER_CORE as CONNECTIONS_PER_CORE_MAX, FIELDS_MAX, HEAD_OCTETS_MAX,
    TARGET_OCTETS_MAX,
};

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

const fn s(n: u64) -> Duration {
    Duration::from_secs(n)
}

const fn hours(n: u64) -> Duration {
    Duration::from_secs(n * 3600)
}

// Timeouts. The least is a few ticks of the timer wheel.
pub(super) const REQUEST_HEAD: Setting<Duration> = setting("request_head", s(10), (ms(100), s(600)));
pub(super) const IDLE: Setting<Duration> = setting("idle", s(75), (ms(100), hours(24)));
pub(super) const DRAIN: Setting<Duration> = setting("drain", s(30), (s(0), hours(24)));
// Long enough for one SYN to be lost and sent again.
pub(super) const CONNECT: Setting<Duration> = setting("connect", s(3), (ms(20), s(60)));
pub(super) const RESPONSE_HEAD: Setting<Duration> = setting("response_head", s(60), (ms(20), hours(1)));
pub(super) const BODY_PROGRESS: Setting<Duration> = setting("body_progress", s(60), (ms(100), hours(1)));
pub(super) const UPSTREAM_IDLE: Setting<Duration> = setting("upstream_idle", s(60), (ms(100), hours(1)));
pub(super) const UPSTREAM_WAIT: Setting<Duration> = setting("upstream_wait", s(1), (ms(20), s(600)));

// Limits. What the process can take at most is compiled in; a file may ask for less.
pub(super) const REQUEST_HEAD_BYTES: Setting<usize> =
    setting("request_head_bytes", HEAD_OCTETS_MAX, (1_024, HEAD_OCTETS_MAX));
pub(super) const RESPONSE_HEAD_BYTES: Setting<usize> =
    setting("response_head_bytes", HEAD_OCTETS_MAX, (1_024, HEAD_OCTETS_MAX));
pub(super) const HEAD_FIELDS: Setting<usize> = setting("head_fields", FIELDS_MAX, (16, FIELDS_MAX));
pub(super) const TARGET_BYTES: Setting<usize> =
    setting("target_bytes", TARGET_OCTETS_MAX, (64, TARGET_OCTETS_MAX));
pub(super) const REQUEST_BODY_BYTES: Setting<u64> =
    setting("request_body_bytes", BODY_OCTETS_MAX, (0, BODY_OCTETS_MAX));
/// A client that is slower than a modem of the nineties by far holds a request on purpose.
pub(super) const CLIENT_BYTES_PER_SECOND: Setting<u64> =
    setting("client_min_bytes_per_second", 64, (0, 1_000_000_000));
/// Off: an origin may have something to say once a minute, as in an event stream.
pub(super) const ORIGIN_BYTES_PER_SECOND: Setting<u64> =
    setting("origin_min_bytes_per_second", 0, (0, 1_000_000_000));
pub(super) const CONNECTIONS_PER_CORE: Setting<usize> =
    setting("connections_per_core", CONNECTIONS_PER_CORE_MAX, (1, CONNECTIONS_PER_CORE_MAX));
pub(super) const UPSTREAM_IDLE_CONNECTIONS: Setting<usize> =
    setting("upstream_idle_connections", 256, (0, 65_536));
pub(super) const UPSTREAM_CONNECTIONS: Setting<usize> =
    setting("upstream_connections", 1_024, (1, CONNECTIONS_PER_CORE_MAX));
pub(super) const UPSTREAM_REQUESTS: Setting<usize> =
    setting("upstream_requests", 1_024, (1, CONNECTIONS_PER_CORE_MAX));
pub(super) const UPSTREAM_WAITING: Setting<usize> =
    setting("upstream_waiting", 1_024, (0, CONNECTIONS_PER_CORE_MAX));

// Access log.
pub(super) const SUCCESS_SAMPLE: Setting<f64> = setting("success_sample", 0.05, (0.0, 1.0));
pub(super) const SLOW: Setting<Duration> = setting("slow", s(1), (ms(1), hours(1)));

// Words.
/// Of listening Unix sockets: the user and its group.
pub(super) const SOCKET_MODE: u32 = 0o660;
pub(super) const REGION: &str = "local";
pub(super) const POP: &str = "local";
pub(super) const ADMIN_ADDRESS: &str = "127.0.0.1:9180";
pub(super) const STATE_DIR: &str = "./var/ringway";

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            request_head: REQUEST_HEAD.default,
            idle: IDLE.default,
            drain: DRAIN.default,
            origin: OriginTimeouts::default(),
        }
    }
}

impl Default for OriginTimeouts {
    fn default() -> Self {
        Self {
            connect: CONNECT.default,
            response_head: RESPONSE_HEAD.default,
            body_progress: BODY_PROGRESS.default,
            upstream_idle: UPSTREAM_IDLE.default,
            upstream_wait: UPSTREAM_WAIT.default,
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            request: RequestLimits::default(),
            response_head_bytes: RESPONSE_HEAD_BYTES.default,
            connections_per_core: CONNECTIONS_PER_CORE.default,
            upstream: UpstreamLimits::default(),
        }
    }
}

impl Default for UpstreamLimits {
    fn default() -> Self {
        Self {
            idle_connections: UPSTREAM_IDLE_CONNECTIONS.default,
            connections: UPSTREAM_CONNECTIONS.default,
            requests: UPSTREAM_REQUESTS.default,
            waiting: UPSTREAM_WAITING.default,
        }
    }
}

impl Default for RequestLimits {
    fn default() -> Self {
        Self {
            head_bytes: REQUEST_HEAD_BYTES.default,
            head_fields: HEAD_FIELDS.default,
            target_bytes: TARGET_BYTES.default,
            body_bytes: REQUEST_BODY_BYTES.default,
            client_bytes_per_second: CLIENT_BYTES_PER_SECOND.default,
            origin_bytes_per_second: ORIGIN_BYTES_PER_SECOND.default,
        }
    }
}
