//! The exposition: what `/metrics` says, read from the cores' counters when it is asked for.
//!
//! A family without labels of its own is exported per core (label `core`), so that a skew can be seen. One with
//! labels, and the histograms, are summed over the cores, to keep the number of series small.

use super::access::LogStats;
use super::cell::Counter;
use super::config_stats::ConfigStats;
use super::errors::{ErrorCounters, ErrorKind, ServiceErrors};
use super::feed_stats::FeedStats;
use super::histogram::{self, Reading};
use super::metrics::{ByClass, CoreMetrics, Scalar, Value};
use super::name_stats::NameStats;
use super::process::ProcessFigures;
use super::process_log::{self, ProcessLogStats};
use super::readiness::Readiness;
use super::reason::Reason;
use super::slow::SlowNotes;
use super::top::TopHosts;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeGaugeValue, EncodeLabelSet, MetricEncoder, NoLabelSet, text,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Unit;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// Where this process stands.
#[derive(Debug, Clone)]
pub struct NodeLabels {
    pub id: String,
    pub region: String,
    pub pop: String,
}

/// What the route table holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableFigures {
    /// Host names of the base.
    pub hosts: u64,
    /// Of the base and what is on top of it, hexadecimal.
    pub digest: String,
    /// Keys that changed since the base, and the octets that they take.
    pub overlay_keys: u64,
    pub overlay_octets: u64,
    pub base: Option<TableFile>,
    /// On top of it, the newest first.
    pub levels: Vec<TableFile>,
}

/// A file of the route table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableFile {
    pub path: PathBuf,
    pub octets: u64,
}

/// Where the feed's changes come from, and the folder that it writes to.
#[derive(Debug, Clone)]
pub struct FeedFiles {
    pub source: PathBuf,
    pub dir: PathBuf,
}

/// Everything that is exported, and what it is read from.
pub struct Registry {
    pub cores: Vec<Arc<CoreMetrics>>,
    pub log: Arc<LogStats>,
    pub readiness: Arc<Readiness>,
    pub config: Arc<ConfigStats>,
    pub names: Arc<NameStats>,
    pub feed: Arc<FeedStats>,
    /// None if changes come from no feed.
    pub feed_files: Option<FeedFiles>,
    pub services: Arc<ServiceErrors>,
    pub slow: SlowNotes,
    pub top: TopHosts,
    /// Connections of the admin listener that had to make room. Its thread's.
    pub admin_evicted: Counter,
    pub node: NodeLabels,
    /// Asked at each scrape; `None` while there is no table.
    pub table: Box<dyn Fn() -> Option<TableFigures> + Send + Sync>,
}

impl fmt::Debug for Registry {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Registry of {} cores", self.cores.len())
    }
}

/// The media type of the text that [`Exposition::render`] makes.
pub(super) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// A registry with the encoder around it.
pub(super) struct Exposition(prometheus_client::registry::Registry);

impl Exposition {
    pub(super) fn new(registry: Arc<Registry>) -> Self {
        let mut inner = prometheus_client::registry::Registry::default();
        inner.register_collector(Box::new(registry));
        Self(inner)
    }

    /// OpenMetrics text of how things stand now.
    pub(super) fn render(&self) -> Result<String, fmt::Error> {
        let mut out = String::with_capacity(64 << 10);
        text::encode(&mut out, &self.0)?;
        Ok(out)
    }
}

impl Collector for Registry {
    fn encode(&self, mut out: DescriptorEncoder<'_>) -> fmt::Result {
        let out = &mut out;
        self.requests(out)?;
        self.failures(out)?;
        self.errors(out)?;
        self.top.encode(out, &self.cores)?;
        self.durations(out)?;
        self.scalars(out, CoreMetrics::scalars)?;
        self.scalars(out, |core| core.ring.scalars())?;
        self.lag(out)?;
        self.log(out)?;
        self.state(out)?;
        self.config(out)?;
        self.names(out)?;
        self.feed.encode(out)?;
        self.infos(out)?;
        process(out)
    }
}

