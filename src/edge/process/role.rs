//! The router as a process: what it opens, in an order in which every refusal comes before the first connection, and who
//! may ask something of it.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use ringway_state::Table;
use ringway_state::snapshot::Snapshot;
use serde_json::Value;

use super::files;
use super::fronts;
use super::reload::Running;
use super::router::{First, News, Router, Shown, Source};
use crate::causes::with_causes;
use crate::config::{Config, Cores, Feed, ListenAddress, LogPath, Places};
use crate::edge::explain::{Ask, serves};
use crate::feed::{self, DirError, GuardDesk, InlineError, Names, StateDir, StoreError};
use crate::limits;
use crate::observe::access::LogError;
use crate::observe::admin::{self, Admin, AdminError};
use crate::observe::process_log::{Level, event};
use crate::observe::{
    Counter, FeedFiles, NameStats, NodeLabels, Registry, SlowNotes, TableFigures, TableFile, TopHosts,
};
use crate::runtime::machine::{self, Lacking};
use crate::runtime::{Signal, keep_code, listener, millis, on_signal};

/// Why the router did not start, or had to end.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error(transparent)]
    Feed(#[from] InlineError),
    #[error(transparent)]
    Dir(#[from] DirError),
    #[error("{}", with_causes(.0))]
    Store(#[from] StoreError),
    #[error("cannot listen on {address}: {error}; {mend}")]
    Listen { address: ListenAddress, error: io::Error, mend: String },
    #[error(
        "cannot change the mode of {address} to {mode:o}: {error}; let this user own its file, or leave its mode"
    )]
    Mode { address: ListenAddress, mode: u32, error: io::Error },
    #[error(transparent)]
    Admin(#[from] AdminError),
    #[error(transparent)]
    Log(#[from] LogError),
    #[error(
        "{place}: this process may not run on CPU {cpu}; list CPUs that `taskset -p $$` allows, or say auto"
    )]
    Cpu { place: String, cpu: usize },
    #[error(transparent)]
    Machine(#[from] Lacking),
    #[error("{what}: {error}; give it more threads and descriptors (ulimit -u, ulimit -n)")]
    System { what: &'static str, error: io::Error },
    #[error("{endpoint} is this router's own listener {listener}; give the origin's address")]
    OwnSocket { service: String, endpoint: String, listener: ListenAddress },
    #[error("the access log {path} is {what} as well; name a file of its own")]
    LogIsAnother { path: String, what: &'static str },
    #[error(
        "{path} is in state.dir, and has a name of which the router makes files there itself; name another"
    )]
    OwnFile { field: &'static str, path: String },
    /// What a field of the configuration leads to; `place` is that of the field.
    #[error("{place}: {error}")]
    At { place: String, error: Box<RunError> },
    #[error(
        "core {0} has failed, as the lines before say; what it served is lost, so the process ends to be started again; \
         where a thread was lacking, allow more (ulimit -u)"
    )]
    CoreFailed(usize),
}

impl RunError {
    /// The field of the configuration that leads to it, if one does and is not named yet.
    pub(super) fn field(&self) -> Option<String> {
        match self {
            RunError::Listen { address, .. } | RunError::Mode { address, .. } => {
                Some(format!("listeners[{address}].address"))
            }
            RunError::Admin(AdminError::Bind { .. }) => Some("admin.address".to_owned()),
            RunError::Log(LogError::Open { .. }) | RunError::LogIsAnother { .. } => {
                Some("access_log.path".to_owned())
            }
            RunError::OwnSocket { service, .. } => Some(format!("services[{service}].endpoints")),
            RunError::OwnFile { field, .. } => Some((*field).to_owned()),
            RunError::Store(_) => Some("state.dir".to_owned()),
            _ => None,
        }
    }

    /// With the file and line of its field.
    pub(super) fn placed(self, places: &Places) -> RunError {
        match self.field() {
            Some(field) => RunError::At { place: places.of(&field), error: Box::new(self) },
            None => self,
        }
    }

    /// Whether it begins with the configuration's file and line.
    pub fn names_its_line(&self) -> bool {
        matches!(self, RunError::Cpu { .. } | RunError::Dir(_) | RunError::Feed(_) | RunError::At { .. })
    }

    /// Whether the machine is at fault rather than the configuration.
    pub fn is_of_machine(&self) -> bool {
        matches!(
            self,
            RunError::Machine(_)
                | RunError::System { .. }
                | RunError::CoreFailed(_)
                | RunError::Admin(AdminError::Thread { .. })
                | RunError::Log(LogError::Thread { .. })
        )
    }
}

/// Runs the router on the configuration read from `path` until it has drained.
///
/// # Errors
/// As [`RunError`]; nothing was served, unless a core failed later.
pub fn run(path: &Path, config: Config) -> Result<(), RunError> {
    let places = config.places.clone();
    serve(path, config).map_err(|error| error.placed(&places))
}

