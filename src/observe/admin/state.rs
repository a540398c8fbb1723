//! How things stand, as `GET /v1/state` tells it: read from what cores and the feed have counted, so that nobody is asked.

use crate::feed::BadReason;
use crate::observe::metrics::CoreMetrics;
use crate::observe::registry::{FeedFiles, Registry, TableFile};
use serde_json::{Map, Value, json};
use std::time::Duration;

pub(super) fn told(registry: &Registry, uptime: Duration) -> Value {
    let cores: Vec<Value> =
        registry.cores.iter().enumerate().map(|(at, metrics)| core(at, metrics)).collect();
    let node = &registry.node;
    let table = (registry.table)().unwrap_or_default();
    let base = |base: TableFile| json!({ "file": base.path, "octets": base.octets, "hosts": table.hosts });
    let level = |level: TableFile| json!({ "file": level.path, "octets": level.octets });
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "node": { "id": node.id, "region": node.region, "pop": node.pop },
        "uptime_seconds": uptime.as_secs(),
        "draining": registry.readiness.is_draining(),
        "digest": table.digest,
        "base": table.base.map(base),
        "levels": table.levels.into_iter().map(level).collect::<Vec<Value>>(),
        "overlay": { "keys": table.overlay_keys, "octets": table.overlay_octets },
        "feed": registry.feed_files.as_ref().map(|files| feed(registry, files)),
        "cores": cores,
    })
}

/// A core's connections, and the route table as this core has it.
fn core(at: usize, metrics: &CoreMetrics) -> Value {
    json!({
        "core": at,
        "connections_open": metrics.connections_open.get(),
        "requests_in_flight": metrics.requests_in_flight.get(),
        "upstream_idle": metrics.upstream_idle.get(),
        "publication": metrics.table_publication.get(),
        "base_generation": metrics.table_bases_taken.get(),
        "levels": metrics.table_core_levels.get(),
        "overlay": { "keys": metrics.table_core_overlay_keys.get(), "octets": metrics.table_core_overlay_octets.get() },
    })
}

/// How far the feed has come, and what became of it.
fn feed(registry: &Registry, files: &FeedFiles) -> Value {
    let stats = &registry.feed;
    let refused = BadReason::ALL
        .iter()
        .map(|&reason| (reason.as_str().to_owned(), Value::from(stats.refused(reason).get())));
    json!({
        "file": files.source,
        "line": stats.line.get(),
        "offset": stats.offset.get(),
        "lag_seconds": stats.lag(),
        "publications": stats.publications.get(),
        "applied": stats.applied.get(),
        "stale": stats.stale.get(),
        "fenced": stats.fenced.get(),
        "quarantine": {
            "file": files.dir.join("quarantine.jsonl"),
            "refused": refused.filter(|(_, count)| *count != 0).collect::<Map<String, Value>>(),
            "kept": stats.kept.get(),
            "not_kept": stats.not_kept.get(),
        },
        "files_made": {
            "flushes": stats.flushes.get(),
            "merges": stats.merges.get(),
            "bases": stats.bases.get(),
            "failed": stats.chores_failed.get(),
            "octets": stats.written.get(),
        },
    })
}
