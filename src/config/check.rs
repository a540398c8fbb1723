//! From the tree to [`Config`]: one function per section, each of which reads all of its fields before it
//! ends.
use std::net::SocketAddr;
use std::path::PathBuf;

use super::address::{self, Forms};
use super::checked::{
    AccessLog, Config, Cores, Feed, Idle, Limits, LogPath, Node, OriginTimeouts, Paths, RequestLimits,
    Resolver, Reuse, ServiceSettings, State, Timeouts, UpstreamLimits,
};
use super::reader::{Field, Section};
use super::report::{Report, Shown};
use super::{Label, ListenAddress, Places, Region, Written, listeners, name, retry, services, setting, tree};
use crate::limits::CORES_MAX;
use crate::observe::access::{self, Fields};
use crate::observe::process_log::Level;
use crate::policy::RetryOn;
pub(super) use crate::yaml::word;

/// `None` when the file is no mapping at all. A `Config` is only right if `report` stayed empty.
pub(super) fn config(root: &tree::Node, report: &Report, host: &str) -> Option<Config> {
    let mut top = Section::top(root, report)?;
    // In the order of the reference, which is also that of "the fields here are …".
    let node = node(&mut top, host)?;
    let cores = top.field("cores").and_then(|f| cores(&f)).unwrap_or(Cores::Auto);
    let idle = top.parse_or("idle", idle, Idle::Adaptive);
    let listeners = listeners::listeners(&mut top);
    let admin = listeners::admin(&mut top, &listeners)?;
    let state = state(&mut top);
    let resolver = resolver(&mut top);
    let timeouts = timeouts(&mut top);
    let retry = retry::retry(&mut top, RetryOn::default());
    let limits = limits(&mut top);
    let paths = top.parse_or("paths", paths, Paths::Normalize);
    let reuse = top.parse_or("reuse", reuse, Reuse::Service);
    let inherited = ServiceSettings {
        timeouts: timeouts.origin,
        limits: limits.request,
        upstream: limits.upstream,
        retry,
        paths,
        reuse,
    };
    let mut own: Vec<ListenAddress> = listeners.iter().map(|listener| listener.address.clone()).collect();
    own.push(ListenAddress::Ip(admin.address));
    let services = match state.feed {
        Feed::Inline => services::services(&mut top, &inherited, &own, state.snapshot.is_some()),
        Feed::File(_) => services::none(&mut top),
    };
    let access_log = access_log(&mut top);
    let process_log = process_log(&mut top);
    top.end();
    let warnings = Vec::new();
    Some(Config {
        node,
        cores,
        idle,
        listeners,
        admin,
        state,
        resolver,
        services,
        timeouts,
        retry,
        limits,
        paths,
        reuse,
        access_log,
        process_log,
        written: Written::of(root),
        places: Places::new(&report.file, root),
        warnings,
    })
}

fn node(top: &mut Section<'_>, host: &str) -> Option<Node> {
    let label = |text| Label::parse(text).ok();
    // A host's name may hold what a label may not.
    let host = label(host).or_else(|| label("localhost"))?;
    let mut node = Node { id: host, region: Region::parse(setting::REGION).ok()?, pop: label(setting::POP)? };
    if let Some(mut section) = top.section("node") {
        node = Node {
            id: section.parse_or("id", Label::parse, node.id),
            region: section.parse_or("region", name::region, node.region),
            pop: section.parse_or("pop", Label::parse, node.pop),
        };
        section.end();
    }
    Some(node)
}

fn cores(field: &Field<'_>) -> Option<Cores> {
    if !field.is_list() {
        return field.parse(|text| {
            word(text, &[("auto", Cores::Auto)], "auto, or a list of CPU numbers as in [0, 1]")
        });
    }
    let mut cpus: Vec<usize> = Vec::new();
    for item in field.items()? {
        let Some(cpu) = item.parse(cpu) else { continue };
        if cpus.contains(&cpu) {
            item.mistake(&format!("CPU {cpu} is in the list already; remove one"));
        } else {
            cpus.push(cpu);
        }
    }
    if field.items()?.is_empty() {
        field.mistake("names no CPU; list at least one, or write auto");
    }
    Some(Cores::Pinned(cpus))
}

