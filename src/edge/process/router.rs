//! The running cores, and what the main thread does with them: it waits for news, configures them, drains them.

use std::hash::{BuildHasher, RandomState};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ringway_state::Table;
use serde_json::Value;

use super::explaining::{Explaining, TellExplained};
use super::fronts::Fronts;
use super::reload::{Prepared, Read, Refused, Running};
use super::role::{RunError, figures, log_path};
use crate::config::{Config, Feed, Idle};
use crate::edge::explain::{Ask, Explanation, annotate};
use crate::edge::on_core::{self, Configuration, CoreParts, Order};
use crate::edge::settings::Settings;
use crate::feed::{FeedParts, FeedThread, GuardDesk, Publication, StateDir, Stored, Taken};
use crate::limits;
use crate::observe::access::{self, LogSource, LogWriter};
use crate::observe::admin::{Reloaded, Tell};
use crate::observe::process_log::{Level, event, set_level};
use crate::observe::top::{self, TopSource};
use crate::observe::{ConfigStats, CoreMetrics, FeedStats, Readiness, ServiceErrors, TableFigures};
use crate::proto::trace::IdSource;
use crate::runtime::{CoreOptions, CoreThread, IdlePolicy, Sender, millis, number, start};

/// What the main thread hears of.
pub(super) enum News {
    Drain,
    /// Read the configuration again, and tell the outcome.
    Reload(Tell),
    /// The names of a configuration that was read were asked for.
    Tried,
    /// Endpoints' names have other addresses than before.
    Names,
    /// Tell what becomes of such a request.
    Explain(Box<Ask>, TellExplained),
    /// What a core does with a request that was asked about under this number.
    Explained(u64, Box<Explanation>),
    /// The table is as the feed's file had it at the start, or as near to it as can be had.
    CaughtUp,
    /// A core serves as it was last configured, or could.
    CoreSettled,
    CoreIdle,
    CoreEnded(usize),
}

/// What others look at while the router runs.
#[derive(Clone, Default)]
pub(super) struct Shown {
    pub(super) readiness: Arc<Readiness>,
    pub(super) stats: Arc<ConfigStats>,
    pub(super) errors: Arc<ServiceErrors>,
    pub(super) feed: Arc<FeedStats>,
    pub(super) guards: Arc<GuardDesk>,
    figures: Arc<Mutex<TableFigures>>,
}

impl Shown {
    pub(super) fn show(&self, figures: TableFigures) {
        *self.figures.lock().unwrap_or_else(PoisonError::into_inner) = figures;
    }

