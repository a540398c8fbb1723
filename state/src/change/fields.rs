//! From JSON members to a change, kind by kind.

use std::net::{IpAddr, SocketAddr};

use super::{ChangeError, Line, Meaning};
use crate::{
    id::{HostName, NameError, OwnerId, PolicyId, Reason, Region, ServiceId},
    json::Json,
    limits::{ENDPOINTS_PER_SET_MAX, REGIONS_PER_SERVICE_MAX},
    record::{
        Change, Class, Document, DocumentKey, Endpoint, EndpointSet, EndpointState, HostValue, Kind, Record,
        Service, Subject, Version,
    },
};

pub(super) fn line(members: Vec<(String, Json)>) -> Result<Line, ChangeError> {
    let mut fields = Fields { place: String::new(), members, unknown: 0 };
    let seq = match fields.take("seq") {
        None => None,
        Some(Json::Unsigned(seq)) => Some(seq),
        Some(other) => return Err(fields.wrong_type("seq", &other, "an integer from 0")),
    };
    let kind = fields.text("kind", "the kind of the change")?;
    let Some(kind) = Kind::parse(&kind) else {
        return Ok(Line { meaning: Meaning::UnknownKind(kind), seq, unknown_fields: 0 });
    };
    if let Some(subject) = kind.subject() {
        return document(fields, kind, subject, seq);
    }
    let record = match kind {
        Kind::Service => service(&mut fields)?,
        Kind::EndpointSet => endpoint_set(&mut fields)?,
        Kind::Tombstone => tombstone(&mut fields)?,
        _ => domain_map(&mut fields)?,
    };
    let version = version(&mut fields)?;
    let unknown_fields = fields.left_over();
    Ok(Line { meaning: Meaning::Change(Change { version, record }), seq, unknown_fields })
}

/// All members but those that every change has are its value.
fn document(mut fields: Fields, kind: Kind, subject: Subject, seq: Option<u64>) -> Result<Line, ChangeError> {
    let parse = |text: &str| DocumentKey::parse(subject, text);
    let key = fields.name(subject.member(), "the name of what it is about", parse)?;
    let version = version(&mut fields)?;
    let value = if fields.removed(&[])? {
        None
    } else {
        let document = Document::of_members(kind, fields.members);
        Some(document.ok_or(ChangeError::Document)?)
    };
    let record = Record::Document(key, value);
    Ok(Line { meaning: Meaning::Change(Change { version, record }), seq, unknown_fields: 0 })
}

fn service(fields: &mut Fields) -> Result<Record, ChangeError> {
    let id = fields.name("service", "a service id", ServiceId::parse)?;
    if fields.removed(&["owner", "home_region", "regions", "policy"])? {
        return Ok(Record::Service(id, None));
    }
    let policy = match fields.take("policy") {
        None | Some(Json::Null) => None,
        Some(Json::Text(text)) => Some(fields.checked("policy", PolicyId::parse(&text))?),
        Some(other) => return Err(fields.wrong_type("policy", &other, "a policy id or null")),
    };
    let service = Service {
        owner: fields.name("owner", "an owner id", OwnerId::parse)?,
        home_region: fields.name("home_region", "a region", Region::parse)?,
        regions: regions(fields)?,
        policy,
    };
    Ok(Record::Service(id, Some(service)))
}

fn regions(fields: &mut Fields) -> Result<Vec<(Region, u16)>, ChangeError> {
    const EXPECTED: &str = "an object from regions to weights";
    let members = match fields.required("regions", EXPECTED)? {
        Json::Object(members) => members,
        other => return Err(fields.wrong_type("regions", &other, EXPECTED)),
    };
    if members.len() > REGIONS_PER_SERVICE_MAX {
        return Err(fields.too_many("regions", members.len(), REGIONS_PER_SERVICE_MAX));
    }
    let mut regions = Vec::with_capacity(members.len());
    for (name, weight) in members {
        let field = format!("regions.{name}");
        let region = fields.checked(&field, Region::parse(&name))?;
        regions.push((region, fields.small("a weight from 0 to 65535", &field, &weight)?));
    }
    regions.sort_unstable();
    Ok(regions)
}

fn endpoint_set(fields: &mut Fields) -> Result<Record, ChangeError> {
    let id = fields.name("service", "a service id", ServiceId::parse)?;
    let region = fields.name("region", "a region", Region::parse)?;
    if fields.removed(&["endpoints"])? {
        return Ok(Record::Endpoints(id, region, None));
    }
    const EXPECTED: &str = "an array of endpoints";
    let items = match fields.required("endpoints", EXPECTED)? {
        Json::Array(items) => items,
        other => return Err(fields.wrong_type("endpoints", &other, EXPECTED)),
    };
    if items.len() > ENDPOINTS_PER_SET_MAX {
        return Err(fields.too_many("endpoints", items.len(), ENDPOINTS_PER_SET_MAX));
    }
    let mut endpoints = Vec::with_capacity(items.len());
    for (index, item) in items.into_iter().enumerate() {
        endpoints.push(endpoint(fields, index, item)?);
    }
    let set = EndpointSet::new(endpoints).map_err(ChangeError::Set)?;
    Ok(Record::Endpoints(id, region, Some(set)))
}