fn serve(path: &Path, config: Config) -> Result<(), RunError> {
    let began = Instant::now();
    machine::probe()?;
    warn_if(keep_code().err());
    let cpus = cpus(&config)?;
    let open_max = descriptors_per_core(&config, cpus.len())?;
    files::twice(&config).into_iter().next().map_or(Ok(()), Err)?;
    let admin_listener = admin::bind(config.admin.address)?;
    fronts::ensure_free(&config, &[], listener::PREDECESSOR)?;
    let dir = state_dir(&config)?;
    let shown = Shown::default();
    shown.readiness.set("table", "the route table is being mapped and verified");
    let stored = match (&dir, &config.state.feed) {
        (Some(dir), Feed::File(feed)) => Some(dir.table::<RunError>(&config, feed)?),
        _ => None,
    };
    let base = match &stored {
        None => feed::base(&config)?,
        Some(stored) => stored.table.publish().base().cloned(),
    };
    warn_if(base.as_deref().and_then(kept_out_of_memory));
    // All CPUs have verified the table; from here on, what is not a core's work shall not delay it.
    machine::leave(&cpus);
    let (news, heard) = mpsc::channel();
    let names = Arc::<NameStats>::default();
    let (path, unix) = (path.to_owned(), Vec::new());
    let mut running = Running { path, base, names: names_of(&news, &names), config, unix };
    running.first_names()?;
    let source = match (dir, stored) {
        (Some(dir), Some(stored)) => Source::Feed(Box::new(stored), dir),
        _ => Source::Configuration(Box::new(running.table()?)),
    };
    shown.show(figures(source.table()));
    shown.stats.begin();
    let opened = fronts::open(&running.config, &[], cpus.len())?;
    running.unix = opened.unix;
    let first = First { source, open_max, fronts: opened.cores };
    let (node, feed_files) = (labels(&running.config), feed_files(&running.config));
    let mut router = Router::start(running, &cpus, first, shown.clone(), &news)?;
    let guards = Arc::clone(&shown.guards);
    let registry = registry(&mut router, (node, feed_files), shown, names);
    let admin = admin_listener.serve(asked(registry, guards, &news))?;
    signals(&router, news)?;
    event(
        Level::Info,
        "started",
        &[
            ("ringway.cores", Value::from(cpus.len())),
            ("ringway.admin", Value::from(admin.address().to_string())),
            ("ringway.start_ms", Value::from(millis(began.elapsed()))),
        ],
    );
    router.watch(&heard)
}

/// The folder of state, if any of it is to outlive the process.
fn state_dir(config: &Config) -> Result<Option<StateDir>, RunError> {
    match config.state.feed {
        Feed::Inline => Ok(None),
        Feed::File(_) => Ok(Some(StateDir::open(config, listener::PREDECESSOR)?)),
    }
}

/// Where the table's file may be dropped from memory, a look-up may wait for the disk.
fn kept_out_of_memory(base: &Snapshot) -> Option<String> {
    let error = base.keep_in_memory().err()?;
    let need = base.octets().div_ceil(1024) + 16_384;
    Some(format!(
        "the route table's file cannot be kept in memory ({error}), so a look-up may wait for the disk; raise the limit \
         with: ulimit -l {need} (systemd: LimitMEMLOCK={need}K)"
    ))
}

fn warn_if(what: Option<impl std::fmt::Display>) {
    if let Some(what) = what {
        event(Level::Warn, &what.to_string(), &[]);
    }
}

/// What the admin listener shows, and what can be asked of it.
fn asked(registry: Registry, guards: Arc<GuardDesk>, news: &mpsc::Sender<News>) -> Admin {
    let news = || Mutex::new(news.clone());
    let (drain, reload, explain, routes) = (news(), news(), news(), news());
    Admin {
        registry: Arc::new(registry),
        guards,
        drain: Box::new(move || tell(&drain, News::Drain)),
        reload: Box::new(move |done| tell(&reload, News::Reload(done))),
        explain: Box::new(move |query, done| {
            let told = Box::new(|told| done(200, json(&told)));
            tell(&explain, News::Explain(Box::new(Ask::of_query(query)?), told));
            Ok(())
        }),
        routes: Box::new(move |host, done| {
            let told = Box::new(|told| match serves(told) {
                Ok(serves) => done(200, json(&serves)),
                Err(not) => done(not.status, json(&not)),
            });
            tell(&routes, News::Explain(Box::new(Ask::of_host(host)?), told));
            Ok(())
        }),
    }
}

fn json(what: &impl serde::Serialize) -> Value {
    serde_json::to_value(what).unwrap_or_default()
}

fn names_of(news: &mpsc::Sender<News>, stats: &Arc<NameStats>) -> Names {
    let news = Mutex::new(news.clone());
    Names::new(move || tell(&news, News::Names), Arc::clone(stats))
}

