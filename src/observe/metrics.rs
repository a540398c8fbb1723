//! Everything that one core counts.

use super::cell::{Counter, Gauge};
use super::errors::ErrorCounters;
use super::histogram::Histogram;
use super::lag::LagCounters;
use super::reason::Reason;
use super::times::{Stage, Times};
use super::top::Nowhere;
use crate::runtime::RingStats;
use std::time::Duration;

/// One number of one core as it is exported.
pub(super) struct Scalar {
    /// Without the prefix `ringway_` and, for a count, the suffix `_total`.
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    pub(super) value: Value,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Count(u64),
    Level(u64),
}

impl Counter {
    fn value(&self) -> Value {
        Value::Count(self.get())
    }
}

impl Gauge {
    fn value(&self) -> Value {
        Value::Level(self.get())
    }
}

/// A struct of counters and gauges whose fields' names and comments are the exported names and help texts, so that
/// no number can be counted and then forgotten by the exporter.
macro_rules! scalars {
    (
        $(#[$meta:meta])*
        pub struct $struct:ident, prefix $prefix:literal {
            $(#[doc = $help:literal] $field:ident: $kind:ident,)*
        }
        with { $($(#[$other_meta:meta])* $other:ident: $other_type:ty,)* }
    ) => {
        $(#[$meta])*
        #[derive(Debug)]
        pub struct $struct {
            $(#[doc = $help] pub $field: $kind,)*
            $($(#[$other_meta])* pub $other: $other_type,)*
        }

        impl Default for $struct {
            fn default() -> Self {
                Self {
                    $($field: $kind::default(),)*
                    $($other: <$other_type>::default(),)*
                }
            }
        }

        impl $struct {
            pub(super) fn scalars(&self) -> Vec<Scalar> {
                vec![$(Scalar {
                    name: concat!($prefix, stringify!($field)),
                    help: $help.trim_ascii(),
                    value: self.$field.value(),
                }),*]
            }
        }
    };
}

scalars! {
    /// What one core counts. One `Arc` per core: the core writes, any thread reads. Aligned so that no two cores
    /// share a cache line, nor the pair of lines that the prefetcher fetches together.
    #[repr(align(128))]
    pub struct CoreMetrics, prefix "" {
        /// Clients' connections accepted.
        connections_accepted: Counter,
        /// Clients' connections open.
        connections_open: Gauge,
        /// Requests begun and not yet answered whole.
        requests_in_flight: Gauge,
        /// Connections to endpoints begun.
        upstream_connects: Counter,
        /// Connections to endpoints that did not come about.
        upstream_connect_failures: Counter,
        /// Requests sent on a kept connection.
        upstream_reused: Counter,
        /// Kept connections found closed by the endpoint, or too old, when they were wanted.
        upstream_stale: Counter,
        /// Requests that waited for their turn, since their service had as many in flight as it may have.
        upstream_waits: Counter,
        /// Requests that wait for their turn.
        upstream_waiting: Gauge,
        /// Kept connections closed to make room for another of their service.
        upstream_evicted: Counter,
        /// Endpoints left alone for a while after a failure.
        upstream_backoffs: Counter,
        /// Connections begun to see whether an endpoint that was left alone is back.
        upstream_probes: Counter,
        /// Requests sent to an endpoint that should be left alone, since no other was better.
        upstream_all_bad: Counter,
        /// Connections, of clients and to endpoints, cut since the host name that they were used for lost its service.
        host_cuts: Counter,
        /// The feed's last state of the route table that the core has taken up, by its number.
        table_publication: Gauge,
        /// Bases of the route table that it was served from, the first included.
        table_bases_taken: Counter,
        /// Files on top of the base that the core has.
        table_core_levels: Gauge,
        /// Keys that have changed since the newest file, as the core has them.
        table_core_overlay_keys: Gauge,
        /// Octets that these take. Cores that serve from the same state share them.
        table_core_overlay_octets: Gauge,
        /// States of the route table taken up from the feed.
        table_switches: Counter,
        /// Nanoseconds of CPU time that took in all.
        table_switch_nanoseconds: Counter,
        /// Nanoseconds of CPU time that the longest of them took.
        table_switch_longest_nanoseconds: Gauge,
        /// Requests tried a second time.
        second_attempts: Counter,
        /// Connections to endpoints kept for reuse.
        upstream_idle: Gauge,
        /// Octets received from clients.
        octets_from_clients: Counter,
        /// Octets sent to clients.
        octets_to_clients: Counter,
        /// Octets received from endpoints.
        octets_from_origins: Counter,
        /// Octets sent to endpoints.
        octets_to_origins: Counter,
        /// Access log records dropped because the log's thread, or who reads the log, could not keep up.
        log_dropped: Counter,
        /// Tasks that panicked; each ended its own connection alone.
        panics: Counter,
        /// Times that the core stood still until the disk brought a page of memory.
        major_faults: Counter,
        /// Clients' connections closed for having been idle too long.
        idle_timeouts: Counter,
        /// Drains begun; once in a core's life.
        drains: Counter,
        /// Host names looked up and not found.
        table_lookups_missed: Counter,
        /// Requests of services that were not counted, and whose connections were not kept, because enough others were.
        pool_full: Counter,
        /// Requests that took at least `access_log.slow`.
        slow_requests: Counter,
        /// Slow requests and stalls that /v1/slow does not show, since too many came at once.
        slow_dropped: Counter,
        /// Requests whose host name was not told for ringway_host_requests_total and its kin, since too many came at once.
        top_dropped: Counter,
        /// Turns of the ring that took 20 ms or longer; /v1/slow tells what ran in them.
        stalls: Counter,
        /// Connections that let go of a request's memory at once, because enough others kept theirs for the next.
        warm_full: Counter,
    }
    with {
        /// Answers by class of their status.
        requests: ByClass,
        /// Failures by reason, in the order of `Reason::ALL`.
        failures: Failures,
        /// Errors by whose fault they were.
        errors: ErrorCounters,
        /// Requests that reached no service.
        nowhere: Nowhere,
        /// What the socket ring counts.
        ring: RingCounters,
        /// How long its turns took.
        lag: LagCounters,
        /// From the end of a request's head to its answer's last octet, as seen here; to the turn of the ring.
        duration: Histogram,
        /// What of it was waiting for the origin.
        origin: Histogram,
        /// What of it was the answer's body on its way.
        transfer: Histogram,
        /// What of it was waiting for its turn, of requests that had to.
        queue: Histogram,
        /// The rest: what ringway added.
        overhead: Histogram,
    }
}

/// Failures by their reason.
#[derive(Debug)]
pub struct Failures([Counter; Reason::COUNT]);

impl Default for Failures {
    fn default() -> Self {
        Self([const { Counter::new(0) }; Reason::COUNT])
    }
}

impl Failures {
    pub(super) fn get(&self, reason: Reason) -> u64 {
        self.0[reason as usize].get()
    }
}

impl CoreMetrics {
    #[inline]
    pub fn failed(&self, reason: Reason) {
        self.failures.0[reason as usize].inc();
    }

    /// Counts that the core took up a state of the route table, and its CPU time for it.
    pub fn switched(&self, took: Duration) {
        let ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.table_switches.inc();
        self.table_switch_nanoseconds.add(ns);
        self.table_switch_longest_nanoseconds.set(ns.max(self.table_switch_longest_nanoseconds.get()));
    }

    /// Counts a request that ended with `status` (0 if it got no answer), and its times.
    #[inline]
    pub fn ended(&self, status: u16, times: &Times) {
        if status != 0 {
            self.requests.of(status).inc();
        }
        self.duration.record(times.whole());
        self.origin.record(times.origin());
        self.transfer.record(times.of(Stage::Body));
        self.overhead.record(times.of(Stage::Route));
        let queue = times.of(Stage::Queue);
        if !queue.is_zero() {
            self.queue.record(queue);
        }
    }
}

/// Answers by class of their status code: 1xx to 5xx.
#[derive(Debug, Default)]
pub struct ByClass([Counter; 5]);

impl ByClass {
    pub(super) const NAMES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

    /// The counter of a status code's class; codes out of range count as 5xx (RFC 9110, 15).
    #[inline]
    #[must_use]
    pub fn of(&self, status: u16) -> &Counter {
        let class = usize::from(status / 100).wrapping_sub(1);
        self.0.get(class).unwrap_or(&self.0[4])
    }

    pub(super) fn counts(&self) -> [u64; 5] {
        std::array::from_fn(|class| self.0[class].get())
    }
}

/// The counters of [`RingStats`], published by the core for other threads to read.
macro_rules! ring_counters {
    ($(#[doc = $help:literal] $field:ident: $kind:ident,)*) => {
        scalars! {
            /// What a core's socket ring counts: a copy of its [`RingStats`] that other threads may read.
            pub struct RingCounters, prefix "ring_" {
                $(#[doc = $help] $field: $kind,)*
            }
            with {}
        }

        impl RingCounters {
            /// Publishes what the ring has counted so far. Meant for once a tick or so, not for every request.
            pub fn store(&self, stats: &RingStats) {
                // Names every field, so that a new one is not forgotten here.
                let RingStats { $($field),* } = *stats;
                $(self.$field.set($field);)*
            }
        }
    };
}

ring_counters! {
    /// Calls of io_uring_enter.
    enters: Counter,
    /// Completions taken from the ring.
    completions: Counter,
    /// Descriptors accepted.
    accepted: Counter,
    /// Pauses of accepting, for want of descriptors or at the limit of connections.
    accept_pauses: Counter,
    /// Receives that found no buffer and waited.
    recv_starved: Counter,
    /// Receives held back because the reader was slow.
    recv_held_back: Counter,
    /// Sends submitted.
    sends: Counter,
    /// Sends of which the kernel took only a part.
    sends_short: Counter,
    /// Timers that ran out.
    timeouts: Counter,
    /// Connections reset because what was queued could not be sent in time.
    finish_timeouts: Counter,
    /// Times that the completion queue overflowed.
    overflows: Counter,
    /// Completions for a connection that was already gone.
    stale_completions: Counter,
    /// Descriptors in use.
    open: Gauge,
    /// Receive buffers in the hands of connections.
    buffers_out: Gauge,
}

#[cfg(test)]
mod tests {
    use super::{ByClass, CoreMetrics, Value};
    use crate::observe::{Reason, Times};
    use crate::runtime::RingStats;
    use std::time::Duration;

    #[test]
    fn every_status_has_a_class() {
        let requests = ByClass::default();
        for status in [100, 199, 200, 299, 304, 404, 499, 500, 599, 0, 99, 600, u16::MAX] {
            requests.of(status).inc();
        }
        assert_eq!(requests.counts(), [2, 2, 1, 2, 6]);
    }

    #[test]
    fn an_answer_is_counted_once_everywhere() {
        let metrics = CoreMetrics::default();
        metrics.ended(502, &Times::split(Duration::from_millis(5), Duration::from_millis(3)));
        metrics.failed(Reason::OriginReset);
        assert_eq!(metrics.requests.counts(), [0, 0, 0, 0, 1]);
        let sums = [&metrics.duration, &metrics.origin, &metrics.overhead].map(|times| times.read().sum_ns);
        assert_eq!(sums, [5_000_000, 3_000_000, 2_000_000]);
        let failures = Reason::ALL.iter().map(|&reason| metrics.failures.get(reason));
        assert_eq!(failures.sum::<u64>(), 1);
        assert_eq!(metrics.failures.get(Reason::OriginReset), 1);
    }

    #[test]
    fn the_ring_s_counts_are_published_under_their_names() {
        let metrics = CoreMetrics::default();
        metrics.ring.store(&RingStats { enters: 7, buffers_out: 3, ..RingStats::default() });
        let value_of = |name| {
            metrics.ring.scalars().iter().find(|scalar| scalar.name == name).map(|scalar| scalar.value)
        };
        assert_eq!(value_of("ring_enters"), Some(Value::Count(7)));
        assert_eq!(value_of("ring_buffers_out"), Some(Value::Level(3)));
        assert_eq!(value_of("ring_sends"), Some(Value::Count(0)));
    }

    #[test]
    fn cores_share_no_cache_line() {
        assert_eq!(align_of::<CoreMetrics>(), 128);
        assert_eq!(size_of::<CoreMetrics>() % 128, 0);
    }
}