fn endpoint(outer: &mut Fields, index: usize, item: Json) -> Result<Endpoint, ChangeError> {
    let place = format!("endpoints[{index}]");
    let Json::Object(members) = item else {
        return Err(outer.wrong_type(&place, &item, "an object with ip, port and state"));
    };
    let mut fields = Fields { place: place + ".", members, unknown: 0 };
    let text = fields.text("ip", "an IPv4 or IPv6 address")?;
    let ip: IpAddr = text.parse().map_err(|_| fields.wrong_value("ip", text, "an IPv4 or IPv6 address"))?;
    const PORT: &str = "a port from 1 to 65535";
    let port = fields.required("port", PORT)?;
    let port = match fields.small(PORT, &fields.named("port"), &port)? {
        0 => return Err(fields.wrong_value("port", "0".to_owned(), PORT)),
        port => port,
    };
    const STATE: &str = "starting, healthy, draining or dead";
    let state = match fields.text("state", STATE)?.as_str() {
        "starting" => EndpointState::Starting,
        "healthy" => EndpointState::Healthy,
        "draining" => EndpointState::Draining,
        "dead" => EndpointState::Dead,
        other => return Err(fields.wrong_value("state", other.to_owned(), STATE)),
    };
    outer.unknown += fields.left_over();
    Ok(Endpoint { address: SocketAddr::new(ip, port), state })
}

fn domain_map(fields: &mut Fields) -> Result<Record, ChangeError> {
    let host = fields.name("hostname", "a host name", HostName::parse_pattern)?;
    if fields.removed(&["service", "class"])? {
        return Ok(Record::Host(host, None));
    }
    let service = fields.name("service", "a service id", ServiceId::parse)?;
    const CLASS: &str = "platform or custom";
    let class = match fields.text("class", CLASS)?.as_str() {
        "platform" => Class::Platform,
        "custom" => Class::Custom,
        other => return Err(fields.wrong_value("class", other.to_owned(), CLASS)),
    };
    Ok(Record::Host(host, Some(HostValue::Mapped { service, class })))
}

fn tombstone(fields: &mut Fields) -> Result<Record, ChangeError> {
    let host = fields.name("hostname", "a host name", HostName::parse_pattern)?;
    if fields.removed(&["reason"])? {
        return Ok(Record::Host(host, None));
    }
    let reason = fields.name("reason", "a reason, for example transfer", Reason::parse)?;
    Ok(Record::Host(host, Some(HostValue::Tombstone { reason })))
}

fn version(fields: &mut Fields) -> Result<Version, ChangeError> {
    const EXPECTED: &str = "[epoch, counter], or a counter alone";
    match fields.required("version", EXPECTED)? {
        Json::Unsigned(counter) => Ok(Version::new(0, counter)),
        Json::Array(parts) => match parts.as_slice() {
            [Json::Unsigned(epoch), Json::Unsigned(counter)] => Ok(Version::new(*epoch, *counter)),
            [Json::Unsigned(_), part] => Err(fields.wrong_type("version[1]", part, "an integer from 0")),
            [part, _] => Err(fields.wrong_type("version[0]", part, "an integer from 0")),
            _ => Err(fields.wrong_type("version", &Json::Array(parts), EXPECTED)),
        },
        other => Err(fields.wrong_type("version", &other, EXPECTED)),
    }
}

/// The members of one object, taken out as they are read; what is left at the end is unknown.
struct Fields {
    /// Before each field's name in messages.
    place: String,
    members: Vec<(String, Json)>,
    unknown: usize,
}

impl Fields {
    fn take(&mut self, field: &str) -> Option<Json> {
        let at = self.members.iter().position(|(name, _)| name == field)?;
        Some(self.members.swap_remove(at).1)
    }

    fn left_over(&self) -> usize {
        self.unknown + self.members.len()
    }

    fn required(&mut self, field: &str, expected: &'static str) -> Result<Json, ChangeError> {
        self.take(field).ok_or_else(|| ChangeError::Missing { field: self.named(field), expected })
    }

    fn text(&mut self, field: &str, expected: &'static str) -> Result<String, ChangeError> {
        match self.required(field, expected)? {
            Json::Text(text) => Ok(text),
            other => Err(self.wrong_type(field, &other, expected)),
        }
    }

    fn name<T>(
        &mut self,
        field: &str,
        expected: &'static str,
        parse: impl Fn(&str) -> Result<T, NameError>,
    ) -> Result<T, ChangeError> {
        let text = self.text(field, expected)?;
        self.checked(field, parse(&text))
    }

    fn checked<T>(&self, field: &str, name: Result<T, NameError>) -> Result<T, ChangeError> {
        name.map_err(|reason| ChangeError::Name { field: self.named(field), reason })
    }

    fn small(&self, expected: &'static str, field: &str, value: &Json) -> Result<u16, ChangeError> {
        match value {
            Json::Unsigned(number) => u16::try_from(*number).map_err(|_| ChangeError::Value {
                field: field.to_owned(),
                found: number.to_string(),
                expected,
            }),
            other => Err(ChangeError::Type { field: field.to_owned(), found: other.describe(), expected }),
        }
    }

    /// Whether this removes its key. Then `value` fields may stand there, and mean nothing.
    fn removed(&mut self, value: &[&str]) -> Result<bool, ChangeError> {
        match self.take("removed") {
            None | Some(Json::Bool(false)) => Ok(false),
            Some(Json::Bool(true)) => {
                self.members.retain(|(name, _)| !value.contains(&name.as_str()));
                Ok(true)
            }
            Some(other) => Err(self.wrong_type("removed", &other, "true or false")),
        }
    }

    fn named(&self, field: &str) -> String {
        format!("{}{field}", self.place)
    }

    fn wrong_type(&self, field: &str, found: &Json, expected: &'static str) -> ChangeError {
        ChangeError::Type { field: self.named(field), found: found.describe(), expected }
    }

    fn wrong_value(&self, field: &str, found: String, expected: &'static str) -> ChangeError {
        ChangeError::Value { field: self.named(field), found, expected }
    }

    fn too_many(&self, field: &str, found: usize, max: usize) -> ChangeError {
        ChangeError::TooMany { field: self.named(field), found, max }
    }
}