/// SIGTERM and SIGINT drain, SIGHUP reloads, SIGUSR1 begins the log's file anew.
fn signals(router: &Router, news: mpsc::Sender<News>) -> Result<(), RunError> {
    let (news, log) = (Mutex::new(news), router.log.reopener());
    // However many come while one is under way, they are one more.
    let reload_waits = Arc::new(AtomicBool::new(false));
    let act = move |signal| match signal {
        Signal::Drain => tell(&news, News::Drain),
        Signal::Reopen => log.reopen(),
        Signal::Reload if reload_waits.swap(true, Ordering::AcqRel) => {}
        Signal::Reload => {
            let waits = Arc::clone(&reload_waits);
            tell(&news, News::Reload(Box::new(move |_| waits.store(false, Ordering::Release))));
        }
    };
    on_signal(&[Signal::Drain, Signal::Reload, Signal::Reopen], act)
        .map_err(|error| RunError::System { what: "signal handlers", error })
}

fn tell(news: &Mutex<mpsc::Sender<News>>, what: News) {
    // Whoever cannot be told any more has ended already.
    let _ = news.lock().unwrap_or_else(PoisonError::into_inner).send(what);
}

pub(super) fn cpus(config: &Config) -> Result<Vec<usize>, RunError> {
    let mine = machine::cpus();
    let wanted = match &config.cores {
        Cores::Auto => mine.clone(),
        Cores::Pinned(cpus) => cpus.clone(),
    };
    match wanted.iter().find(|cpu| !mine.contains(cpu)) {
        Some(cpu) => Err(RunError::Cpu { place: config.places.of("cores"), cpu: *cpu }),
        None => Ok(wanted),
    }
}

/// Both a client's and an origin's connection count, so cores share what the process may have and does not need otherwise.
///
/// # Errors
/// The process may have too few.
pub(super) fn descriptors_per_core(config: &Config, cores: usize) -> Result<usize, RunError> {
    let each = shared_out(machine::descriptors()?, config.listeners.len(), cores)?;
    Ok(each.min(config.limits.connections_per_core))
}

/// What each core has of `all` descriptors for connections.
fn shared_out(all: usize, listeners: usize, cores: usize) -> Result<usize, Lacking> {
    let reserved = limits::DESCRIPTORS_RESERVED + cores * listeners;
    let each = all.saturating_sub(reserved) / cores;
    if each >= limits::CONNECTIONS_LEAST {
        return Ok(each);
    }
    let need = reserved + cores * limits::CONNECTIONS_LEAST;
    Err(Lacking {
        lacks: format!(
            "only {all} file descriptors are allowed; {listeners} listeners on {cores} cores need {need}"
        ),
        mend: "raise the limit with: ulimit -n 20000 (systemd: LimitNOFILE=), or use fewer cores".to_owned(),
    })
}

pub(super) fn figures(table: &Table) -> TableFigures {
    let (keys, octets) = table.overlay_size();
    let view = table.publish();
    TableFigures {
        hosts: table.base_hosts(),
        digest: table.digest().to_string(),
        overlay_keys: keys as u64,
        overlay_octets: octets as u64,
        base: view.base().map(|base| file(base)),
        levels: view.levels().iter().map(|level| file(level)).collect(),
    }
}

fn file(file: &Snapshot) -> TableFile {
    TableFile { path: file.path().to_owned(), octets: file.octets() }
}

pub(super) fn log_path(config: &Config) -> Option<&Path> {
    match &config.access_log.path {
        LogPath::Stdout => None,
        LogPath::File(path) => Some(path),
    }
}

fn labels(config: &Config) -> NodeLabels {
    let node = &config.node;
    NodeLabels {
        id: node.id.as_str().to_owned(),
        region: node.region.as_str().to_owned(),
        pop: node.pop.as_str().to_owned(),
    }
}

fn feed_files(config: &Config) -> Option<FeedFiles> {
    match &config.state.feed {
        Feed::Inline => None,
        Feed::File(path) => Some(FeedFiles { source: path.clone(), dir: config.state.dir.clone() }),
    }
}

fn registry(
    router: &mut Router,
    (node, feed_files): (NodeLabels, Option<FeedFiles>),
    shown: Shown,
    names: Arc<NameStats>,
) -> Registry {
    Registry {
        cores: router.metrics.clone(),
        log: router.log.stats(),
        readiness: Arc::clone(&shown.readiness),
        config: Arc::clone(&shown.stats),
        names,
        feed: Arc::clone(&shown.feed),
        feed_files,
        services: Arc::clone(&shown.errors),
        slow: SlowNotes::new(std::mem::take(&mut router.slow)),
        top: TopHosts::new(std::mem::take(&mut router.top)),
        admin_evicted: Counter::default(),
        node,
        table: Box::new(move || Some(shown.figures())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_are_shared_out_when_listeners_have_theirs() {
        assert_eq!(shared_out(1256, 2, 4).ok(), Some(248));
        assert_eq!(shared_out(256 + 64 * 4 + 8 * 4, 64, 4).ok(), Some(8));
        let lacking = shared_out(256 + 64 * 4 + 8 * 4 - 1, 64, 4).unwrap_err().to_string();
        assert!(lacking.contains("64 listeners on 4 cores need 544; raise the limit"), "{lacking}");
        assert!(shared_out(100, 1, 1).is_err());
    }
}
