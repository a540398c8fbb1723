//! The configuration as the process uses it: every default filled in, every value parsed and within its
//! range. Built only by [`super::load`] and [`super::parse`]; nothing here needs checking again.
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::check::{PATHS, REUSE, word_of};
use super::{Endpoint, HostName, Label, ListenAddress, Peers, Places, Region, ServiceId, Written};
use crate::observe::access::Fields;
use crate::observe::process_log::Level;
use crate::policy::{Pace, RetryOn};

#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    pub node: Node,
    pub cores: Cores,
    pub idle: Idle,
    /// At least one; no two share an address.
    pub listeners: Vec<Listener>,
    pub admin: Admin,
    pub state: State,
    pub resolver: Resolver,
    /// Only with [`Feed::Inline`]. No host name occurs twice.
    pub services: Vec<Service>,
    pub timeouts: Timeouts,
    /// What a service may override.
    pub retry: RetryOn,
    pub limits: Limits,
    /// What a service may override.
    pub paths: Paths,
    /// What a service may override.
    pub reuse: Reuse,
    pub access_log: AccessLog,
    /// What the process log has: this and above.
    pub process_log: Level,
    /// The file's values as they stand in it, for telling what changes.
    pub written: Written,
    /// Where it says what.
    pub places: Places,
    /// Remarks on what is legal but hardly meant, each a whole line: `FILE:LINE: warning: …`.
    pub warnings: Vec<String>,
}

impl Config {
    /// What holds for services that have nothing of their own.
    pub fn of_services(&self) -> ServiceSettings {
        ServiceSettings {
            timeouts: self.timeouts.origin,
            limits: self.limits.request,
            upstream: self.limits.upstream,
            retry: self.retry,
            paths: self.paths,
            reuse: self.reuse,
        }
    }
}

/// Where this process stands. All three are labels of logs and metrics; the region is also part of
/// endpoint-set keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub id: Label,
    pub region: Region,
    pub pop: Label,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cores {
    /// Every CPU that the process may run on.
    Auto,
    /// These CPU numbers, at least one, each once. Whether the machine has them is found out at start.
    Pinned(Vec<usize>),
}

/// What a core does when its ring has no completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idle {
    /// Sleep in the kernel at once: least CPU.
    Park,
    /// Poll for ever: least latency, a whole CPU each.
    Spin,
    /// Poll while recent gaps make it pay, then sleep.
    Adaptive,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listener {
    pub address: ListenAddress,
    /// Of a Unix socket's file: who may connect.
    pub mode: u32,
    pub protocol: Protocol,
    /// Peers whose `X-Forwarded-*` are believed and appended to; everybody else's are replaced.
    pub trusted_proxies: Peers,
    /// Peers that may ask `/.well-known/gateway-health`.
    pub internal_from: Peers,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1 without TLS.
    Http,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admin {
    /// A loopback address, since the admin listener is plain HTTP.
    pub address: SocketAddr,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// Where snapshots, levels and the journal live. A relative path starts at the working directory.
    pub dir: PathBuf,
    /// The base to start from when `dir` has none.
    pub snapshot: Option<PathBuf>,
    pub feed: Feed,
}

/// Where changes come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Feed {
    /// The `services` of this file, and nothing else.
    Inline,
    /// A file of changes, one in each line, which is followed. A relative path starts at the working directory.
    File(PathBuf),
}

/// Who is asked for the addresses of endpoints' names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resolver {
    /// Those of the system (`/etc/resolv.conf`) if there are none.
    pub servers: Vec<SocketAddr>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    pub id: ServiceId,
    /// At least one.
    pub hostnames: Vec<HostName>,
    /// At least one; each once.
    pub endpoints: Vec<Endpoint>,
    /// The router's own with this service's overrides applied.
    pub settings: ServiceSettings,
}

/// What a service may have of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServiceSettings {
    pub timeouts: OriginTimeouts,
    pub limits: RequestLimits,
    pub upstream: UpstreamLimits,
    /// What is tried a second time.
    pub retry: RetryOn,
    pub paths: Paths,
    pub reuse: Reuse,
}

