//! The thread that looks names up.

use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{
    ConnectionConfig, LookupIpStrategy, NameServerConfig, ResolveHosts, ResolverConfig, ResolverOpts,
};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use ringway_state::id::HostName;
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;

use super::Want;
use super::plan::{Known, News, Plan};
use crate::causes::with_causes;
use crate::config::Resolver;
use crate::limits;
use crate::observe::NameStats;
use crate::observe::process_log::{Level, event};

/// Ends when it is dropped.
pub(super) struct Thread(UnboundedSender<Want>);

impl Thread {
    pub(super) fn start(
        changed: Arc<dyn Fn() + Send + Sync>,
        known: Arc<Mutex<Known>>,
        stats: Arc<NameStats>,
    ) -> io::Result<Thread> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        // Wishes are one at a time: the main thread waits for each.
        let (orders, wishes) = unbounded_channel();
        let asker = Asker {
            plan: Plan::default(),
            resolver: Err("nothing is wanted yet".to_owned()),
            lookups: JoinSet::new(),
            start: Instant::now(),
            tried: None,
            changed,
            known,
            stats,
        };
        let run = move || runtime.block_on(asker.run(wishes));
        std::thread::Builder::new().name("names".to_owned()).spawn(run)?;
        Ok(Thread(orders))
    }

    pub(super) fn tell(&self, want: Want) {
        // The thread ends after this sender only.
        let _ = self.0.send(want);
    }
}

/// A name, with its addresses and how long they hold, or why there are none.
type Answer = (HostName, Result<(Vec<IpAddr>, Duration), String>);

struct Asker {
    plan: Plan,
    /// Or why there is none.
    resolver: Result<TokioResolver, String>,
    lookups: JoinSet<Answer>,
    start: Instant,
    /// Who waits until each name was asked for.
    tried: Option<std::sync::mpsc::SyncSender<()>>,
    changed: Arc<dyn Fn() + Send + Sync>,
    known: Arc<Mutex<Known>>,
    stats: Arc<NameStats>,
}

impl Asker {
    async fn run(mut self, mut wishes: UnboundedReceiver<Want>) {
        loop {
            for name in self.plan.due(self.start.elapsed(), limits::LOOKUPS_AT_A_TIME) {
                self.stats.lookups.inc();
                self.lookups.spawn(look_up(self.resolver.clone(), name));
            }
            let next = self
                .plan
                .next(limits::LOOKUPS_AT_A_TIME)
                .unwrap_or(Duration::from_millis(limits::NAME_MOST_MS));
            tokio::select! {
                want = wishes.recv() => match want {
                    Some(want) => self.want(want),
                    None => return,
                },
                Some(Ok((name, answer))) = self.lookups.join_next() => self.heard(&name, answer),
                () = tokio::time::sleep(next.saturating_sub(self.start.elapsed())) => {}
            }
            let (names, failing) = self.plan.counts();
            self.stats.names.set(names);
            self.stats.failing.set(failing);
            if self.plan.is_tried()
                && let Some(tried) = self.tried.take()
            {
                // Whoever waited may have lost patience.
                let _ = tried.try_send(());
            }
        }
    }

    fn want(&mut self, want: Want) {
        let Want { names, resolver: wanted, tried } = want;
        self.plan.want(&names);
        self.resolver = resolver(&wanted);
        self.tried = Some(tried);
        self.publish();
    }

    fn heard(&mut self, name: &HostName, answer: Result<(Vec<IpAddr>, Duration), String>) {
        let now = self.start.elapsed();
        let (news, error) = match answer {
            Ok((addresses, ttl)) => {
                (self.plan.answered(name, addresses, ttl, now), "it has no usable address".to_owned())
            }
            Err(error) => (self.plan.failed(name, now), error),
        };
        match news {
            News::Nothing => {}
            News::Changed => {
                self.publish();
                (self.changed)();
            }
            News::Failing => {
                let fields =
                    [("dns.question.name", Value::from(name.as_str())), ("error.message", error.into())];
                event(
                    Level::Warn,
                    "an endpoint's name cannot be looked up; what was known of it stays",
                    &fields,
                );
            }
        }
        if !matches!(news, News::Changed) && self.plan.is_failing(name) {
            self.stats.failures.inc();
        }
    }

    fn publish(&self) {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = self.plan.known();
    }
}

async fn look_up(resolver: Result<TokioResolver, String>, name: HostName) -> Answer {
    let lookup = async {
        let within = Duration::from_millis(limits::LOOKUP_MS);
        let found = tokio::time::timeout(within, resolver?.lookup_ip(name.as_str())).await;
        let found = found.map_err(|_| "no server has answered in time".to_owned())?;
        let found = found.map_err(|error| with_causes(&error))?;
        let ttl = found.valid_until().saturating_duration_since(Instant::now());
        Ok((found.iter().collect(), ttl))
    };
    let answer = lookup.await;
    (name, answer)
}

/// Asks the servers of the configuration, or those of the system.
fn resolver(wanted: &Resolver) -> Result<TokioResolver, String> {
    let mut builder = if wanted.servers.is_empty() {
        TokioResolver::builder_tokio()
            .map_err(|error| format!("/etc/resolv.conf: {}", with_causes(&error)))?
    } else {
        let server = |address: &std::net::SocketAddr| {
            let at_port = |mut connection: ConnectionConfig| {
                connection.port = address.port();
                connection
            };
            let connections = vec![at_port(ConnectionConfig::udp()), at_port(ConnectionConfig::tcp())];
            NameServerConfig::new(address.ip(), true, connections)
        };
        let servers = wanted.servers.iter().map(server).collect();
        let config = ResolverConfig::from_name_servers(servers);
        let mut builder = TokioResolver::builder_with_config(config, TokioRuntimeProvider::default());
        builder.options_mut().use_hosts_file = ResolveHosts::Never;
        builder
    };
    let options: &mut ResolverOpts = builder.options_mut();
    options.ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
    // What was heard is kept by the plan, for as long as it may be.
    options.cache_size = 0;
    options.timeout = Duration::from_millis(limits::LOOKUP_MS / 3);
    options.attempts = 2;
    builder.build().map_err(|error| with_causes(&error))
}
