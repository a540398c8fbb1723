//! What one core's requests share: its view of the route table, its pools, counters, ids and settings.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ringway_state::{By, View};

use super::asked::Asked;
use super::request::Scratch;
use super::settings::Settings;
use super::upstream::Pool;
use crate::limits;
use crate::observe::access::LogSink;
use crate::observe::top::{TopSink, Weights};
use crate::observe::{CoreMetrics, ErrorKind, PendingErrors, ServiceErrors};
use crate::proto::date::HttpDate;
use crate::proto::trace::IdSource;
use crate::runtime::{Core, machine, millis};

/// How long a connection may be idle in a drain.
const DRAIN_IDLE: Duration = Duration::from_millis(limits::DRAIN_IDLE_MS);

/// One core's share of the edge. Lives on its thread; nothing in it is shared with another core but what each
/// only reads, or alone writes.
pub struct Edge {
    pub(super) core: Core,
    settings: RefCell<Rc<Settings>>,
    pub(super) metrics: Arc<CoreMetrics>,
    pub(super) pool: Rc<Pool>,
    pub(super) ids: RefCell<IdSource>,
    pub(super) log: RefCell<LogSink>,
    top: RefCell<TopSink>,
    errors: RefCell<PendingErrors>,
    all_errors: Arc<ServiceErrors>,
    view: RefCell<Rc<View>>,
    /// Boxed, so that lending one moves a pointer.
    #[allow(clippy::vec_box)]
    scratch: RefCell<Vec<Box<Scratch>>>,
    second: Cell<(Instant, u64, HttpDate)>,
    draining: Cell<bool>,
    pub(super) connections: Cell<usize>,
    pub(super) asked: Rc<Asked>,
    /// Connections between two requests that keep what a request needs.
    pub(super) warm: Cell<usize>,
}

/// What [`Edge::new`] is made of.
pub struct EdgeParts {
    pub settings: Settings,
    pub metrics: Arc<CoreMetrics>,
    pub log: LogSink,
    pub top: TopSink,
    /// Of all cores.
    pub errors: Arc<ServiceErrors>,
    pub view: View,
    pub ids: IdSource,
}

impl Edge {
    pub fn new(core: Core, parts: EdgeParts) -> Rc<Edge> {
        let EdgeParts { settings, metrics, log, top, errors, view, ids } = parts;
        show(&metrics, None, &view);
        Rc::new(Edge {
            pool: Rc::new(Pool::new(Arc::clone(&metrics))),
            second: Cell::new(this_second(core.now())),
            core,
            settings: RefCell::new(Rc::new(settings)),
            metrics,
            ids: RefCell::new(ids),
            log: RefCell::new(log),
            top: RefCell::new(top),
            errors: RefCell::default(),
            all_errors: errors,
            view: RefCell::new(Rc::new(view)),
            scratch: RefCell::default(),
            draining: Cell::new(false),
            connections: Cell::new(0),
            asked: Rc::default(),
            warm: Cell::new(0),
        })
    }

    /// What the configuration says as of now. Bind what a wait needs before it, so that no future holds the whole.
    pub(super) fn settings(&self) -> Rc<Settings> {
        Rc::clone(&self.settings.borrow())
    }

    /// Replaces settings, and the route table if it comes from the same file, for every request from now on. At the same
    /// moment: they speak of the same services.
    pub fn configure(&self, settings: Settings, view: Option<View>) {
        self.settings.replace(Rc::new(settings));
        if let Some(view) = view {
            self.publish(view);
        }
    }

    /// Replaces the route table for every request from now on.
    pub fn publish(&self, view: View) {
        show(&self.metrics, Some(&self.view.borrow()), &view);
        self.view.replace(Rc::new(view));
    }

    /// The route table as of now. Requests that hold an older one keep it until they let go.
    pub(super) fn view(&self) -> Rc<View> {
        Rc::clone(&self.view.borrow())
    }

    pub(super) fn is_draining(&self) -> bool {
        self.draining.get()
    }

    /// Each wait for a request is short from now on: a client that keeps its connection busy has its next on the way already,
    /// and is answered.
    pub fn drain(&self) {
        self.draining.set(true);
        self.metrics.drains.inc();
        self.core.hasten_idle(DRAIN_IDLE);
    }

