//! The table of docs/reference/configuration.md, made from the code and held against it.
#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test
use std::collections::BTreeSet;
use std::fmt::Write;

use super::parse;
use super::quantity::{Quantity, Setting};
use super::setting;

const PAGE: &str = "docs/reference/configuration.md";

/// A default in brackets is a remark, any other is what one could write in the file.
struct Row {
    field: String,
    default: String,
    values: String,
    per_service: bool,
    meaning: &'static str,
}

fn row(field: &str, default: &str, values: &str, meaning: &'static str) -> Row {
    Row {
        field: field.to_owned(),
        default: default.to_owned(),
        values: values.to_owned(),
        per_service: false,
        meaning,
    }
}

fn number<T: Quantity>(section: &str, setting: &Setting<T>, meaning: &'static str) -> Row {
    row(&format!("{section}.{}", setting.name), &setting.default.show(), &setting.range(), meaning)
}

fn per_service(row: Row) -> Row {
    Row { per_service: true, ..row }
}

fn rows() -> Vec<Row> {
    [places(), sockets(), resolver(), timeouts(), retry(), limits(), services(), log()]
        .into_iter()
        .flatten()
        .collect()
}

fn places() -> Vec<Row> {
    let label = "1 to 63 of `A-Z a-z 0-9 . _ -`";
    vec![
        row("node.id", "(the host's name)", label, "names this router in logs and metrics"),
        row(
            "node.region",
            setting::REGION,
            "1 to 128 of `A-Z a-z 0-9 . _ -`",
            "the region whose endpoints it uses",
        ),
        row("node.pop", setting::POP, label, "the point of presence it stands in"),
        row(
            "cores",
            "auto",
            "`auto`, or CPU numbers as in `[0, 1]`",
            "the CPUs that carry traffic, a thread each",
        ),
        row(
            "idle",
            "adaptive",
            "`park`, `spin`, `adaptive`",
            "what a core does with nothing to do: sleep at once \
             (least CPU), poll for ever (least latency), or poll while it pays and then sleep",
        ),
    ]
}

fn sockets() -> Vec<Row> {
    let blocks = "address blocks as in `[10.0.0.0/8]`, or `[unix]` on a Unix socket";
    vec![
        row(
            "listeners[].address",
            "(required)",
            "`IP:PORT`, IPv6 as `[IP]:PORT`, or `unix:/PATH`",
            "where clients come in; `[::]` takes IPv4 too",
        ),
        row(
            "listeners[].mode",
            "(660)",
            "three octal digits",
            "of a Unix socket's file: who may connect, as `chmod` has it",
        ),
        row("listeners[].protocol", "(required)", "`http`", "HTTP/1.1 without TLS"),
        row(
            "listeners[].trusted_proxies",
            "(none)",
            blocks,
            "peers whose `X-Forwarded-*` and `Forwarded` are \
             believed and appended to; all others' are replaced",
        ),
        row(
            "listeners[].internal_from",
            "(none)",
            blocks,
            "peers that may ask `/.well-known/gateway-health`",
        ),
        row(
            "admin.address",
            setting::ADMIN_ADDRESS,
            "`IP:PORT` on loopback",
            "metrics, health and readiness, in \
             plain HTTP",
        ),
        row(
            "state.dir",
            setting::STATE_DIR,
            "a path",
            "what outlives the process, with a feed from a file: refused changes; one process has it. Not used by `inline`",
        ),
        row("state.snapshot", "(none)", "a path", "the base to start from when `state.dir` has none"),
        row(
            "state.feed.kind",
            "inline",
            "`inline`, `file`",
            "where changes come from: the `services` of this file, or a file of changes that is followed",
        ),
        row(
            "state.feed.path",
            "(with `file`: required)",
            "a path",
            "the file of changes, one JSON object in each line; see [The feed](#the-feed)",
        ),
    ]
}

