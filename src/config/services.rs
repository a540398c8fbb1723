//! Services written into the file itself.
use std::collections::{HashMap, HashSet};

use ringway_state::limits::ENDPOINTS_PER_SET_MAX;

use super::check::{origin_timeouts, paths, reuse, upstream_limits};
use super::checked::{OriginTimeouts, RequestLimits, Service, ServiceSettings, UpstreamLimits};
use super::quantity::Setting;
use super::reader::{Field, Section};
use super::{HostName, ListenAddress, ServiceId, endpoint::Endpoint, name, retry, setting};

/// Where ids and host names were first written; each may be given once.
#[derive(Default)]
struct Taken {
    ids: HashMap<ServiceId, usize>,
    hostnames: HashMap<HostName, usize>,
}

pub(super) fn services(
    top: &mut Section<'_>,
    inherited: &ServiceSettings,
    own: &[ListenAddress],
    has_snapshot: bool,
) -> Vec<Service> {
    let field = top.field("services");
    let Some(field) = field else {
        if !has_snapshot {
            top.warning("there are no services, so every request gets 404; add some under services");
        }
        return Vec::new();
    };
    let Some(items) = field.items() else { return Vec::new() };
    if items.is_empty() {
        field.warning("is empty, so every request gets 404; add a service");
    }
    let mut taken = Taken::default();
    items.iter().filter_map(|item| service(item, inherited, own, &mut taken)).collect()
}

/// With another feed than the inline one there are none in the file.
pub(super) fn none(top: &mut Section<'_>) -> Vec<Service> {
    if let Some(field) = top.field("services")
        && field.items().is_some_and(|items| !items.is_empty())
    {
        field.mistake(
            "belong to the inline feed, and the feed is a file; remove them here and add them to it as changes, or say \
             state.feed: { kind: inline }",
        );
    }
    Vec::new()
}

fn service(
    item: &Field<'_>,
    inherited: &ServiceSettings,
    own: &[ListenAddress],
    taken: &mut Taken,
) -> Option<Service> {
    let mut section = item.section()?;
    let id = section.required("id", "svc_hello").and_then(|f| id(&f, taken));
    let hostnames = section.required("hostnames", "[hello.localhost]").map(|f| hostnames(&f, taken));
    let endpoints = section.required("endpoints", "[\"127.0.0.1:9000\"]").map(|f| endpoints(&f, own));
    let (limits, upstream) = limits(&mut section, inherited);
    let settings = ServiceSettings {
        timeouts: timeouts(&mut section, &inherited.timeouts),
        limits,
        upstream,
        retry: retry::retry(&mut section, inherited.retry),
        paths: section.parse_or("paths", paths, inherited.paths),
        reuse: section.parse_or("reuse", reuse, inherited.reuse),
    };
    section.end();
    Some(Service { id: id?, hostnames: hostnames?, endpoints: endpoints?, settings })
}

fn timeouts(service: &mut Section<'_>, inherited: &OriginTimeouts) -> OriginTimeouts {
    let Some(mut section) = service.section("timeouts") else { return *inherited };
    let timeouts = origin_timeouts(&mut section, inherited);
    let routers_own = [setting::REQUEST_HEAD.name, setting::IDLE.name, setting::DRAIN.name];
    section.end_except(&routers_own, "no service can override it, set it in the router's timeouts");
    timeouts
}

fn limits(service: &mut Section<'_>, inherited: &ServiceSettings) -> (RequestLimits, UpstreamLimits) {
    let ServiceSettings { limits: inherited, upstream, .. } = inherited;
    let Some(mut section) = service.section("limits") else { return (*inherited, *upstream) };
    let mut narrowed = |setting: &Setting<usize>, routers: usize| {
        section.parse_or(setting.name, |text| setting.parse_within(routers, text), routers)
    };
    let limits = RequestLimits {
        head_bytes: narrowed(&setting::REQUEST_HEAD_BYTES, inherited.head_bytes),
        head_fields: narrowed(&setting::HEAD_FIELDS, inherited.head_fields),
        target_bytes: narrowed(&setting::TARGET_BYTES, inherited.target_bytes),
        body_bytes: section.setting_or(&setting::REQUEST_BODY_BYTES, inherited.body_bytes),
        client_bytes_per_second: section
            .setting_or(&setting::CLIENT_BYTES_PER_SECOND, inherited.client_bytes_per_second),
        origin_bytes_per_second: section
            .setting_or(&setting::ORIGIN_BYTES_PER_SECOND, inherited.origin_bytes_per_second),
    };
    let upstream = upstream_limits(&mut section, upstream);
    let routers_own = [setting::RESPONSE_HEAD_BYTES.name, setting::CONNECTIONS_PER_CORE.name];
    section.end_except(&routers_own, "no service can override it, set it in the router's limits");
    (limits, upstream)
}

fn id(field: &Field<'_>, taken: &mut Taken) -> Option<ServiceId> {
    let id = field.parse(name::service_id)?;
    if let Some(first) = taken.ids.get(&id) {
        field.mistake(&format!("{id} is the id of another service (line {first}); give each its own"));
        return None;
    }
    taken.ids.insert(id.clone(), field.line);
    Some(id)
}

fn hostnames(field: &Field<'_>, taken: &mut Taken) -> Vec<HostName> {
    let mut hostnames = Vec::new();
    for item in list(field, "list at least one host name") {
        let Some(name) = item.parse(name::host_name) else { continue };
        if let Some(first) = taken.hostnames.get(&name) {
            item.mistake(&format!(
                "{name} is given already (line {first}); a host name has one service, remove one"
            ));
            continue;
        }
        taken.hostnames.insert(name.clone(), item.line);
        hostnames.push(name);
    }
    hostnames
}

fn endpoints(field: &Field<'_>, own: &[ListenAddress]) -> Vec<Endpoint> {
    let mut endpoints = Vec::new();
    let mut seen = HashSet::new();
    for item in list(field, "list at least one, as in \"127.0.0.1:9000\"") {
        let Some(endpoint) = item.parse(Endpoint::parse) else { continue };
        if !seen.insert(endpoint.clone()) {
            item.mistake(&format!("{endpoint} is in this list already; remove one"));
        } else if own.iter().any(|address| address.receives(&endpoint)) {
            item.mistake(&format!("{endpoint} is this router's own listener; give the origin's address"));
        } else {
            endpoints.push(endpoint);
        }
    }
    if endpoints.len() > ENDPOINTS_PER_SET_MAX {
        let (n, most) = (endpoints.len(), ENDPOINTS_PER_SET_MAX);
        field.mistake(&format!(
            "has {n} endpoints; a service has at most {most}, put a balancer before the rest"
        ));
    }
    endpoints
}

fn list<'a>(field: &Field<'a>, mend: &str) -> Vec<Field<'a>> {
    let Some(items) = field.items() else { return Vec::new() };
    if items.is_empty() {
        field.mistake(&format!("is empty; {mend}"));
    }
    items
}