    /// For how long a connection may wait for its next request.
    pub(super) fn idle_timeout(&self) -> Duration {
        let within = self.settings().timeouts.idle;
        if self.draining.get() { within.min(DRAIN_IDLE) } else { within }
    }

    /// Client connections that are open.
    pub fn connections(&self) -> usize {
        self.connections.get()
    }

    /// Wall-clock milliseconds since 1970 at the core's [`now`](Core::now).
    pub(super) fn unix_ms(&self) -> u64 {
        self.refresh_second();
        let (at, ms, _) = self.second.get();
        ms + millis(self.core.now().saturating_duration_since(at))
    }

    /// The Date of answers made now.
    pub(super) fn date(&self) -> HttpDate {
        self.refresh_second();
        self.second.get().2
    }

    fn refresh_second(&self) {
        let (at, ms, _) = self.second.get();
        let passed = millis(self.core.now().saturating_duration_since(at));
        if ms % 1000 + passed >= 1000 {
            self.second.set(this_second(self.core.now()));
        }
    }

    /// Counts a request to `service` (empty if it reached none) that went wrong.
    pub(super) fn count_error(&self, service: &str, status: u16, kind: ErrorKind) {
        self.metrics.errors.count(kind, status);
        self.errors.borrow_mut().count(service, kind);
    }

    /// Counts a request for who has most, by its host name if it reached a service.
    #[inline]
    pub(super) fn count_host(&self, scratch: &Scratch, octets: u64, is_error: bool) {
        if scratch.service.is_empty() {
            return self.metrics.nowhere.count(octets, is_error);
        }
        let drawn = self.top.borrow_mut().draw(octets, is_error);
        if let Some(weights) = drawn {
            self.tell_host(scratch.head.host(), weights);
        }
    }

    #[cold]
    fn tell_host(&self, host: &[u8], weights: Weights) {
        // What is told is a key of the table, whatever clients ask for.
        if let Some((_, by)) = self.view().host_by(host) {
            self.top.borrow_mut().tell(host, by == By::Wildcard, weights);
        }
    }

    /// Heads to parse into, reused between requests.
    pub(super) fn take_scratch(&self) -> Box<Scratch> {
        self.scratch.borrow_mut().pop().unwrap_or_default()
    }

    pub(super) fn keep_scratch(&self, mut scratch: Box<Scratch>) {
        scratch.clear();
        let mut kept = self.scratch.borrow_mut();
        if kept.len() < limits::SCRATCH_POOL {
            kept.push(scratch);
        }
    }

    /// Looks after what no request looks after: kept connections, and figures that are copied for scrapes.
    pub async fn housekeep(self: Rc<Edge>) {
        let mut next_sweep = self.core.now();
        loop {
            self.core.sleep_until(self.core.now() + Duration::from_millis(limits::EXPORT_MS)).await;
            let panics = self.core.panics();
            self.metrics.panics.add(panics - self.metrics.panics.get());
            self.metrics.major_faults.add(machine::major_faults() - self.metrics.major_faults.get());
            self.metrics.ring.store(&self.core.stats());
            self.export_lag();
            self.all_errors.take(&mut self.errors.borrow_mut(), self.core.now());
            if self.core.now() >= next_sweep {
                next_sweep = self.core.now() + Duration::from_millis(limits::SWEEP_MS);
                self.pool.sweep(self.core.now());
            }
        }
    }

    fn export_lag(&self) {
        let lag = self.core.lag();
        self.metrics.lag.store(&lag);
        self.metrics.stalls.set(lag.stalls);
        for stall in self.core.take_stalls() {
            let ago = millis(self.core.now().saturating_duration_since(stall.at));
            self.log.borrow_mut().stall(self.unix_ms() - ago, self.core.number(), &stall);
        }
    }
}

/// What a core's table is, for who looks from outside.
fn show(metrics: &CoreMetrics, before: Option<&View>, view: &View) {
    let (keys, octets) = view.overlay_size();
    metrics.table_core_overlay_keys.set(keys as u64);
    metrics.table_core_overlay_octets.set(octets as u64);
    metrics.table_core_levels.set(view.levels().len() as u64);
    let base = |view: &View| view.base().map(Arc::as_ptr);
    if base(view) != before.and_then(base) {
        metrics.table_bases_taken.inc();
    }
}

fn this_second(now: Instant) -> (Instant, u64, HttpDate) {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (now, millis(since), HttpDate::from_unix_seconds(since.as_secs()))
}
