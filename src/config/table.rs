//! Every field of the configuration: its default, what can be written in it, and what it means. The reference page and the
//! JSON Schema are made from this table; tests hold it against the reader.
use super::quantity::Setting;
use super::setting;
use super::values::{
    HOST_NAME, IP_AND_PORT, NAME_AND_PORT, Number, UNIX, Values, address, fields, list, name, number, path,
    text, whole, word_or, words,
};
use crate::limits::{CORES_MAX, LABEL_BYTES_MAX};
use crate::observe::access::Field;
use crate::observe::process_log::Level;

pub(super) struct Row {
    /// Its path, as in `listeners[].address`.
    pub(super) field: String,
    /// In brackets a remark, else what one could write in the file.
    pub(super) default: String,
    pub(super) values: Values,
    /// A service may override it, in a field of the same name.
    pub(super) per_service: bool,
    /// In Markdown.
    pub(super) meaning: &'static str,
}

/// The default of a field that must be written wherever its section is.
pub(super) const REQUIRED: &str = "(required)";

fn row(field: &str, default: &str, values: Values, meaning: &'static str) -> Row {
    Row { field: field.to_owned(), default: default.to_owned(), values, per_service: false, meaning }
}

fn setting<T: Number>(section: &str, setting: &Setting<T>, meaning: &'static str) -> Row {
    row(&format!("{section}.{}", setting.name), &setting.default.show(), number(setting), meaning)
}

fn per_service(row: Row) -> Row {
    Row { per_service: true, ..row }
}

/// In the order of the page.
pub(super) fn rows() -> Vec<Row> {
    [places(), sockets(), state(), resolver(), timeouts(), retry(), limits(), choices(), services(), log()]
        .into_iter()
        .flatten()
        .collect()
}

fn places() -> Vec<Row> {
    let label = || name("1 to 63 of `A-Z a-z 0-9 . _ -`", "", LABEL_BYTES_MAX);
    let cpus = list("CPU numbers as in `[0, 1]`", &whole("", 0, CORES_MAX as u64 - 1), 1);
    vec![
        row("node.id", "(the host's name)", label(), "names this router in logs and metrics"),
        row(
            "node.region",
            setting::REGION,
            name("1 to 128 of `A-Z a-z 0-9 . _ -`", "", ringway_state::limits::ID_OCTETS_MAX),
            "the region whose endpoints it uses",
        ),
        row("node.pop", setting::POP, label(), "the point of presence it stands in"),
        row("cores", "auto", word_or("auto", &cpus), "the CPUs that carry traffic, a thread each"),
        row(
            "idle",
            "adaptive",
            words(&["park", "spin", "adaptive"]),
            "what a core does with nothing to do: sleep at once \
             (least CPU), poll for ever (least latency), or poll while it pays and then sleep",
        ),
    ]
}

fn sockets() -> Vec<Row> {
    let blocks = || {
        let told = "address blocks as in `[10.0.0.0/8]`, or `[unix]` on a Unix socket";
        list(told, &text("", "^(unix|[0-9a-fA-F.:]+(/[0-9]{1,3})?)$", 64), 0)
    };
    vec![
        row(
            "listeners[].address",
            REQUIRED,
            address("`IP:PORT`, IPv6 as `[IP]:PORT`, or `unix:/PATH`", &format!("{IP_AND_PORT}|{UNIX}")),
            "where clients come in; `[::]` takes IPv4 too",
        ),
        row(
            "listeners[].mode",
            "(660)",
            text("three octal digits", "^[0246]{3}$", 3),
            "of a Unix socket's file: who may connect, as `chmod` has it",
        ),
        row("listeners[].protocol", REQUIRED, words(&["http"]), "HTTP/1.1 without TLS"),
        row(
            "listeners[].trusted_proxies",
            "(none)",
            blocks(),
            "peers whose `X-Forwarded-*` and `Forwarded` are believed: `X-Forwarded-For` is continued with the peer's \
             address, the others go on as they came; all other peers' are replaced, and their `Forwarded` removed",
        ),
        row(
            "listeners[].internal_from",
            "(none)",
            blocks(),
            "peers that may ask `/.well-known/gateway-health`",
        ),
        row(
            "admin.address",
            setting::ADMIN_ADDRESS,
            address("`IP:PORT` on loopback", IP_AND_PORT),
            "metrics, health and readiness, in \
             plain HTTP",
        ),
    ]
}

