//! One change as octets: canonical, so that equal values have equal octets. Staged by the snapshot builder,
//! hashed by the digest, and the form of documents in a snapshot.
//!
//! `kind | key texts | version | value`, kind being one of the tags below; texts and numbers as in
//! [`crate::wire`].

use std::net::{IpAddr, SocketAddr};

use crate::{
    id::{HostName, OwnerId, PolicyId, Reason, Region, ServiceId},
    record::{
        Change, Class, Document, DocumentKey, Endpoint, EndpointSet, EndpointState, HostValue, Kind, Record,
        Service, Version,
    },
    wire::{Cursor, put_number, put_text, put_version},
};

const HOST_GRAVE: u8 = 0;
const HOST_PLATFORM: u8 = 1;
const HOST_CUSTOM: u8 = 2;
const HOST_TOMBSTONE: u8 = 3;
const SERVICE_GRAVE: u8 = 4;
const SERVICE: u8 = 5;
const ENDPOINTS_GRAVE: u8 = 6;
const ENDPOINTS: u8 = 7;
const DOCUMENT_GRAVE: u8 = 8;
const DOCUMENT: u8 = 9;

/// Octets of a packed IPv4 endpoint: state, address, port.
pub(crate) const ENDPOINT_V4_OCTETS: usize = 1 + 4 + 2;
/// Octets of a packed IPv6 endpoint.
pub(crate) const ENDPOINT_V6_OCTETS: usize = 1 + 16 + 2;

pub(crate) fn encode(change: &Change, out: &mut Vec<u8>) {
    match &change.record {
        Record::Host(name, value) => put_host(out, name, change.version, value.as_ref()),
        Record::Service(id, value) => {
            out.push(if value.is_some() { SERVICE } else { SERVICE_GRAVE });
            put_text(out, id.as_str());
            put_version(out, change.version);
            if let Some(service) = value {
                put_service(out, service);
            }
        }
        Record::Endpoints(id, region, value) => {
            out.push(if value.is_some() { ENDPOINTS } else { ENDPOINTS_GRAVE });
            put_text(out, id.as_str());
            put_text(out, region.as_str());
            put_version(out, change.version);
            if let Some(set) = value {
                put_endpoints(out, set.as_slice());
            }
        }
        Record::Document(key, value) => {
            out.push(if value.is_some() { DOCUMENT } else { DOCUMENT_GRAVE });
            put_text(out, key.name());
            out.push(change.record.kind() as u8);
            put_version(out, change.version);
            if let Some(document) = value {
                put_number(out, document.as_str().len() as u64);
                out.extend_from_slice(document.as_str().as_bytes());
            }
        }
    }
}

fn put_host(out: &mut Vec<u8>, name: &HostName, version: Version, value: Option<&HostValue>) {
    let (kind, text) = match value {
        None => (HOST_GRAVE, None),
        Some(HostValue::Mapped { service, class: Class::Platform }) => {
            (HOST_PLATFORM, Some(service.as_str()))
        }
        Some(HostValue::Mapped { service, class: Class::Custom }) => (HOST_CUSTOM, Some(service.as_str())),
        Some(HostValue::Tombstone { reason }) => (HOST_TOMBSTONE, Some(reason.as_str())),
    };
    out.push(kind);
    put_text(out, name.as_str());
    put_version(out, version);
    if let Some(text) = text {
        put_text(out, text);
    }
}

fn put_service(out: &mut Vec<u8>, service: &Service) {
    put_text(out, service.owner.as_str());
    put_text(out, service.home_region.as_str());
    put_text(out, service.policy.as_ref().map_or("", PolicyId::as_str));
    put_number(out, service.regions.len() as u64);
    for (region, weight) in &service.regions {
        put_text(out, region.as_str());
        put_number(out, u64::from(*weight));
    }
}

/// How many of each family, then all IPv4, then all IPv6: the order of a set.
pub(crate) fn put_endpoints(out: &mut Vec<u8>, endpoints: &[Endpoint]) {
    let v4 = endpoints.iter().filter(|endpoint| endpoint.address.is_ipv4()).count();
    put_number(out, v4 as u64);
    put_number(out, (endpoints.len() - v4) as u64);
    for endpoint in endpoints {
        out.push(endpoint.state as u8);
        match endpoint.address.ip() {
            IpAddr::V4(ip) => out.extend_from_slice(&ip.octets()),
            IpAddr::V6(ip) => out.extend_from_slice(&ip.octets()),
        }
        out.extend_from_slice(&endpoint.address.port().to_le_bytes());
    }
}