fn cpu(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(cpu) if cpu < CORES_MAX => Ok(cpu),
        _ => Err(format!("{} is not a CPU number; write one from 0 to {}", Shown(text), CORES_MAX - 1)),
    }
}

fn idle(text: &str) -> Result<Idle, String> {
    let words = [("park", Idle::Park), ("spin", Idle::Spin), ("adaptive", Idle::Adaptive)];
    word(text, &words, "park, spin or adaptive")
}

fn state(top: &mut Section<'_>) -> State {
    let mut state = State { dir: PathBuf::from(setting::STATE_DIR), snapshot: None, feed: Feed::Inline };
    let Some(mut section) = top.section("state") else { return state };
    state.dir = section.parse_or("dir", |text| path(text, setting::STATE_DIR), state.dir);
    state.snapshot = section.field("snapshot").and_then(|f| f.parse(|text| path(text, "./base.snap")));
    if let Some(mut feed) = section.section("feed") {
        // Of a kind that is refused, the other fields are as little known.
        if let Some(kind) = feed.required("kind", "inline").and_then(|f| f.parse(feed_kind)) {
            let path = |f: Field<'_>| f.parse(|text| path(text, "./changes.jsonl"));
            if let FeedKind::File = kind
                && let Some(path) = feed.required("path", "./changes.jsonl").and_then(path)
            {
                state.feed = Feed::File(path);
            }
            feed.end();
        }
    }
    section.end();
    state
}

#[derive(Clone, Copy)]
enum FeedKind {
    Inline,
    File,
}

fn feed_kind(text: &str) -> Result<FeedKind, String> {
    match text {
        "kafka" => Err("kafka is not yet supported in this version; use inline or file".to_owned()),
        _ => word(text, &[("inline", FeedKind::Inline), ("file", FeedKind::File)], "inline or file"),
    }
}

fn resolver(top: &mut Section<'_>) -> Resolver {
    let Some(mut section) = top.section("resolver") else { return Resolver::default() };
    let servers = section.field("servers").map(|field| field.parse_items(server));
    section.end();
    Resolver { servers: servers.unwrap_or_default() }
}

/// A name server.
fn server(text: &str) -> Result<SocketAddr, String> {
    address::parse_endpoint(text, Forms::Address)
}

fn timeouts(top: &mut Section<'_>) -> Timeouts {
    let Some(mut section) = top.section("timeouts") else { return Timeouts::default() };
    let timeouts = Timeouts {
        request_head: section.setting(&setting::REQUEST_HEAD),
        idle: section.setting(&setting::IDLE),
        drain: section.setting(&setting::DRAIN),
        origin: origin_timeouts(&mut section, &OriginTimeouts::default()),
    };
    section.end();
    timeouts
}

/// The timeouts that a service may override, over `inherited`.
pub(super) fn origin_timeouts(section: &mut Section<'_>, inherited: &OriginTimeouts) -> OriginTimeouts {
    OriginTimeouts {
        connect: section.setting_or(&setting::CONNECT, inherited.connect),
        response_head: section.setting_or(&setting::RESPONSE_HEAD, inherited.response_head),
        body_progress: section.setting_or(&setting::BODY_PROGRESS, inherited.body_progress),
        upstream_idle: section.setting_or(&setting::UPSTREAM_IDLE, inherited.upstream_idle),
        upstream_wait: section.setting_or(&setting::UPSTREAM_WAIT, inherited.upstream_wait),
    }
}

/// The same of what it may have of a core.
pub(super) fn upstream_limits(section: &mut Section<'_>, inherited: &UpstreamLimits) -> UpstreamLimits {
    UpstreamLimits {
        idle_connections: section.setting_or(&setting::UPSTREAM_IDLE_CONNECTIONS, inherited.idle_connections),
        connections: section.setting_or(&setting::UPSTREAM_CONNECTIONS, inherited.connections),
        requests: section.setting_or(&setting::UPSTREAM_REQUESTS, inherited.requests),
        waiting: section.setting_or(&setting::UPSTREAM_WAITING, inherited.waiting),
    }
}