    pub(super) fn figures(&self) -> TableFigures {
        self.figures.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The running cores and the log's thread.
pub(super) struct Router {
    running: Running,
    cores: Vec<(CoreThread, Sender<Order>)>,
    /// Which writes the route table, unless it is the configuration's.
    feed: Option<FeedThread>,
    pub(super) metrics: Vec<Arc<CoreMetrics>>,
    pub(super) log: LogWriter,
    /// Where slow requests are noted, until the admin thread has it.
    pub(super) slow: Vec<LogSource>,
    pub(super) top: Vec<TopSource>,
    shown: Shown,
    /// Cores that have not yet taken up the last configuration; and, at the start, the feed that has not been read.
    unsettled: usize,
    /// What was read, and whom to tell, while the names of its endpoints are being asked for.
    reading: Option<(Read, Vec<Tell>)>,
    /// What to tell, and whom, when they have.
    reloading: Option<(Reloaded, Vec<Tell>)>,
    /// Who waits for the next reload.
    waiting: Vec<Tell>,
    explaining: Explaining,
    /// What the cores tell it by.
    news: mpsc::Sender<News>,
}

impl Router {
    /// Starts a core on each of `cpus`, with its listening sockets, and the log's thread.
    ///
    /// # Errors
    /// The log cannot be opened, or the machine lacks something.
    pub(super) fn start(
        running: Running,
        cpus: &[usize],
        first: First,
        shown: Shown,
        news: &mpsc::Sender<News>,
    ) -> Result<Router, RunError> {
        let config = &running.config;
        let metrics: Vec<Arc<CoreMetrics>> = cpus.iter().map(|_| Arc::default()).collect();
        let rings = metrics.iter().map(|metrics| access::ring(Arc::clone(metrics)));
        let (sinks, (sources, slow)): (Vec<_>, (Vec<_>, Vec<_>)) =
            rings.map(|(sink, log, slow)| (sink, (log, slow))).unzip();
        let log = LogWriter::start(LogWriter::open(log_path(config))?, sources)?;
        let tops = metrics.iter().zip(1..).map(|(metrics, seed)| top::ring(seed, Arc::clone(metrics)));
        let (tops, top): (Vec<_>, Vec<_>) = tops.unzip();
        let settings = Settings::from(config);
        let began = Instant::now();
        let taken: Vec<Arc<Taken>> = cpus.iter().map(|_| Arc::new(Taken::new(began))).collect();
        let (seed, node) = (RandomState::new().hash_one(cpus), hash(config.node.id.as_str()));
        let mut cores = Vec::new();
        let sinks = sinks.into_iter().zip(tops);
        for (((index, cpu), (log, top)), fronts) in cpus.iter().enumerate().zip(sinks).zip(first.fronts) {
            let (open_max, view) = (first.open_max, first.source.table().publish());
            let parts = CoreParts {
                metrics: Arc::clone(&metrics[index]),
                log,
                top,
                errors: Arc::clone(&shown.errors),
                ids: IdSource::new(seed, node, number(index)),
                taken: Arc::clone(&taken[index]),
                view,
                configuration: Configuration {
                    settings: settings.clone(),
                    view: None,
                    cut: None,
                    open_max,
                    fronts,
                },
            };
            let options = CoreOptions { index, cpu: *cpu, idle: idle(config), open_max };
            let (settled, idle, ended) = (news.clone(), news.clone(), news.clone());
            let started = start(
                options,
                move |core, orders| {
                    let settled = move || drop(settled.send(News::CoreSettled));
                    on_core::run(core, orders, parts, settled, move || drop(idle.send(News::CoreIdle)))
                },
                move || drop(ended.send(News::CoreEnded(index))),
            );
            cores.push(started.map_err(|error| RunError::System { what: "a core's thread", error })?);
        }
        let feed = follow(first.source, &mut cores, taken, (&running.config, &shown), news)?;
        Ok(Router {
            unsettled: cores.len() + usize::from(feed.is_some()),
            running,
            cores,
            feed,
            metrics,
            log,
            slow,
            top,
            shown,
            reading: None,
            reloading: None,
            waiting: Vec::new(),
            explaining: Explaining::default(),
            news: news.clone(),
        })
    }

    /// Does what the news ask for until there is a reason to drain; drains, and ends.
    ///
    /// # Errors
    /// A core failed.
    pub(super) fn watch(mut self, heard: &mpsc::Receiver<News>) -> Result<(), RunError> {
        loop {
            match heard.recv() {
                Ok(News::CoreSettled | News::CaughtUp) => self.settled(),
                Ok(News::Reload(tell)) => self.reload(tell),
                Ok(News::Tried) => self.reload_tried(),
                Ok(News::Names) => self.publish(),
                Ok(News::Explain(ask, tell)) => self.explain(&ask, tell),
                Ok(News::Explained(number, told)) => self.explained(number, *told),
                Ok(News::CoreEnded(core)) => return Err(RunError::CoreFailed(core)),
                Ok(News::CoreIdle) => {}
                Ok(News::Drain) | Err(_) => break,
            }
        }
        let grace = self.running.config.timeouts.drain;
        self.shown.readiness.drain();
        self.running.unix.clear();
        event(Level::Info, "draining", &[("ringway.drain_ms", Value::from(millis(grace)))]);
        self.order(|_| Order::Drain);
        let left = self.wait_until_idle(heard, grace);
        self.order(|_| Order::Stop);
        self.end(heard);
        let level = if left == 0 { Level::Info } else { Level::Warn };
        event(level, "stopped", &[("ringway.connections_cut", Value::from(left))]);
        Ok(())
    }

    /// A core serves as configured, or the feed has been read; with the last of them the start, or a reload, has come to its
    /// end. No request is taken before: a table that is behind may lead it to whom its host name belonged once.
    fn settled(&mut self) {
        self.unsettled -= 1;
        if self.unsettled > 0 {
            return;
        }
        match self.reloading.take() {
            None => {
                self.order(|_| Order::Open);
                self.shown.readiness.clear("table");
                event(Level::Info, "ready", &[]);
            }
            Some((outcome, tells)) => tell_all(&outcome, tells),
        }
        if !self.waiting.is_empty() {
            self.reload_now();
        }
    }

    /// Gives every core the route table with what is known of endpoints' names now.
    fn publish(&mut self) {
        match self.running.table() {
            Ok(table) => {
                let view = table.publish();
                self.order(|_| Order::Publish(view.clone()));
                self.shown.show(figures(&table));
            }
            Err(error) => event(
                Level::Error,
                "endpoints keep their addresses",
                &[("error.message", error.to_string().into())],
            ),
        }
    }

    /// Asks every core what it does with such a request.
    fn explain(&mut self, ask: &Ask, tell: TellExplained) {
        let (number, news) = (self.explaining.begin(self.cores.len(), tell), self.news.clone());
        self.order(|_| {
            let news = news.clone();
            let tell = move |told| drop(news.send(News::Explained(number, Box::new(told))));
            Order::Explain(Box::new(ask.clone()), Box::new(tell))
        });
    }

    fn explained(&mut self, number: u64, told: Explanation) {
        if let Some((mut told, tell)) = self.explaining.add(number, told) {
            annotate(&mut told, &self.running.config, &self.running.names.known());
            tell(told);
        }
    }

    /// Reloads now, or when the cores have settled: whoever asks meanwhile gets the same one. Whoever is one too many is
    /// dropped, and so told.
    fn reload(&mut self, tell: Tell) {
        if self.waiting.len() < limits::RELOADS_WAITING {
            self.waiting.push(tell);
        }
        if self.unsettled == 0 && self.reading.is_none() {
            self.reload_now();
        }
    }

    fn reload_now(&mut self) {
        let path = self.running.path.display().to_string();
        event(Level::Debug, "the configuration is being read", &[("file.path", path.into())]);
        let tells = std::mem::take(&mut self.waiting);
        let news = self.news.clone();
        match self.running.read(move || drop(news.send(News::Tried))) {
            Ok(read) => self.reading = Some((read, tells)),
            Err(refused) => self.refused(&refused, tells),
        }
    }

    /// Goes on with a reload: what can be known of its names by now is. Meanwhile the main thread had an ear for others.
    fn reload_tried(&mut self) {
        let Some((read, tells)) = self.reading.take() else { return };
        match self.running.prepare(read, self.cores.len()) {
            Ok(prepared) => {
                let outcome = self.apply(prepared);
                self.reloading = Some((outcome, tells));
            }
            Err(refused) => {
                self.refused(&refused, tells);
                if !self.waiting.is_empty() {
                    self.reload_now();
                }
            }
        }
    }

    fn refused(&mut self, refused: &Refused, tells: Vec<Tell>) {
        self.running.keep_names();
        self.shown.stats.refused.inc();
        tell_all(&told_refused(refused), tells);
    }

    /// Gives every core its configuration. Nothing here can fail.
    fn apply(&mut self, prepared: Prepared) -> Reloaded {
        let Prepared { config, settings, table, cut, open_max, opened, log, differences } = prepared;
        let (view, figures) = table.unzip();
        if let Some(target) = log {
            self.log.switch(target);
        }
        self.running.take_over(config, opened.unix);
        let mut fronts = opened.cores.into_iter();
        self.unsettled = self.cores.len();
        self.order(|_| {
            let fronts = fronts.next().unwrap_or_default();
            let (settings, view, cut) = (settings.clone(), view.clone(), cut.clone());
            Order::Configure(Box::new(Configuration { settings, view, cut, open_max, fronts }))
        });
        figures.into_iter().for_each(|figures| self.shown.show(figures));
        self.shown.stats.applied(!differences.restart.is_empty());
        self.running.config.warnings.iter().for_each(|warning| event(Level::Warn, warning, &[]));
        set_level(self.running.config.process_log);
        Reloaded {
            applied: true,
            changed: differences.changed,
            needs_restart: differences.restart,
            mistakes: Vec::new(),
        }
    }

    fn order(&mut self, mut order: impl FnMut(usize) -> Order) {
        for (index, (_, orders)) in self.cores.iter_mut().enumerate() {
            // Far fewer orders are under way at a time than a mailbox holds; one that is full belongs to a core that has ended.
            let _ = orders.put(order(index));
            orders.ring();
        }
    }

    /// Returns the connections that are still open when the grace is over, or a second signal came.
    fn wait_until_idle(&self, heard: &mpsc::Receiver<News>, grace: Duration) -> u64 {
        let deadline = Instant::now() + grace;
        let mut busy = self.cores.len();
        while busy > 0 {
            match heard.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(News::CoreIdle | News::CoreEnded(_)) => busy -= 1,
                Ok(News::Drain) | Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
                Ok(
                    News::CaughtUp
                    | News::CoreSettled
                    | News::Reload(_)
                    | News::Tried
                    | News::Names
                    | News::Explain(..)
                    | News::Explained(..),
                ) => {}
            }
        }
        self.metrics.iter().map(|metrics| metrics.connections_open.get()).sum()
    }

    /// Waits for the cores' threads, but not for ever: a core that hangs must not keep the process.
    fn end(mut self, heard: &mpsc::Receiver<News>) {
        let deadline = Instant::now() + Duration::from_millis(limits::STOP_MS);
        self.feed = None;
        let mut running = self.cores.len();
        while running > 0 {
            match heard.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(News::CoreEnded(_)) => running -= 1,
                Ok(_) => {}
                Err(_) => break,
            }
        }
        if running == 0 {
            for (core, _) in self.cores {
                if let Err(error) = core.join() {
                    event(Level::Error, "a core ended badly", &[("error.message", error.to_string().into())]);
                }
            }
        }
        if !self.log.stop(Duration::from_millis(limits::STOP_MS)) {
            event(Level::Warn, "the access log takes no more; what it has no room for is lost", &[]);
        }
    }
}

