//! From a change back to its JSON line.

use std::io::Write;

use crate::record::{Change, Class, Document, Endpoint, EndpointState, HostValue, Record, Service, Version};

/// Appends the line of `change`, with its LF. [`super::parse`] reads it back to an equal change.
///
/// All texts in a change are ids and host names, whose octets need no escape in JSON, or JSON already.
pub fn render(change: &Change, seq: Option<u64>, out: &mut Vec<u8>) {
    out.push(b'{');
    if let Some(seq) = seq {
        put(out, format_args!(r#""seq":{seq},"#));
    }
    let kind = change.record.kind();
    match &change.record {
        Record::Service(id, value) => {
            put(out, format_args!(r#""kind":"{kind}","service":"{id}""#));
            put_version(out, change.version);
            put_value(out, value.as_ref(), put_service);
        }
        Record::Endpoints(id, region, value) => {
            put(out, format_args!(r#""kind":"{kind}","service":"{id}","region":"{region}""#));
            put_version(out, change.version);
            put_value(out, value.as_ref(), |out, set| put_endpoints(out, set.as_slice()));
        }
        Record::Host(name, value) => {
            put(out, format_args!(r#""kind":"{kind}","hostname":"{name}""#));
            put_version(out, change.version);
            put_value(out, value.as_ref(), put_host);
        }
        Record::Document(key, value) => {
            let member = key.subject().member();
            put(out, format_args!(r#""kind":"{kind}","{member}":"{}""#, key.name()));
            put_version(out, change.version);
            put_value(out, value.as_ref(), put_document);
        }
    }
    out.extend_from_slice(b"}\n");
}

fn put_value<T>(out: &mut Vec<u8>, value: Option<&T>, put_live: impl Fn(&mut Vec<u8>, &T)) {
    match value {
        Some(value) => put_live(out, value),
        None => out.extend_from_slice(br#","removed":true"#),
    }
}

fn put_version(out: &mut Vec<u8>, version: Version) {
    put(out, format_args!(r#","version":{version}"#));
}

fn put_service(out: &mut Vec<u8>, service: &Service) {
    put(
        out,
        format_args!(r#","owner":"{}","home_region":"{}","regions":{{"#, service.owner, service.home_region),
    );
    for (index, (region, weight)) in service.regions.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        put(out, format_args!(r#"{comma}"{region}":{weight}"#));
    }
    match &service.policy {
        Some(policy) => put(out, format_args!(r#"}},"policy":"{policy}""#)),
        None => put(out, format_args!(r#"}},"policy":null"#)),
    }
}

fn put_endpoints(out: &mut Vec<u8>, endpoints: &[Endpoint]) {
    out.extend_from_slice(br#","endpoints":["#);
    for (index, endpoint) in endpoints.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        let state = match endpoint.state {
            EndpointState::Starting => "starting",
            EndpointState::Healthy => "healthy",
            EndpointState::Draining => "draining",
            EndpointState::Dead => "dead",
        };
        let (ip, port) = (endpoint.address.ip(), endpoint.address.port());
        put(out, format_args!(r#"{comma}{{"ip":"{ip}","port":{port},"state":"{state}"}}"#));
    }
    out.push(b']');
}

fn put_host(out: &mut Vec<u8>, value: &HostValue) {
    match value {
        HostValue::Mapped { service, class } => {
            let class = match class {
                Class::Platform => "platform",
                Class::Custom => "custom",
            };
            put(out, format_args!(r#","service":"{service}","class":"{class}""#));
        }
        HostValue::Tombstone { reason } => put(out, format_args!(r#","reason":"{reason}""#)),
    }
}

/// The members of the object, without its braces.
fn put_document(out: &mut Vec<u8>, document: &Document) {
    let members =
        document.as_str().strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or_default();
    if !members.is_empty() {
        put(out, format_args!(",{members}"));
    }
}

fn put(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("writing to memory succeeds");
}
