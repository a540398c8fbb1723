//! What is stored: keys, versions, and the values of each kind (design section 4, "A change on the log").

mod document;
mod kind;

use std::{fmt, net::SocketAddr};

pub use self::{
    document::{Document, DocumentKey},
    kind::{Kind, Subject},
};
use crate::{
    id::{HostName, OwnerId, PolicyId, Reason, Region, ServiceId},
    limits::ENDPOINTS_PER_SET_MAX,
};

/// Orders the values of one key: the writer's lease epoch, then its counter; compared lexicographically
///
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Version {
    pub epoch: u64,
    pub counter: u64,
}

impl Version {
    pub const fn new(epoch: u64, counter: u64) -> Self {
        Self { epoch, counter }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{},{}]", self.epoch, self.counter)
    }
}

/// What one sequence of versions is about; shown as the subject that keys the log.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// `host:NAME`: a domain mapping or a tombstone, one sequence.
    Host(HostName),
    /// `svc:ID`
    Service(ServiceId),
    /// `eps:SERVICE/REGION`
    Endpoints(ServiceId, Region),
    /// All others, for example `policy:ID`.
    Document(DocumentKey),
}

impl Key {
    /// What it is looked up by: a host name, a service's id, or a document's name.
    pub(crate) fn name(&self) -> &str {
        match self {
            Key::Host(name) => name.as_str(),
            Key::Service(id) | Key::Endpoints(id, _) => id.as_str(),
            Key::Document(key) => key.name(),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Key::Host(name) => write!(f, "host:{name}"),
            Key::Service(id) => write!(f, "svc:{id}"),
            Key::Endpoints(id, region) => write!(f, "eps:{id}/{region}"),
            Key::Document(key) => write!(f, "{key}"),
        }
    }
}

/// The whole new value of one key. Removal is a value too: a grave that keeps its version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub version: Version,
    pub record: Record,
}

/// A key with its value; each variant fixes which values its key can have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    Host(HostName, Option<HostValue>),
    Service(ServiceId, Option<Service>),
    Endpoints(ServiceId, Region, Option<EndpointSet>),
    Document(DocumentKey, Option<Document>),
}

impl Record {
    pub fn key(&self) -> Key {
        match self {
            Record::Host(name, _) => Key::Host(name.clone()),
            Record::Service(id, _) => Key::Service(id.clone()),
            Record::Endpoints(id, region, _) => Key::Endpoints(id.clone(), region.clone()),
            Record::Document(key, _) => Key::Document(key.clone()),
        }
    }

    /// What it is looked up by: a host name, a service's id, or a document's name.
    pub(crate) fn name(&self) -> &str {
        match self {
            Record::Host(name, _) => name.as_str(),
            Record::Service(id, _) | Record::Endpoints(id, _, _) => id.as_str(),
            Record::Document(key, _) => key.name(),
        }
    }

    /// Whether this is a value of `key`.
    pub(crate) fn is_about(&self, key: &Key) -> bool {
        match (self, key) {
            (Record::Host(name, _), Key::Host(wanted)) => name == wanted,
            (Record::Service(id, _), Key::Service(wanted)) => id == wanted,
            (Record::Endpoints(id, region, _), Key::Endpoints(wanted, at)) => id == wanted && region == at,
            (Record::Document(key, _), Key::Document(wanted)) => key == wanted,
            _ => false,
        }
    }

    /// Whether this removes its key.
    pub fn is_grave(&self) -> bool {
        match self {
            Record::Host(_, value) => value.is_none(),
            Record::Service(_, value) => value.is_none(),
            Record::Endpoints(_, _, value) => value.is_none(),
            Record::Document(_, value) => value.is_none(),
        }
    }

    /// A removed host name or certificate, which two kinds could have removed, counts as of the first: they share a
    /// key, and so a writer.
    pub fn kind(&self) -> Kind {
        match self {
            Record::Host(_, Some(HostValue::Tombstone { .. })) => Kind::Tombstone,
            Record::Host(_, Some(HostValue::Mapped { .. }) | None) => Kind::DomainMap,
            Record::Service(..) => Kind::Service,
            Record::Endpoints(..) => Kind::EndpointSet,
            Record::Document(key, value) => value.as_ref().map_or(key.subject().kind(), Document::kind),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostValue {
    /// kind `domain_map`
    Mapped { service: ServiceId, class: Class },
    /// kind `tombstone`: answers 404 until a newer mapping (S6).
    Tombstone { reason: Reason },
}

/// Who gave the host name its zone. Decides whether its owner may be served stale (S6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Under the platform's own domain; never changes owner.
    Platform,
    /// The tenant's own domain.
    Custom,
}

/// kind `service`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    pub owner: OwnerId,
    pub home_region: Region,
    /// Share of traffic per region, ascending by name; at most 64.
    pub regions: Vec<(Region, u16)>,
    pub policy: Option<PolicyId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    pub address: SocketAddr,
    pub state: EndpointState,
}

/// In the order of a lifetime.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EndpointState {
    Starting,
    Healthy,
    /// No new requests; those in flight finish.
    Draining,
    Dead,
}

/// kind `endpoint_set`: where a service listens in one region. Ascending by address, IPv4 first, each address
/// once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndpointSet(Box<[Endpoint]>);

/// Why endpoints make no set. The sender's fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SetError {
    #[error("names {0} twice; name each address and port once")]
    Twice(SocketAddr),
    #[error("has {0} endpoints; a set has at most {ENDPOINTS_PER_SET_MAX}")]
    TooMany(usize),
}

impl EndpointSet {
    /// Sorts. An IPv6 scope or flow label is dropped: it means nothing on another machine.
    pub fn new(endpoints: impl IntoIterator<Item = Endpoint>) -> Result<Self, SetError> {
        let mut endpoints: Vec<Endpoint> = endpoints.into_iter().map(Endpoint::plain).collect();
        if endpoints.len() > ENDPOINTS_PER_SET_MAX {
            return Err(SetError::TooMany(endpoints.len()));
        }
        endpoints.sort_unstable_by_key(|endpoint| endpoint.address);
        match endpoints.windows(2).find(|pair| pair[0].address == pair[1].address) {
            Some(pair) => Err(SetError::Twice(pair[0].address)),
            None => Ok(Self(endpoints.into())),
        }
    }

    pub fn as_slice(&self) -> &[Endpoint] {
        &self.0
    }
}

impl Endpoint {
    fn plain(self) -> Self {
        Self { address: SocketAddr::new(self.address.ip(), self.address.port()), ..self }
    }
}