/// Where the route table comes from, and how it is at the start.
pub(super) enum Source {
    /// Whoever reads the configuration makes it afresh.
    Configuration(Box<Table>),
    /// A thread of its own writes it.
    Feed(Box<Stored>, StateDir),
}

impl Source {
    pub(super) fn table(&self) -> &Table {
        match self {
            Source::Configuration(table) => table,
            Source::Feed(stored, _) => &stored.table,
        }
    }
}

/// What the cores begin with.
pub(super) struct First {
    pub(super) source: Source,
    pub(super) open_max: usize,
    pub(super) fronts: Vec<Fronts>,
}

/// Starts the feed's thread, if the table comes from elsewhere than the configuration.
fn follow(
    source: Source,
    cores: &mut [(CoreThread, Sender<Order>)],
    taken: Vec<Arc<Taken>>,
    (config, shown): (&Config, &Shown),
    news: &mpsc::Sender<News>,
) -> Result<Option<FeedThread>, RunError> {
    let (Feed::File(path), Source::Feed(stored, dir)) = (&config.state.feed, source) else { return Ok(None) };
    let mut mailboxes = Vec::new();
    for (_, orders) in cores {
        let (feed, receiver) = orders.another(limits::MAILBOX_MESSAGES);
        // The first order of all finds room.
        let _ = orders.put(Order::Hear(receiver));
        orders.ring();
        mailboxes.push(feed);
    }
    let give = move |publication: &Publication| {
        for mailbox in &mut mailboxes {
            // There are fewer publications under way than a mailbox holds.
            let _ = mailbox.put(Order::Take(publication.clone()));
            mailbox.ring();
        }
    };
    let (path, figures_of, news) = (path.clone(), shown.clone(), news.clone());
    let parts = FeedParts {
        path,
        dir,
        stored: *stored,
        cores: taken,
        give: Box::new(give),
        show: Box::new(move |table| figures_of.show(figures(table))),
        desk: Arc::clone(&shown.guards),
        held: limits::GUARD_HELD,
        flush_every: Duration::from_millis(limits::FLUSH_EVERY_MS),
        stats: Arc::clone(&shown.feed),
        readiness: Arc::clone(&shown.readiness),
        // Whoever cannot be told is draining.
        caught_up: Box::new(move || drop(news.send(News::CaughtUp))),
    };
    let started = FeedThread::start(parts);
    started.map(Some).map_err(|error| RunError::System { what: "the feed's thread", error })
}