impl Registry {
    fn requests(&self, out: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Answers, by class of their status.";
        let mut family = out.encode_descriptor("ringway_requests", help, None, MetricType::Counter)?;
        for (class, name) in ByClass::NAMES.iter().enumerate() {
            let sum: u64 = self.cores.iter().map(|core| core.requests.counts()[class]).sum();
            count(&mut family, &[("class", *name)], sum)?;
        }
        Ok(())
    }

    fn failures(&self, out: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Requests that failed, by reason and by whose fault it was.";
        let mut family = out.encode_descriptor("ringway_failures", help, None, MetricType::Counter)?;
        for &reason in Reason::ALL {
            let sum: u64 = self.cores.iter().map(|core| core.failures.get(reason)).sum();
            count(&mut family, &[("reason", reason.as_str()), ("fault", reason.fault().as_str())], sum)?;
        }
        Ok(())
    }

    fn errors(&self, out: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help =
            "Failures, and 5xx of origins, by whose fault they were, who answered, and class of the status.";
        let mut family = out.encode_descriptor("ringway_errors", help, None, MetricType::Counter)?;
        for kind in ErrorKind::ALL {
            for (at, status) in ErrorCounters::STATUS.into_iter().enumerate() {
                let sum: u64 = self.cores.iter().map(|core| core.errors.get(kind, at)).sum();
                let [fault, by] = kind.labels();
                count(&mut family, &[fault, by, ("status", status)], sum)?;
            }
        }
        let help = "The same by service. Those with most errors of late have series of their own.";
        let mut family = out.encode_descriptor("ringway_service_errors", help, None, MetricType::Counter)?;
        let top = self.services.top();
        for (service, kinds) in top.services().into_iter().chain([("(others)", &top.others)]) {
            let service = if service.is_empty() { "(none)" } else { service };
            for (kind, errors) in ErrorKind::ALL.into_iter().zip(kinds) {
                let [fault, by] = kind.labels();
                count(&mut family, &[("service", service), fault, by], *errors)?;
            }
        }
        let help =
            "Services whose series of errors made room for another's; what they had is with the others.";
        single_count(out, "ringway_service_errors_displaced", help, top.displaced)
    }

    fn durations(&self, out: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let sum = |pick: fn(&CoreMetrics) -> &histogram::Histogram| {
            self.cores.iter().fold(Reading::nothing(), |sum, core| sum.plus(&pick(core).read()))
        };
        let whole = "From the end of a request's head to its answer's last octet, as seen here; to the turn of the ring.";
        durations(out, "ringway_request_duration", whole, &sum(|core| &core.duration))?;
        let origin = "What of a request's duration was waiting for the origin: for a connection, and for its answer's head.";
        durations(out, "ringway_origin_duration", origin, &sum(|core| &core.origin))?;
        let transfer = "What of a request's duration was the answer's body on its way, from the origin and to the client.";
        durations(out, "ringway_transfer_duration", transfer, &sum(|core| &core.transfer))?;
        let queue = "What of a request's duration was waiting for its turn, of those that had to.";
        durations(out, "ringway_queue_duration", queue, &sum(|core| &core.queue))?;
        let overhead = "What of a request's duration was none of these: ringway's own.";
        durations(out, "ringway_overhead_duration", overhead, &sum(|core| &core.overhead))
    }

    /// One family per number of a core, one series per core.
    fn scalars(&self, out: &mut DescriptorEncoder<'_>, read: fn(&CoreMetrics) -> Vec<Scalar>) -> fmt::Result {
        let cores: Vec<Vec<Scalar>> = self.cores.iter().map(|core| read(core)).collect();
        let Some(first) = cores.first() else { return Ok(()) };
        for (at, scalar) in first.iter().enumerate() {
            let name = format!("ringway_{}", scalar.name);
            let kind = match scalar.value {
                Value::Count(_) => MetricType::Counter,
                Value::Level(_) => MetricType::Gauge,
            };
            let mut family = out.encode_descriptor(&name, scalar.help, None, kind)?;
            for (core, scalars) in cores.iter().enumerate() {
                match scalars[at].value {
                    Value::Count(total) => count(&mut family, &[("core", core)], total)?,
                    Value::Level(level) => gauge(&mut family, &[("core", core)], level)?,
                }
            }
        }
        Ok(())
    }