fn services() -> Vec<Row> {
    vec![
        row(
            "services[].id",
            "(required)",
            "`svc_` and more of `A-Z a-z 0-9 . _ -`, at most 128",
            "names the service",
        ),
        row(
            "services[].hostnames",
            "(required)",
            "host names, each in one service",
            "the hosts whose requests it gets",
        ),
        row(
            "services[].endpoints",
            "(required)",
            "`IP:PORT`, IPv6 as `[IP]:PORT`; `NAME:PORT`; or `unix:/PATH`",
            "where its origins listen",
        ),
        row(
            "services[].timeouts",
            "(the router's)",
            "fields",
            "overrides of the timeouts marked *per service*",
        ),
        row("services[].limits", "(the router's)", "fields", "overrides of the limits marked *per service*"),
        row("services[].paths", "(the router's)", "as above", "an override of `paths`"),
        row("services[].reuse", "(the router's)", "as above", "an override of `reuse`"),
    ]
}

fn timeouts() -> Vec<Row> {
    vec![
        number(
            "timeouts",
            &setting::REQUEST_HEAD,
            "from a request's first octet to the end of its head; then 408",
        ),
        number("timeouts", &setting::IDLE, "a client connection without a request is closed after this"),
        number("timeouts", &setting::DRAIN, "how long open requests may still take after SIGTERM"),
        per_service(number(
            "timeouts",
            &setting::CONNECT,
            "TCP connect to an endpoint; then another try, or 504",
        )),
        per_service(number(
            "timeouts",
            &setting::RESPONSE_HEAD,
            "from the request sent to the end of the response \
             head; then 504",
        )),
        per_service(number(
            "timeouts",
            &setting::BODY_PROGRESS,
            "longest pause between two octets of a body, either \
             way; then the exchange is cut",
        )),
        per_service(number(
            "timeouts",
            &setting::UPSTREAM_IDLE,
            "an unused connection to an endpoint is closed after this, or before the time that the origin's `Keep-Alive` tells",
        )),
        per_service(number(
            "timeouts",
            &setting::UPSTREAM_WAIT,
            "how long a request waits while its service has `limits.upstream_requests` in flight; then 503",
        )),
    ]
}

fn resolver() -> Vec<Row> {
    vec![row(
        "resolver.servers",
        "(those of /etc/resolv.conf)",
        "DNS servers as in `[\"10.0.0.53:53\"]`",
        "who is asked for the addresses of endpoints' names",
    )]
}

fn retry() -> Vec<Row> {
    vec![per_service(row(
        "retry.on",
        "[connect_failure, closed, http_503]",
        "a list of `connect_failure`, `closed`, `http_502`, `http_503`, `timeout`",
        "what a second attempt is made after; see [below](#second-attempts)",
    ))]
}