impl ServiceSettings {
    /// How fast its clients and its origins must be.
    pub fn paces(&self) -> (Pace, Pace) {
        let of = |least| Pace::new(least, self.timeouts.body_progress);
        (of(self.limits.client_bytes_per_second), of(self.limits.origin_bytes_per_second))
    }
}

/// Whose requests a kept connection to an endpoint may carry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reuse {
    /// Those of the service that it was made for. Whatever an origin makes of one tenant's request, no other tenant meets.
    #[default]
    Service,
    /// Those of all services that say so and have this endpoint: it stands before many, and can tell them apart.
    Endpoint,
}

impl Paths {
    /// As in the file.
    pub fn as_str(self) -> &'static str {
        word_of(&PATHS, self)
    }
}

impl Reuse {
    /// As in the file.
    pub fn as_str(self) -> &'static str {
        word_of(&REUSE, self)
    }
}

/// What becomes of paths that can be read in more than one way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Paths {
    /// Dot segments are resolved, also towards the origin; what is still ambiguous is refused: 400.
    #[default]
    Normalize,
    /// Whatever is not in its normal form is refused: 400.
    Strict,
    /// They go on as they come.
    Raw,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// From the first octet of a request to the end of its head; then 408 and close.
    pub request_head: Duration,
    /// A client connection without a request is closed after this.
    pub idle: Duration,
    /// On SIGTERM: how long open requests may still take.
    pub drain: Duration,
    /// What a service may override.
    pub origin: OriginTimeouts,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OriginTimeouts {
    /// TCP connect to an endpoint; then another attempt or 504.
    pub connect: Duration,
    /// From the whole request sent to the end of the response head; then 504.
    pub response_head: Duration,
    /// Longest pause between two octets of a body, either way; then the exchange is cut.
    pub body_progress: Duration,
    /// An unused connection to an endpoint is closed after this.
    pub upstream_idle: Duration,
    /// How long a request waits for its turn behind others of its service; then 503.
    pub upstream_wait: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// What a service may override.
    pub request: RequestLimits,
    /// Status line and fields of the origin's answer; beyond: 502.
    pub response_head_bytes: usize,
    /// Connections that a core holds at once, clients' and origins' together; beyond: accepting pauses.
    pub connections_per_core: usize,
    /// What a service may override.
    pub upstream: UpstreamLimits,
}

/// How much of a core a service may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpstreamLimits {
    /// Unused connections kept per endpoint; beyond: closed after use.
    pub idle_connections: usize,
    /// Connections to all its endpoints, kept ones included; beyond: one that is kept is closed, or requests wait.
    pub connections: usize,
    /// Requests in flight; beyond: they wait.
    pub requests: usize,
    /// Requests that wait; beyond: 503.
    pub waiting: usize,
}

/// What a request may measure. The first three hold for every request before its service is known, so a service can
/// only narrow them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestLimits {
    /// Request line and fields with their line ends; beyond: 431.
    pub head_bytes: usize,
    /// Field lines in a head; beyond: 431. The router's also holds for answers: 502.
    pub head_fields: usize,
    /// The request-target; beyond: 414.
    pub target_bytes: usize,
    /// Content, its framing not counted; beyond: 413.
    pub body_bytes: u64,
    /// The mean while a client is waited for, over `timeouts.body_progress`; below: 408, or the answer is cut.
    pub client_bytes_per_second: u64,
    /// The same while an origin is waited for; below: 504, or the answer is cut.
    pub origin_bytes_per_second: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct AccessLog {
    pub path: LogPath,
    /// Share of fast successes written, 0.0 to 1.0; failures and slow requests are always written.
    pub success_sample: f64,
    /// A request that took at least this long counts as slow.
    pub slow: Duration,
    /// What a line says; at least one.
    pub fields: Fields,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogPath {
    Stdout,
    File(PathBuf),
}