fn state() -> Vec<Row> {
    vec![
        row(
            "state.dir",
            setting::STATE_DIR,
            path(),
            "what outlives the process, with a feed from a file: the route table, and refused changes; one process has it. Not used by `inline`",
        ),
        row("state.snapshot", "(none)", path(), "the base to start from when `state.dir` has none"),
        row(
            "state.feed.kind",
            "inline",
            words(&["inline", "file"]),
            "where changes come from: the `services` of this file, or a file of changes that is followed",
        ),
        row(
            "state.feed.path",
            "(with `file`: required)",
            path(),
            "the file of changes, one JSON object in each line; see [The feed](#the-feed)",
        ),
    ]
}

fn services() -> Vec<Row> {
    let endpoint = address("", &format!("{IP_AND_PORT}|{NAME_AND_PORT}|{UNIX}"));
    vec![
        row(
            "services[].id",
            REQUIRED,
            name(
                "`svc_` and more of `A-Z a-z 0-9 . _ -`, at most 128",
                "svc_",
                ringway_state::limits::ID_OCTETS_MAX,
            ),
            "names the service",
        ),
        row(
            "services[].hostnames",
            REQUIRED,
            list(
                "host names, each in one service",
                &text("", HOST_NAME, ringway_state::limits::HOST_OCTETS_MAX),
                1,
            ),
            "the hosts whose requests it gets",
        ),
        row(
            "services[].endpoints",
            REQUIRED,
            list("`IP:PORT`, IPv6 as `[IP]:PORT`; `NAME:PORT`; or `unix:/PATH`", &endpoint, 1),
            "where its origins listen",
        ),
        row(
            "services[].timeouts",
            "(the router's)",
            fields(),
            "overrides of the timeouts marked *per service*",
        ),
        row("services[].limits", "(the router's)", fields(), "overrides of the limits marked *per service*"),
        row("services[].paths", "(the router's)", paths().told("as above"), "an override of `paths`"),
        row("services[].reuse", "(the router's)", reuse().told("as above"), "an override of `reuse`"),
    ]
}

fn paths() -> Values {
    words(&["normalize", "strict", "raw"])
}

fn reuse() -> Values {
    words(&["service", "endpoint"])
}

fn timeouts() -> Vec<Row> {
    let timeout = |timeout, meaning| setting("timeouts", timeout, meaning);
    vec![
        timeout(&setting::REQUEST_HEAD, "from a request's first octet to the end of its head; then 408"),
        timeout(&setting::IDLE, "a client connection without a request is closed after this"),
        timeout(&setting::DRAIN, "how long open requests may still take after SIGTERM"),
        per_service(timeout(&setting::CONNECT, "TCP connect to an endpoint; then another try, or 504")),
        per_service(timeout(
            &setting::RESPONSE_HEAD,
            "from the request sent to the end of the response \
             head; then 504",
        )),
        per_service(timeout(
            &setting::BODY_PROGRESS,
            "longest pause between two octets of a body, either \
             way; then the exchange is cut. What the kernel has taken counts as passed: a client that leaves a small answer \
             unread is closed after `timeouts.idle`",
        )),
        per_service(timeout(
            &setting::UPSTREAM_IDLE,
            "an unused connection to an endpoint is closed after this, or before the time that the origin's `Keep-Alive` tells",
        )),
        per_service(timeout(
            &setting::UPSTREAM_WAIT,
            "how long a request waits while its service has `limits.upstream_requests` in flight; then 503",
        )),
    ]
}