    /// Per core, since a core that hangs is not seen in a sum.
    fn lag(&self, out: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "How long turns took in which tasks ran: what arrives during one waits for its end.";
        let unit = Some(&Unit::Seconds);
        let mut family = out.encode_descriptor("ringway_loop_lag", help, unit, MetricType::Histogram)?;
        for (core, metrics) in self.cores.iter().enumerate() {
            let (buckets, sum) = metrics.lag.buckets();
            let total = buckets.iter().map(|(_, count)| count).sum();
            let labels = [("core", core)];
            family.encode_family(&labels)?.encode_histogram::<NoLabelSet>(sum, total, &buckets, None)?;
        }
        Ok(())
    }

    fn log(&self, out: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let (octets, failures) = (self.log.octets.get(), self.log.write_failures.get());
        let help = "Octets written to the access log.";
        single_count(out, "ringway_log_octets", help, octets)?;
        let help =
            "Writes to the access log that failed; what they held is tried again, what comes in is dropped.";
        single_count(out, "ringway_log_write_failures", help, failures)?;
        let help = "Lines of the access log cut off in a file that failed, when another was begun.";
        single_count(out, "ringway_log_torn", help, self.log.torn.get())?;
        let ProcessLogStats { dropped, write_failures } = process_log::stats();
        let help =
            "Lines of the process log that found no room: nobody reads stderr, or what it is takes nothing.";
        single_count(out, "ringway_process_log_dropped", help, dropped)?;
        let help = "Writes to stderr that failed; what they held is tried again.";
        single_count(out, "ringway_process_log_write_failures", help, write_failures)
    }

    fn state(&self, out: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "1 if this router should be sent traffic, as /readyz says.";
        single_gauge(out, "ringway_ready", help, None, u64::from(self.readiness.is_ready()))?;
        let help = "Connections of the admin listener closed for another: all its places were taken, and theirs longest without \
                    a whole request.";
        single_count(out, "ringway_admin_evicted", help, self.admin_evicted.get())?;
        let TableFigures { hosts, overlay_keys, overlay_octets, base, levels, .. } =
            (self.table)().unwrap_or_default();
        let help = "Host names in the base of the route table.";
        single_gauge(out, "ringway_table_base_hosts", help, None, hosts)?;
        let help = "The file of the route table's base.";
        single_gauge(
            out,
            "ringway_table_base",
            help,
            Some(&Unit::Bytes),
            base.map_or(0, |base| base.octets),
        )?;
        let help = "Files on top of the base that hold what has changed since.";
        single_gauge(out, "ringway_table_levels", help, None, levels.len() as u64)?;
        let (help, octets) = ("All of them together.", levels.iter().map(|level| level.octets).sum::<u64>());
        single_gauge(out, "ringway_table_levels_size", help, Some(&Unit::Bytes), octets)?;
        let help = "Keys of the route table that have changed since its base was made.";
        single_gauge(out, "ringway_table_overlay_keys", help, None, overlay_keys)?;
        let help = "Memory that they take, of all cores together.";
        single_gauge(out, "ringway_table_overlay", help, Some(&Unit::Bytes), overlay_octets)
    }

    fn config(&self, out: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let (applied, refused) = self.config.reloads();
        let help = "Times that the configuration was read again, by outcome.";
        let mut family = out.encode_descriptor("ringway_config_reloads", help, None, MetricType::Counter)?;
        count(&mut family, &[("outcome", "applied")], applied)?;
        count(&mut family, &[("outcome", "refused")], refused)?;
        let help = "When the configuration in effect was read, since 1970.";
        single_gauge(out, "ringway_config_time", help, Some(&Unit::Seconds), self.config.applied_at())?;
        let help = "1 if the configuration says something that takes a restart.";
        single_gauge(out, "ringway_config_restart_needed", help, None, self.config.restart_needed())
    }