fn told_refused(refused: &Refused) -> Reloaded {
    Reloaded { mistakes: refused.to_string().lines().map(str::to_owned).collect(), ..Reloaded::default() }
}

/// Tells a reload's outcome to the process log and to whoever asked for it.
fn tell_all(outcome: &Reloaded, tells: Vec<Tell>) {
    if outcome.applied {
        let level = if outcome.needs_restart.is_empty() { Level::Info } else { Level::Warn };
        let fields = [
            ("ringway.changed", Value::from(outcome.changed.clone())),
            ("ringway.needs_restart", Value::from(outcome.needs_restart.clone())),
        ];
        event(level, "the configuration was read again", &fields);
    } else {
        outcome.mistakes.iter().for_each(|mistake| event(Level::Error, mistake, &[]));
        let count = [("ringway.mistakes", Value::from(outcome.mistakes.len()))];
        event(Level::Error, "the configuration was read again and is wrong; nothing has changed", &count);
    }
    tells.into_iter().for_each(|tell| tell(outcome.clone()));
}

fn idle(config: &Config) -> IdlePolicy {
    match config.idle {
        Idle::Park => IdlePolicy::Park,
        Idle::Spin => IdlePolicy::Spin,
        Idle::Adaptive => IdlePolicy::Adaptive,
    }
}

/// The same for the same name on every start.
fn hash(name: &str) -> u64 {
    foldhash::quality::FixedState::default().hash_one(name)
}
