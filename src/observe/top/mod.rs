//! Host names with most requests, errors and octets. There are millions of them, so that only some of the requests tell
//! theirs ([`sampler`]), and only the names with most of late are kept apart ([`ranking`]).
//!
//! A name comes here from the route table, never from a client: one that a wildcard answers for counts as the wildcard,
//! and requests that reached no service are counted without one. So nobody outside makes series.

mod ranking;
mod sampler;

use super::metrics::CoreMetrics;
use super::registry::{count, single_count};
use crate::limits::TOP_AGE_MS;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;
use ranking::Ranking;
pub use sampler::{Nowhere, TopSink, TopSource, Weights, ring};
use serde_json::{Value, json};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Takes what the cores tell out of their rings. The admin thread's; no core waits for it.
#[derive(Default)]
pub struct TopHosts(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    sources: Vec<TopSource>,
    rankings: [Ranking; BY.len()],
    aged: Option<Instant>,
}

/// What names are ranked by.
struct By {
    name: &'static str,
    help: &'static str,
    /// Its part of what is told, and of what reached no service.
    told: fn(Weights) -> u64,
    nowhere: fn(&Nowhere) -> u64,
}

const BY: [By; 3] = [
    By {
        name: "requests",
        help: "Requests of the host names that have most of late, by one in 32; the others are counted together.",
        told: |weights| weights.requests,
        nowhere: |nowhere| nowhere.requests.get(),
    },
    By {
        name: "errors",
        help: "The same of requests that went wrong, whoever's fault it was; all of them.",
        told: |weights| weights.errors,
        nowhere: |nowhere| nowhere.errors.get(),
    },
    By {
        name: "octets",
        help: "The same of octets from and to clients, by one in 1,048,576.",
        told: |weights| weights.octets,
        nowhere: |nowhere| nowhere.octets.get(),
    },
];

impl By {
    fn others(&self, ranking: &Ranking, cores: &[Arc<CoreMetrics>]) -> u64 {
        ranking.others() + cores.iter().map(|core| (self.nowhere)(&core.nowhere)).sum::<u64>()
    }
}

impl TopHosts {
    #[must_use]
    pub fn new(sources: Vec<TopSource>) -> TopHosts {
        TopHosts(Mutex::new(Kept { sources, ..Kept::default() }))
    }

    /// Looks for news.
    pub fn look(&self) {
        drop(self.looked(Instant::now()));
    }

    fn looked(&self, now: Instant) -> MutexGuard<'_, Kept> {
        // No panic leaves it half changed.
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.look(now);
        kept
    }

    pub(super) fn encode(&self, out: &mut DescriptorEncoder<'_>, cores: &[Arc<CoreMetrics>]) -> fmt::Result {
        let kept = self.looked(Instant::now());
        for (by, ranking) in BY.iter().zip(&kept.rankings) {
            let name = format!("ringway_host_{}", by.name);
            let mut family = out.encode_descriptor(&name, by.help, None, MetricType::Counter)?;
            for shown in ranking.shown() {
                count(&mut family, &[("host", shown.name)], shown.counted)?;
            }
            count(&mut family, &[("host", "(others)")], by.others(ranking, cores))?;
        }
        let help = "Host names whose series made room for another's; what they had is with the others.";
        let displaced = kept.rankings.iter().map(Ranking::displaced).sum();
        single_count(out, "ringway_host_displaced", help, displaced)
    }

    /// As `/v1/top` tells it.
    pub(super) fn told(&self, cores: &[Arc<CoreMetrics>]) -> Value {
        let kept = self.looked(Instant::now());
        let told = BY.iter().zip(&kept.rankings).map(|(by, ranking)| {
            let shown = ranking.shown().into_iter();
            let hosts: Vec<Value> = shown
                .map(|shown| json!({ "host": shown.name, "of_late": shown.of_late, "total": shown.counted }))
                .collect();
            (by.name.to_owned(), json!({ "hosts": hosts, "others": by.others(ranking, cores) }))
        });
        Value::Object(told.collect())
    }
}

impl Kept {
    fn look(&mut self, now: Instant) {
        let Kept { sources, rankings, aged } = self;
        for source in sources {
            source.take(|name, weights| {
                for (by, ranking) in BY.iter().zip(rankings.iter_mut()) {
                    match (by.told)(weights) {
                        0 => {}
                        weight => ranking.add(name, weight),
                    }
                }
            });
        }
        rankings.iter_mut().for_each(Ranking::choose);
        let since = *aged.get_or_insert(now);
        if now.saturating_duration_since(since) >= Duration::from_millis(TOP_AGE_MS) {
            rankings.iter_mut().for_each(Ranking::age);
            *aged = Some(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cores_tell_is_ranked_each_by_its_own() {
        let cores = [Arc::<CoreMetrics>::default(), Arc::default()];
        let (mut sinks, sources): (Vec<_>, Vec<_>) =
            cores.iter().zip(1..).map(|(core, seed)| ring(seed, Arc::clone(core))).unzip();
        let top = TopHosts::new(sources);
        let (busy, large) = (
            Weights { requests: 32, errors: 1, octets: 0 },
            Weights { requests: 0, errors: 0, octets: 5_000 },
        );
        sinks[0].tell(b"a.test", false, busy);
        sinks[1].tell(b"a.test", false, busy);
        sinks[1].tell(b"x.apps.test", true, large);
        cores[0].nowhere.count(70, true);
        cores[1].nowhere.count(7, false);
        let a = |n| json!([{ "host": "a.test", "of_late": n, "total": n }]);
        let apps = json!([{ "host": "*.apps.test", "of_late": 5_000, "total": 5_000 }]);
        let told = json!({
            "requests": { "hosts": a(64), "others": 2 },
            "errors": { "hosts": a(2), "others": 1 },
            "octets": { "hosts": apps, "others": 77 },
        });
        assert_eq!(top.told(&cores), told);
        let late = Instant::now() + Duration::from_millis(TOP_AGE_MS);
        drop(top.looked(late));
        assert_eq!(
            top.told(&cores)["requests"]["hosts"][0],
            json!({ "host": "a.test", "of_late": 32, "total": 64 })
        );
    }
}