fn resolver() -> Vec<Row> {
    vec![row(
        "resolver.servers",
        "(those of /etc/resolv.conf)",
        list("DNS servers as in `[\"10.0.0.53:53\"]`", &address("", IP_AND_PORT), 0),
        "who is asked for the addresses of endpoints' names; /etc/hosts is read only where none are named here",
    )]
}

fn retry() -> Vec<Row> {
    let occasions = words(&["connect_failure", "closed", "http_502", "http_503", "timeout"]);
    vec![per_service(row(
        "retry.on",
        "[connect_failure, closed, http_503]",
        list(&format!("a list of {}", occasions.told), &occasions, 0),
        "what a second attempt is made after; see [below](#second-attempts)",
    ))]
}

fn limits() -> Vec<Row> {
    let limit = |limit, meaning| setting::<usize>("limits", limit, meaning);
    vec![
        per_service(limit(&setting::REQUEST_HEAD_BYTES, "request line and fields; beyond: 431")),
        per_service(limit(
            &setting::HEAD_FIELDS,
            "field lines in a head; beyond: 431. The router's also holds for answers: 502",
        )),
        per_service(limit(&setting::TARGET_BYTES, "the request-target; beyond: 414")),
        per_service(setting("limits", &setting::REQUEST_BODY_BYTES, "content of a request; beyond: 413")),
        per_service(setting(
            "limits",
            &setting::CLIENT_BYTES_PER_SECOND,
            "the mean that a client must come to while it is waited for, over any `timeouts.body_progress`; 0: any. \
             Below: 408, or the answer is cut",
        )),
        per_service(setting(
            "limits",
            &setting::ORIGIN_BYTES_PER_SECOND,
            "the same of an origin; below: 504, or the answer is cut",
        )),
        limit(&setting::RESPONSE_HEAD_BYTES, "status line and fields of an answer; beyond: 502"),
        limit(
            &setting::CONNECTIONS_PER_CORE,
            "connections that a core holds at once, clients' and \
             origins' together; beyond: accepting pauses. The process's descriptor limit lowers it",
        ),
        per_service(limit(
            &setting::UPSTREAM_IDLE_CONNECTIONS,
            "unused connections kept per core and endpoint; \
             beyond: closed after use",
        )),
        per_service(limit(
            &setting::UPSTREAM_CONNECTIONS,
            "connections of a core to all endpoints of a service; beyond: an unused one is closed, or requests wait",
        )),
        per_service(limit(
            &setting::UPSTREAM_REQUESTS,
            "requests of a service in flight on a core, a quarter of the core's descriptors at most; beyond: they wait",
        )),
        per_service(limit(
            &setting::UPSTREAM_WAITING,
            "requests of a service that wait on a core; beyond: 503",
        )),
    ]
}

fn choices() -> Vec<Row> {
    vec![
        row("paths", "normalize", paths(), "what becomes of [ambiguous paths](#paths)"),
        row(
            "reuse",
            "service",
            reuse(),
            "whose requests a kept connection to an origin may carry: of the service that it was made for, or of \
             all services that say `endpoint` and have the same one, such as an ingress that many stand \
             behind. An answer that such an origin sends late, unasked, may meet another's request",
        ),
    ]
}

fn log() -> Vec<Row> {
    let names: Vec<&str> = Field::ALL.iter().map(|field| field.name()).collect();
    let names = list("names as in `[url.path]`", &words(&names), 1);
    vec![
        row(
            "access_log.path",
            "stdout",
            path().told("`stdout`, or a path"),
            "where the access log goes, a JSON object a line",
        ),
        setting(
            "access_log",
            &setting::SUCCESS_SAMPLE,
            "the share of fast successes that is written; failures and \
             slow requests always are",
        ),
        setting("access_log", &setting::SLOW, "a request that took at least this long is slow"),
        row(
            "access_log.fields",
            "all",
            word_or("all", &names),
            "what a line says; [all names](metrics.md#access-log)",
        ),
        row(
            "process_log.level",
            "info",
            words(&Level::ALL.map(Level::as_str)),
            "what the process log on stderr has: this and above",
        ),
    ]
}