/// `None` only for octets that [`encode`] did not write.
pub(crate) fn decode(octets: &[u8]) -> Option<Change> {
    let mut from = Cursor::new(octets);
    let kind = from.octet()?;
    let name = from.text()?;
    let (version, record) = match kind {
        HOST_GRAVE..=HOST_TOMBSTONE => {
            let version = from.version()?;
            (version, Record::Host(HostName::trusted(name), host_value(kind, &mut from)?))
        }
        SERVICE | SERVICE_GRAVE => {
            let version = from.version()?;
            let value = if kind == SERVICE { Some(service(&mut from)?) } else { None };
            (version, Record::Service(ServiceId::trusted(name), value))
        }
        ENDPOINTS | ENDPOINTS_GRAVE => {
            let region = Region::trusted(from.text()?);
            let version = from.version()?;
            let value = if kind == ENDPOINTS { Some(endpoints(&mut from)?) } else { None };
            (version, Record::Endpoints(ServiceId::trusted(name), region, value))
        }
        DOCUMENT | DOCUMENT_GRAVE => {
            let stored = document(kind == DOCUMENT, &mut from)?;
            let key = DocumentKey::trusted(stored.kind.subject()?, name);
            let value = stored.text.map(|text| Document::trusted(stored.kind, text));
            (stored.version, Record::Document(key, value))
        }
        _ => return None,
    };
    Some(Change { version, record })
}

/// A document where it is stored.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StoredDocument<'a> {
    pub(crate) kind: Kind,
    pub(crate) version: Version,
    /// `None` of a grave.
    pub(crate) text: Option<&'a str>,
}

/// What [`decode`] makes a document of, and the name in its key.
pub(crate) fn decode_document(octets: &[u8]) -> Option<(&str, StoredDocument<'_>)> {
    let mut from = Cursor::new(octets);
    let is_live = match from.octet()? {
        DOCUMENT => true,
        DOCUMENT_GRAVE => false,
        _ => return None,
    };
    Some((from.text()?, document(is_live, &mut from)?))
}

fn document<'a>(is_live: bool, from: &mut Cursor<'a>) -> Option<StoredDocument<'a>> {
    let kind = *Kind::ALL.get(usize::from(from.octet()?))?;
    let version = from.version()?;
    let text = if is_live {
        let length = from.length()?;
        Some(std::str::from_utf8(from.octets(length)?).ok()?)
    } else {
        None
    };
    Some(StoredDocument { kind, version, text })
}

#[allow(clippy::option_option)] // the outer is "no sense", the inner a grave
fn host_value(kind: u8, from: &mut Cursor<'_>) -> Option<Option<HostValue>> {
    Some(match kind {
        HOST_GRAVE => None,
        HOST_TOMBSTONE => Some(HostValue::Tombstone { reason: Reason::trusted(from.text()?) }),
        _ => {
            let class = if kind == HOST_PLATFORM { Class::Platform } else { Class::Custom };
            Some(HostValue::Mapped { service: ServiceId::trusted(from.text()?), class })
        }
    })
}

fn service(from: &mut Cursor<'_>) -> Option<Service> {
    let owner = OwnerId::trusted(from.text()?);
    let home_region = Region::trusted(from.text()?);
    let policy = Some(from.text()?).filter(|text| !text.is_empty()).map(PolicyId::trusted);
    let mut regions = Vec::new();
    for _ in 0..from.length()? {
        let region = Region::trusted(from.text()?);
        regions.push((region, u16::try_from(from.number()?).ok()?));
    }
    Some(Service { owner, home_region, regions, policy })
}

fn endpoints(from: &mut Cursor<'_>) -> Option<EndpointSet> {
    let (v4, v6) = (from.length()?, from.length()?);
    let v4 = from.octets(v4.checked_mul(ENDPOINT_V4_OCTETS)?)?;
    let v6 = from.octets(v6.checked_mul(ENDPOINT_V6_OCTETS)?)?;
    let v4 = v4.chunks_exact(ENDPOINT_V4_OCTETS).map(endpoint_v4);
    let v6 = v6.chunks_exact(ENDPOINT_V6_OCTETS).map(endpoint_v6);
    EndpointSet::new(v4.chain(v6).collect::<Option<Vec<_>>>()?).ok()
}

/// One packed IPv4 endpoint; `None` unless of [`ENDPOINT_V4_OCTETS`] octets.
#[inline]
pub(crate) fn endpoint_v4(octets: &[u8]) -> Option<Endpoint> {
    let [state, a, b, c, d, port @ ..] = octets else { return None };
    endpoint(*state, IpAddr::from([*a, *b, *c, *d]), port)
}

/// One packed IPv6 endpoint; `None` unless of [`ENDPOINT_V6_OCTETS`] octets.
#[inline]
pub(crate) fn endpoint_v6(octets: &[u8]) -> Option<Endpoint> {
    let (&state, rest) = octets.split_first()?;
    let (ip, port) = rest.split_first_chunk::<16>()?;
    endpoint(state, IpAddr::from(*ip), port)
}

#[inline]
fn endpoint(state: u8, ip: IpAddr, port: &[u8]) -> Option<Endpoint> {
    let state = match state {
        0 => EndpointState::Starting,
        1 => EndpointState::Healthy,
        2 => EndpointState::Draining,
        3 => EndpointState::Dead,
        _ => return None,
    };
    let port = u16::from_le_bytes(port.try_into().ok()?);
    Some(Endpoint { address: SocketAddr::new(ip, port), state })
}