fn limits() -> Vec<Row> {
    vec![
        per_service(number("limits", &setting::REQUEST_HEAD_BYTES, "request line and fields; beyond: 431")),
        per_service(number(
            "limits",
            &setting::HEAD_FIELDS,
            "field lines in a head; beyond: 431. The router's also holds for answers: 502",
        )),
        per_service(number("limits", &setting::TARGET_BYTES, "the request-target; beyond: 414")),
        per_service(number("limits", &setting::REQUEST_BODY_BYTES, "content of a request; beyond: 413")),
        per_service(number(
            "limits",
            &setting::CLIENT_BYTES_PER_SECOND,
            "the mean that a client must come to while it is waited for, over any `timeouts.body_progress`; 0: any. \
             Below: 408, or the answer is cut",
        )),
        per_service(number(
            "limits",
            &setting::ORIGIN_BYTES_PER_SECOND,
            "the same of an origin; below: 504, or the answer is cut",
        )),
        number("limits", &setting::RESPONSE_HEAD_BYTES, "status line and fields of an answer; beyond: 502"),
        number(
            "limits",
            &setting::CONNECTIONS_PER_CORE,
            "connections that a core holds at once, clients' and \
             origins' together; beyond: accepting pauses. The process's descriptor limit lowers it",
        ),
        per_service(number(
            "limits",
            &setting::UPSTREAM_IDLE_CONNECTIONS,
            "unused connections kept per core and endpoint; \
             beyond: closed after use",
        )),
        per_service(number(
            "limits",
            &setting::UPSTREAM_CONNECTIONS,
            "connections of a core to all endpoints of a service; beyond: an unused one is closed, or requests wait",
        )),
        per_service(number(
            "limits",
            &setting::UPSTREAM_REQUESTS,
            "requests of a service in flight on a core, a quarter of the core's descriptors at most; beyond: they wait",
        )),
        per_service(number(
            "limits",
            &setting::UPSTREAM_WAITING,
            "requests of a service that wait on a core; beyond: 503",
        )),
        row(
            "paths",
            "normalize",
            "`normalize`, `strict`, `raw`",
            "what becomes of [ambiguous paths](#paths)",
        ),
        row(
            "reuse",
            "service",
            "`service`, `endpoint`",
            "whose requests a kept connection to an origin may carry: of the service that it was made for, or of \
             all services that say `endpoint` and have the same one, such as an ingress that many stand \
             behind. An answer that such an origin sends late, unasked, may meet another's request",
        ),
    ]
}

fn log() -> Vec<Row> {
    vec![
        row(
            "access_log.path",
            "stdout",
            "`stdout`, or a path",
            "where the access log goes, a JSON object a line",
        ),
        number(
            "access_log",
            &setting::SUCCESS_SAMPLE,
            "the share of fast successes that is written; failures and \
             slow requests always are",
        ),
        number("access_log", &setting::SLOW, "a request that took at least this long is slow"),
        row(
            "access_log.fields",
            "all",
            "`all`, or names as in `[url.path]`",
            "what a line says; [all names](metrics.md#access-log)",
        ),
        row(
            "process_log.level",
            "info",
            "`debug`, `info`, `warn`, `error`",
            "what the process log on stderr has: this and above",
        ),
    ]
}

fn table() -> String {
    let mut table =
        "| Field | Default | Values | Per service | Meaning |\n|---|---|---|---|---|\n".to_owned();
    for Row { field, default, values, per_service, meaning } in rows() {
        let default = match default.strip_prefix('(').and_then(|d| d.strip_suffix(')')) {
            Some(remark) => remark.to_owned(),
            None => format!("`{default}`"),
        };
        let per_service = if per_service { "yes" } else { "" };
        writeln!(table, "| `{field}` | {default} | {values} | {per_service} | {meaning} |").unwrap();
    }
    table
}

/// `UPDATE_REFERENCE=1 cargo test reference` writes the table into the page.
#[test]
fn the_page_shows_the_table() {
    let path = [env!("CARGO_MANIFEST_DIR"), PAGE].join("/");
    let page = std::fs::read_to_string(&path).unwrap();
    let (begin, end) = ("<!-- fields: made by src/config/reference.rs -->\n\n", "\n<!-- end of fields -->");
    let (before, rest) = page.split_once(begin).unwrap();
    let (shown, after) = rest.split_once(end).unwrap();
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        std::fs::write(&path, [before, begin, &table(), end, after].concat()).unwrap();
    } else {
        let told = format!("mend {PAGE} with: UPDATE_REFERENCE=1 cargo test reference");
        for (shown, made) in shown.lines().zip(table().lines()) {
            assert_eq!(shown, made, "{told}");
        }
        assert_eq!(shown.lines().count(), table().lines().count(), "{told}");
    }
}

