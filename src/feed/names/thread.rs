//! The thread that looks names up.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{
    ConnectionConfig, LookupIpStrategy, NameServerConfig, ResolveHosts, ResolverConfig, ResolverOpts,
};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use ringway_state::id::HostName;
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::{AbortHandle, Id, JoinSet};

use super::patience::Patience;
use super::plan::{Counts, Outcome, Plan};
use super::{Board, Tried, Want};
use crate::causes::with_causes;
use crate::config::Resolver;
use crate::feed::allowance::Allowance;
use crate::limits;
use crate::observe::NameStats;
use crate::observe::process_log::{Level, event};

/// Ends when it is dropped.
pub(super) struct Thread(UnboundedSender<Want>);

impl Thread {
    pub(super) fn start(
        changed: Arc<dyn Fn() + Send + Sync>,
        board: Arc<Board>,
        stats: Arc<NameStats>,
    ) -> io::Result<Thread> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        // Wishes are few: two of each reload.
        let (orders, wishes) = unbounded_channel();
        let asker = Asker {
            plan: Plan::new(),
            resolver: Err("nothing is wanted yet".to_owned()),
            lookups: JoinSet::new(),
            under_way: Vec::new(),
            start: Instant::now(),
            waits: None,
            news: News::default(),
            warned: Allowance::new(
                limits::NAMES_FAILING_TOLD,
                Duration::from_millis(limits::NAMES_FAILING_TOLD_MS),
            ),
            changed,
            board,
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

/// The addresses of a name and how long they hold, or why there are none.
type Answer = Result<(Vec<IpAddr>, Duration), String>;

struct Asker {
    plan: Plan,
    /// Or why there is none.
    resolver: Result<TokioResolver, String>,
    lookups: JoinSet<Answer>,
    /// Whose they are: no more than [`limits::LOOKUPS_AT_A_TIME`].
    under_way: Vec<(HostName, AbortHandle)>,
    start: Instant,
    /// Who waits until each new name was asked for.
    waits: Option<(Patience, Tried)>,
    news: News,
    /// Of names that begin to fail.
    warned: Allowance,
    changed: Arc<dyn Fn() + Send + Sync>,
    board: Arc<Board>,
    stats: Arc<NameStats>,
}

/// Addresses that have changed.
#[derive(Default)]
struct News {
    are_there: bool,
    /// Not to be told before.
    not_before: Duration,
}

impl Asker {
    async fn run(mut self, mut wishes: UnboundedReceiver<Want>) {
        loop {
            let now = self.start.elapsed();
            self.ask(now);
            self.let_go(now);
            self.tell(now);
            self.count();
            let wake = self.next().unwrap_or(now + Duration::from_millis(limits::NAME_MOST_MS));
            tokio::select! {
                want = wishes.recv() => match want {
                    Some(want) => self.want(want),
                    None => return,
                },
                Some(ended) = self.lookups.join_next_with_id() => match ended {
                    Ok((id, answer)) => self.heard(id, answer),
                    Err(error) => self.heard(error.id(), Err("the look-up has ended badly".to_owned())),
                },
                () = tokio::time::sleep(wake.saturating_sub(self.start.elapsed())) => {}
            }
        }
    }

    /// When there is something to do though nothing is heard.
    fn next(&self) -> Option<Duration> {
        let waits = self.waits.as_ref().map(|(patience, _)| patience.ends());
        let news = self.news.are_there.then_some(self.news.not_before);
        [self.plan.next(), waits, news].into_iter().flatten().min()
    }

    fn want(&mut self, want: Want) {
        let Want { names, resolver: wanted, patience, tried } = want;
        let now = self.start.elapsed();
        self.under_way.retain(|(name, lookup)| {
            let is_wanted = names.contains_key(name);
            if !is_wanted {
                lookup.abort();
                self.stats.given_up.inc();
            }
            is_wanted
        });
        let new = self.plan.want(&names, now);
        self.resolver = resolver(&wanted);
        self.waits = Some((Patience::new(new, patience, now), tried));
        self.board.show(self.plan.known());
    }

    fn ask(&mut self, now: Duration) {
        for name in self.plan.due(now) {
            let lookup = self.lookups.spawn(look_up(self.resolver.clone(), name.clone()));
            self.under_way.push((name, lookup));
        }
        let (under_way, most) = (self.under_way.len(), limits::LOOKUPS_AT_A_TIME);
        debug_assert!(under_way <= most, "more look-ups are under way than may be");
    }

    /// Lets whoever waits go on, if every new name was asked for, or waiting does not pay.
    fn let_go(&mut self, now: Duration) {
        let Some((patience, tried)) = self.waits.take_if(|(patience, _)| patience.ends() <= now) else {
            return;
        };
        let left = patience.left();
        if !left.is_empty() {
            let names = left.iter().take(limits::NAMES_SHOWN).map(HostName::as_str).collect::<Vec<_>>();
            let fields =
                [("ringway.names", Value::from(names)), ("ringway.names_left", Value::from(left.len()))];
            let what =
                "no DNS server has told the addresses of some endpoints' names yet; they are not waited for";
            event(Level::Warn, what, &fields);
        }
        self.board.show(self.plan.known());
        drop(tried);
    }

    /// Tells that addresses have changed, of all that have at once.
    fn tell(&mut self, now: Duration) {
        if self.news.are_there && self.news.not_before <= now {
            let not_before = now + Duration::from_millis(limits::NAMES_TOLD_MS);
            self.news = News { are_there: false, not_before };
            self.board.show(self.plan.known());
            if self.board.is_news() {
                (self.changed)();
            }
        }
    }

    fn heard(&mut self, id: Id, answer: Answer) {
        // Or it was given up.
        let Some(nth) = self.under_way.iter().position(|(_, lookup)| lookup.id() == id) else { return };
        let (name, _) = self.under_way.swap_remove(nth);
        let now = self.start.elapsed();
        if let Some((patience, _)) = &mut self.waits {
            patience.heard(&name, now);
        }
        let (outcome, error) = match answer {
            Ok((addresses, ttl)) => {
                (self.plan.answered(&name, addresses, ttl, now), "it has no usable address".to_owned())
            }
            Err(error) => (self.plan.failed(&name, now), error),
        };
        match outcome {
            Outcome::Same => {}
            Outcome::Changed => self.news.are_there = true,
            Outcome::Failing => self.warn(&name, error),
        }
        match self.plan.is_failing(&name) {
            true => self.stats.failed.inc(),
            false => self.stats.answered.inc(),
        }
    }

    /// Tells of a name that begins to fail, of so many in a time.
    fn warn(&mut self, name: &HostName, error: String) {
        let now = Instant::now();
        if let Some(more) = self.warned.over(now) {
            let fields = [("ringway.names", Value::from(more))];
            event(Level::Warn, "more endpoints' names could not be looked up", &fields);
        }
        if self.warned.take(now) {
            let fields = [("dns.question.name", Value::from(name.as_str())), ("error.message", error.into())];
            event(Level::Warn, "an endpoint's name cannot be looked up; what was known of it stays", &fields);
        }
    }

    fn count(&self) {
        let Counts { names, failing, due } = self.plan.counts();
        self.stats.names.set(names as u64);
        self.stats.failing.set(failing as u64);
        self.stats.waiting.set(due as u64);
    }
}

async fn look_up(resolver: Result<TokioResolver, String>, name: HostName) -> Answer {
    let within = Duration::from_millis(limits::LOOKUP_MS);
    let found = tokio::time::timeout(within, resolver?.lookup_ip(name.as_str())).await;
    let found = found.map_err(|_| "no server has answered in time".to_owned())?;
    let found = found.map_err(|error| with_causes(&error))?;
    let ttl = found.valid_until().saturating_duration_since(Instant::now());
    Ok((found.iter().collect(), ttl))
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
