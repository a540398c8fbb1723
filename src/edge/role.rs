//! The router as a process: what it opens, in an order in which every refusal comes before the first connection; the
//! cores that it starts; and how it ends.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ringway_state::View;
use serde_json::Value;

use super::core::Door;
use super::on_core::{self, CoreParts, Order};
use super::settings::Settings;
use crate::config::{Config, Cores, Idle, LogPath};
use crate::feed::{self, InlineError};
use crate::limits;
use crate::observe::access::{self, LogError, LogWriter};
use crate::observe::admin::{self, Admin, AdminError};
use crate::observe::process_log::{Level, event};
use crate::observe::{CoreMetrics, NodeLabels, Readiness, Registry, TableFigures};
use crate::runtime::machine::{self, Lacking};
use crate::runtime::{
    CoreOptions, CoreThread, IdlePolicy, Sender, listener, millis, number, on_signal, start,
};

/// Why the router did not start, or had to end.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error(transparent)]
    Feed(#[from] InlineError),
    #[error("cannot listen on {address}: {error}; {mend}")]
    Listen { address: SocketAddr, error: io::Error, mend: String },
    #[error(transparent)]
    Admin(#[from] AdminError),
    #[error(transparent)]
    Log(#[from] LogError),
    #[error("cores: this process may not run on CPU {0}; list CPUs that `taskset -p $$` allows, or say auto")]
    Cpu(usize),
    #[error(transparent)]
    Machine(#[from] Lacking),
    #[error("{what}: {error}")]
    System { what: &'static str, error: io::Error },
    #[error("core {0} has failed; what it served is lost, so the process ends to be started again")]
    CoreFailed(usize),
}

impl RunError {
    /// Whether the machine is at fault rather than the configuration.
    pub fn is_of_machine(&self) -> bool {
        matches!(self, RunError::Machine(_) | RunError::System { .. } | RunError::CoreFailed(_))
    }
}

/// What the main thread hears of.
enum News {
    Drain,
    CoreReady,
    CoreIdle,
    CoreEnded(usize),
}

/// Runs the router until it has drained.
///
/// # Errors
/// As [`RunError`]; nothing was served, unless a core failed later.
pub fn run(config: &Config) -> Result<(), RunError> {
    let began = Instant::now();
    machine::probe()?;
    let cpus = cpus(config)?;
    let open_max = descriptors_per_core(config, cpus.len())?;
    let admin_listener = admin::bind(config.admin.address)?;
    let doors = doors(config)?;
    let readiness = Arc::new(Readiness::default());
    readiness.set("table", "the route table is being mapped and verified");
    let table = feed::table(config)?;
    let figures = TableFigures { hosts: table.base_hosts(), digest: table.digest().to_string() };
    let (news, heard) = mpsc::channel();
    let router = Router::start(config, &cpus, open_max, doors, table.publish(), &news)?;
    let registry = registry(config, &router, Arc::clone(&readiness), figures);
    let asked = Mutex::new(news.clone());
    let drain = Box::new(move || tell(&asked, News::Drain));
    let admin = admin_listener.serve(Admin { registry: Arc::new(registry), drain })?;
    let signalled = Mutex::new(news);
    on_signal(move |_| {
        tell(&signalled, News::Drain);
        true
    })
    .map_err(|error| RunError::System { what: "signal handlers", error })?;
    event(
        Level::Info,
        "started",
        &[
            ("ringway.cores", Value::from(cpus.len())),
            ("ringway.admin", Value::from(admin.address().to_string())),
            ("ringway.start_ms", Value::from(millis(began.elapsed()))),
        ],
    );
    router.watch(&heard, &readiness, config.timeouts.drain)
}

fn tell(news: &Mutex<mpsc::Sender<News>>, what: News) {
    // Whoever cannot be told any more has ended already.
    let _ = news.lock().unwrap_or_else(std::sync::PoisonError::into_inner).send(what);
}

fn cpus(config: &Config) -> Result<Vec<usize>, RunError> {
    let mine = machine::cpus();
    let wanted = match &config.cores {
        Cores::Auto => mine.clone(),
        Cores::Pinned(cpus) => cpus.clone(),
    };
    match wanted.iter().find(|cpu| !mine.contains(cpu)) {
        Some(cpu) => Err(RunError::Cpu(*cpu)),
        None => Ok(wanted),
    }
}

/// Both a client's and an origin's connection count, so cores share what the process may have.
fn descriptors_per_core(config: &Config, cores: usize) -> Result<usize, RunError> {
    let all = machine::descriptors()? - limits::DESCRIPTORS_RESERVED;
    Ok((all / cores).min(config.limits.connections_per_core))
}

/// An address, its sockets (one per core), and what is trusted there.
struct Front {
    address: SocketAddr,
    door: Door,
}

fn doors(config: &Config) -> Result<Vec<Front>, RunError> {
    let front = |l: &crate::config::Listener| {
        listener::ensure_free(l.address).map_err(|error| refused(l.address, error))?;
        let door =
            Door { trusted_proxies: l.trusted_proxies.clone(), internal_from: l.internal_from.clone() };
        Ok(Front { address: l.address, door })
    };
    config.listeners.iter().map(front).collect()
}

fn refused(address: SocketAddr, error: io::Error) -> RunError {
    let port = address.port();
    let mend = match error.kind() {
        io::ErrorKind::AddrInUse => {
            format!("stop what uses it (ss -ltnp 'sport = :{port}') or give listeners.address another port")
        }
        io::ErrorKind::AddrNotAvailable => "give listeners.address an address of this host".to_owned(),
        io::ErrorKind::PermissionDenied => format!(
            "allow it with: sysctl -w net.ipv4.ip_unprivileged_port_start={port} (systemd: AmbientCapabilities=CAP_NET_BIND_SERVICE)"
        ),
        _ => "check listeners.address".to_owned(),
    };
    RunError::Listen { address, error, mend }
}

fn registry(config: &Config, router: &Router, readiness: Arc<Readiness>, figures: TableFigures) -> Registry {
    let node = &config.node;
    Registry {
        cores: router.metrics.clone(),
        log: router.log.stats(),
        readiness,
        node: NodeLabels {
            id: node.id.as_str().to_owned(),
            region: node.region.as_str().to_owned(),
            pop: node.pop.as_str().to_owned(),
        },
        table: Box::new(move || Some(figures.clone())),
    }
}

/// The running cores and the log's thread.
struct Router {
    cores: Vec<(CoreThread, Sender<Order>)>,
    metrics: Vec<Arc<CoreMetrics>>,
    log: LogWriter,
}

impl Router {
    fn start(
        config: &Config,
        cpus: &[usize],
        open_max: usize,
        fronts: Vec<Front>,
        view: View,
        news: &mpsc::Sender<News>,
    ) -> Result<Router, RunError> {
        let metrics: Vec<Arc<CoreMetrics>> = cpus.iter().map(|_| Arc::default()).collect();
        let (sinks, sources): (Vec<_>, Vec<_>) =
            metrics.iter().map(|metrics| access::ring(Arc::clone(metrics))).unzip();
        let log = LogWriter::start(log_path(config), sources)?;
        let settings = Settings::from(config);
        let (seed, node) = (RandomState::new().hash_one(cpus), hash(config.node.id.as_str()));
        let mut cores = Vec::new();
        for ((index, cpu), log) in cpus.iter().enumerate().zip(sinks) {
            let parts = CoreParts {
                settings: settings.clone(),
                metrics: Arc::clone(&metrics[index]),
                log,
                view: view.clone(),
                ids: crate::proto::trace::IdSource::new(seed, node, number(index)),
                fronts: sockets(&fronts)?,
            };
            let options = CoreOptions { index, cpu: *cpu, idle: idle(config), open_max };
            let (ready, idle, ended) = (news.clone(), news.clone(), news.clone());
            let started = start(
                options,
                move |core, orders| {
                    let ready = move || drop(ready.send(News::CoreReady));
                    on_core::run(core, orders, parts, ready, move || drop(idle.send(News::CoreIdle)))
                },
                move || drop(ended.send(News::CoreEnded(index))),
            );
            cores.push(started.map_err(|error| RunError::System { what: "a core's thread", error })?);
        }
        Ok(Router { cores, metrics, log })
    }

    /// Waits for a reason to drain, drains, and ends.
    fn watch(
        mut self,
        heard: &mpsc::Receiver<News>,
        readiness: &Readiness,
        grace: Duration,
    ) -> Result<(), RunError> {
        let mut starting = self.cores.len();
        loop {
            match heard.recv() {
                Ok(News::CoreReady) => {
                    starting -= 1;
                    if starting == 0 {
                        readiness.clear("table");
                        event(Level::Info, "ready", &[]);
                    }
                }
                Ok(News::CoreEnded(core)) => return Err(RunError::CoreFailed(core)),
                Ok(News::CoreIdle) => {}
                Ok(News::Drain) | Err(_) => break,
            }
        }
        readiness.drain();
        event(Level::Info, "draining", &[("ringway.drain_ms", Value::from(millis(grace)))]);
        self.order(|| Order::Drain);
        let left = self.wait_until_idle(heard, grace);
        self.order(|| Order::Stop);
        self.end(heard);
        let level = if left == 0 { Level::Info } else { Level::Warn };
        event(level, "stopped", &[("ringway.connections_cut", Value::from(left))]);
        Ok(())
    }

    fn order(&mut self, order: impl Fn() -> Order) {
        for (_, orders) in &mut self.cores {
            // A mailbox that is full belongs to a core that has stopped listening to it.
            let _ = orders.put(order());
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
                Ok(News::CoreReady) => {}
            }
        }
        self.metrics.iter().map(|metrics| metrics.connections_open.get()).sum()
    }

    /// Waits for the cores' threads, but not for ever: a core that hangs must not keep the process.
    fn end(self, heard: &mpsc::Receiver<News>) {
        let deadline = Instant::now() + Duration::from_millis(limits::STOP_MS);
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
        self.log.stop(Duration::from_millis(limits::STOP_MS));
    }
}

fn sockets(fronts: &[Front]) -> Result<Vec<(OwnedFd, Door)>, RunError> {
    let bind = |front: &Front| {
        let socket = listener::bind(front.address).map_err(|error| refused(front.address, error))?;
        Ok((socket, front.door.clone()))
    };
    fronts.iter().map(bind).collect()
}

fn log_path(config: &Config) -> Option<&std::path::Path> {
    match &config.access_log.path {
        LogPath::Stdout => None,
        LogPath::File(path) => Some(path),
    }
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