    fn names(&self, out: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let NameStats { answered, failed, given_up, names, failing, waiting } = &*self.names;
        let help = "Look-ups of endpoints' names that have ended, by outcome.";
        let mut family = out.encode_descriptor("ringway_name_lookups", help, None, MetricType::Counter)?;
        count(&mut family, &[("outcome", "answered")], answered.get())?;
        count(&mut family, &[("outcome", "failed")], failed.get())?;
        count(&mut family, &[("outcome", "given_up")], given_up.get())?;
        single_gauge(out, "ringway_names", "Names of endpoints that are looked up.", None, names.get())?;
        let help = "Names of endpoints whose last look-up failed; what was known of them is used.";
        single_gauge(out, "ringway_names_failing", help, None, failing.get())?;
        let help = "Names of endpoints that are to be looked up, and wait for other look-ups to end.";
        single_gauge(out, "ringway_names_waiting", help, None, waiting.get())
    }

    fn infos(&self, out: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let labels = [("version", env!("CARGO_PKG_VERSION")), ("target", std::env::consts::ARCH)];
        out.encode_descriptor("ringway_build", "What is running.", None, MetricType::Info)?
            .encode_info(&labels)?;
        let node = [("id", &*self.node.id), ("region", &*self.node.region), ("pop", &*self.node.pop)];
        out.encode_descriptor("ringway_node", "Where it runs.", None, MetricType::Info)?.encode_info(&node)
    }
}

impl Reading {
    fn plus(mut self, other: &Reading) -> Self {
        self.add(other);
        self
    }
}

pub(super) fn durations(
    out: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    reading: &Reading,
) -> fmt::Result {
    let ends = (0..).map(|at| histogram::end_us(at).map_or(f64::INFINITY, |us| us as f64 / 1e6));
    let buckets: Vec<(f64, u64)> = ends.zip(reading.counts).collect();
    // From the same reading, so that it agrees with the last bucket.
    let total = reading.counts.iter().sum();
    out.encode_descriptor(name, help, Some(&Unit::Seconds), MetricType::Histogram)?
        .encode_histogram::<NoLabelSet>(reading.sum_ns as f64 / 1e9, total, &buckets, None)
}

/// What the kernel says of the process; figures that cannot be read are left out.
fn process(out: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let figures = ProcessFigures::read();
    if let Some(seconds) = figures.cpu_seconds {
        let help = "CPU time of the process, user and system.";
        out.encode_descriptor("process_cpu", help, Some(&Unit::Seconds), MetricType::Counter)?
            .encode_counter::<NoLabelSet, f64, f64>(&seconds, None)?;
    }
    if let Some(octets) = figures.resident_octets {
        let help = "Memory of the process that is resident, pages of mapped files included.";
        single_gauge(out, "process_resident_memory", help, Some(&Unit::Bytes), octets)?;
    }
    if let Some(count) = figures.open_fds {
        single_gauge(out, "process_open_fds", "Descriptors open.", None, count)?;
    }
    if let Some(count) = figures.max_fds {
        single_gauge(out, "process_max_fds", "Descriptors that may be open.", None, count)?;
    }
    if let Some(seconds) = figures.start_seconds {
        let help = "When the process started, since 1970.";
        single_gauge(out, "process_start_time", help, Some(&Unit::Seconds), seconds)?;
    }
    Ok(())
}

pub(super) fn count(family: &mut MetricEncoder<'_>, labels: &impl EncodeLabelSet, total: u64) -> fmt::Result {
    family.encode_family(labels)?.encode_counter::<NoLabelSet, u64, u64>(&total, None)
}

pub(super) fn gauge(family: &mut MetricEncoder<'_>, labels: &impl EncodeLabelSet, level: u64) -> fmt::Result {
    family.encode_family(labels)?.encode_gauge(&level)
}

pub(super) fn single_count(
    out: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    total: u64,
) -> fmt::Result {
    out.encode_descriptor(name, help, None, MetricType::Counter)?
        .encode_counter::<NoLabelSet, u64, u64>(&total, None)
}

pub(super) fn single_gauge(
    out: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    unit: Option<&Unit>,
    level: impl EncodeGaugeValue,
) -> fmt::Result {
    out.encode_descriptor(name, help, unit, MetricType::Gauge)?.encode_gauge(&level)
}

#[cfg(test)]
pub(super) mod tests;