/// A file with a field that no section knows in every section; each then lists the fields that it does know.
const NONSENSE_EVERYWHERE: &str = "
qqqqqqqqqqqq: 1
node: { qqqqqqqqqqqq: 1 }
listeners: [{ qqqqqqqqqqqq: 1 }]
admin: { qqqqqqqqqqqq: 1 }
resolver: { qqqqqqqqqqqq: 1 }
state: { qqqqqqqqqqqq: 1, feed: { kind: inline, qqqqqqqqqqqq: 1 } }
services: [{ qqqqqqqqqqqq: 1, timeouts: { qqqqqqqqqqqq: 1 }, retry: { qqqqqqqqqqqq: 1 }, limits: { qqqqqqqqqqqq: 1 } }]
timeouts: { qqqqqqqqqqqq: 1 }
retry: { qqqqqqqqqqqq: 1 }
limits: { qqqqqqqqqqqq: 1 }
access_log: { qqqqqqqqqqqq: 1 }
process_log: { qqqqqqqqqqqq: 1 }
";

/// Full paths of the fields that the reader asks for, sections themselves left out.
fn known_to_the_reader() -> BTreeSet<String> {
    // Some fields belong to one kind of feed only.
    let with_file = NONSENSE_EVERYWHERE.replace("kind: inline", "kind: file");
    let mistakes = [NONSENSE_EVERYWHERE, &with_file].map(|text| parse("", text.as_bytes(), "").unwrap_err());
    let mut fields = BTreeSet::new();
    for mistake in mistakes.iter().flat_map(|mistakes| mistakes.iter()) {
        let Some((path, names)) =
            mistake.text.split_once("unknown field \"qqqqqqqqqqqq\"; the fields here are ")
        else {
            continue;
        };
        let prefix = path.replace("[0]", "[]").replace(": ", ".");
        fields.extend(names.split(", ").map(|name| format!("{prefix}{name}")));
    }
    let is_section = |f: &String| {
        fields.iter().any(|g| g.starts_with(&format!("{f}.")) || g.starts_with(&format!("{f}[]")))
    };
    fields.iter().filter(|f| !is_section(f)).cloned().collect()
}

#[test]
fn the_table_has_every_field_and_no_other() {
    let mut told = BTreeSet::new();
    for row in rows() {
        if row.per_service {
            told.insert(format!("services[].{}", row.field));
        }
        told.insert(row.field);
    }
    // Sections, told by their own fields.
    told.remove("services[].timeouts");
    told.remove("services[].limits");
    assert_eq!(told, known_to_the_reader());
}

#[test]
fn the_defaults_are_those_of_the_table() {
    let listeners = "listeners: [{ address: \"127.0.0.1:8080\", protocol: http }]\nservices: []\n";
    let mut written = listeners.to_owned();
    let mut open = String::new();
    for Row { field, default, .. } in rows().iter().filter(|r| !r.default.starts_with('(')) {
        match field.rsplit_once('.') {
            None => writeln!(written, "{field}: {default}").unwrap(),
            Some(("state.feed", name)) => writeln!(written, "  feed: {{ {name}: {default} }}").unwrap(),
            Some((section, name)) => {
                if section != open {
                    writeln!(written, "{section}:").unwrap();
                    section.clone_into(&mut open);
                }
                writeln!(written, "  {name}: {default}").unwrap();
            }
        }
    }
    let of = |text: &str| {
        let config = parse("edge.yaml", text.as_bytes(), "host").unwrap();
        super::Config { written: super::Written::default(), places: super::Places::default(), ..config }
    };
    assert_eq!(of(&written), of(listeners));
}

/// What `ringway explain` shows of a service is what a service may override.
#[test]
fn what_holds_for_a_service_is_what_the_table_says_it_may_override() {
    let held: BTreeSet<String> =
        super::ServiceSettings::default().held().into_iter().map(|held| held.name).collect();
    let own = |row: &Row| row.field.strip_prefix("services[].").map(str::to_owned);
    let told: BTreeSet<String> = rows()
        .iter()
        .filter_map(|row| if row.per_service { Some(row.field.clone()) } else { own(row) })
        .filter(|field| !["id", "hostnames", "endpoints", "timeouts", "limits"].contains(&field.as_str()))
        .collect();
    assert_eq!(held, told);
}