fn limits(top: &mut Section<'_>) -> Limits {
    let Some(mut section) = top.section("limits") else { return Limits::default() };
    let limits = Limits {
        request: RequestLimits {
            head_bytes: section.setting(&setting::REQUEST_HEAD_BYTES),
            head_fields: section.setting(&setting::HEAD_FIELDS),
            target_bytes: section.setting(&setting::TARGET_BYTES),
            body_bytes: section.setting(&setting::REQUEST_BODY_BYTES),
            client_bytes_per_second: section.setting(&setting::CLIENT_BYTES_PER_SECOND),
            origin_bytes_per_second: section.setting(&setting::ORIGIN_BYTES_PER_SECOND),
        },
        response_head_bytes: section.setting(&setting::RESPONSE_HEAD_BYTES),
        connections_per_core: section.setting(&setting::CONNECTIONS_PER_CORE),
        upstream: upstream_limits(&mut section, &UpstreamLimits::default()),
    };
    section.end();
    limits
}

pub(super) const REUSE: [(&str, Reuse); 2] = [("service", Reuse::Service), ("endpoint", Reuse::Endpoint)];

pub(super) fn reuse(text: &str) -> Result<Reuse, String> {
    word(text, &REUSE, "service or endpoint")
}

pub(super) const PATHS: [(&str, Paths); 3] =
    [("normalize", Paths::Normalize), ("strict", Paths::Strict), ("raw", Paths::Raw)];

pub(super) fn paths(text: &str) -> Result<Paths, String> {
    word(text, &PATHS, "normalize, strict or raw")
}

fn access_log(top: &mut Section<'_>) -> AccessLog {
    let mut log = AccessLog {
        path: LogPath::Stdout,
        success_sample: setting::SUCCESS_SAMPLE.default,
        slow: setting::SLOW.default,
        fields: Fields::ALL,
    };
    let Some(mut section) = top.section("access_log") else { return log };
    log.path = section.parse_or("path", log_path, log.path);
    log.success_sample = section.setting(&setting::SUCCESS_SAMPLE);
    log.slow = section.setting(&setting::SLOW);
    log.fields = section.field("fields").and_then(|f| fields(&f)).unwrap_or(log.fields);
    section.end();
    log
}

fn process_log(top: &mut Section<'_>) -> Level {
    let Some(mut section) = top.section("process_log") else { return Level::Info };
    let words = Level::ALL.map(|level| (level.as_str(), level));
    let level =
        section.parse_or("level", |text| word(text, &words, "debug, info, warn or error"), Level::Info);
    section.end();
    level
}

/// All fields, or a list of some.
fn fields(field: &Field<'_>) -> Option<Fields> {
    let words: Vec<(&str, access::Field)> = access::Field::ALL.iter().map(|f| (f.name(), *f)).collect();
    let told = "docs/reference/metrics.md has the list";
    if !field.is_list() {
        return field.parse(|text| word(text, &[("all", Fields::ALL)], "all, or a list of names"));
    }
    if field.items()?.is_empty() {
        field.mistake(&format!("is empty; list at least one name ({told}), or write all"));
    }
    let listed = field.parse_items(|text| word(text, &words, &format!("a name of a field; {told}")));
    Some(listed.into_iter().fold(Fields::NONE, Fields::with))
}

fn log_path(text: &str) -> Result<LogPath, String> {
    if text == "stdout" { Ok(LogPath::Stdout) } else { path(text, "./access.log").map(LogPath::File) }
}

fn path(text: &str, such_as: &str) -> Result<PathBuf, String> {
    if text.is_empty() || text.contains('\0') {
        return Err(format!("{} is not a path; give one such as {such_as}", Shown(text)));
    }
    Ok(PathBuf::from(text))
}

/// The word for a value, which is one of `words`.
pub(super) fn word_of<T: PartialEq>(words: &[(&'static str, T)], value: T) -> &'static str {
    words.iter().find(|(_, other)| *other == value).map_or("", |(word, _)| word)
}
