//! The inline feed: the services of the configuration file, applied once at start.

use std::collections::{BTreeSet, HashSet};
use std::net::SocketAddr;
use std::sync::Arc;

use ringway_state::id::{HostName, Region};
use ringway_state::limits::{ENDPOINTS_PER_SET_MAX, OVERLAY_KEYS_MAX, OVERLAY_OCTETS_MAX};
use ringway_state::record::{
    Change, Class, Endpoint, EndpointSet, EndpointState, HostValue, Record, Version,
};
use ringway_state::snapshot::{OpenError, Snapshot};
use ringway_state::{HostHit, Outcome, Table, View};

use super::names::Known;
use crate::causes::with_causes;
use crate::config::{self, Config, Service};

/// Why the table cannot be made. The input is wrong.
#[derive(Debug, thiserror::Error)]
pub enum InlineError {
    /// The base snapshot is unusable; `place` is where the file names it.
    #[error("{place}: {reason}")]
    Snapshot { place: String, reason: String },
    /// A service of the file does not fit the table's rules; `place` is where it stands.
    #[error("{place}: {reason}")]
    Service { place: String, reason: String },
}

/// The file's services come after anything that a snapshot holds, so that a file can be tried on a copy of real state.
const VERSION: Version = Version::new(u64::MAX, 1);

/// Whether a change with that version is of the file's services.
pub fn is_inline(version: Version) -> bool {
    version == VERSION
}

/// The snapshot that a configuration names.
///
/// # Errors
/// It is unusable.
pub fn base(config: &Config) -> Result<Option<Arc<Snapshot>>, InlineError> {
    let open = |file| Snapshot::open(file).map_err(|error| unusable(config, &error));
    Ok(config.state.snapshot.as_deref().map(open).transpose()?.map(Arc::new))
}

/// What is wrong with the snapshot that a configuration names, and how to mend it.
pub fn unusable(config: &Config, error: &OpenError) -> InlineError {
    let mend = match error {
        OpenError::Io { .. } => {
            "; name a file that this user may read, or make it with `ringway state build`"
        }
        _ => "",
    };
    InlineError::Snapshot { place: config.places.of("state.snapshot"), reason: with_causes(error) + mend }
}

/// The route table of a configuration: a snapshot, if there is one, with the file's services on top, and what is `known` of
/// the names of their endpoints. Made afresh when either changes, so that what has left them leaves nothing behind.
///
/// # Errors
/// As [`InlineError`]; the table is not used then.
pub fn table(config: &Config, base: Option<Arc<Snapshot>>, known: &Known) -> Result<Table, InlineError> {
    let region = &config.node.region;
    let mut table = match base {
        None => Table::new(region),
        Some(base) => Table::with_base(base, region),
    };
    for service in &config.services {
        let place = || config.places.of(&format!("services[{}]", service.id));
        add(&mut table, service, region, known)
            .map_err(|reason| InlineError::Service { place: place(), reason })?;
    }
    Ok(table)
}

/// The host names that a configuration had and the one after it has no more, and that lead elsewhere now, or nowhere: what is
/// open for them is to be cut, as with a tombstone. One that moves between services of the file is not among them: a reload
/// loses no request of a host name that stays.
pub fn lost(before: &Config, now: &Config, view: &View) -> Vec<HostName> {
    let stay: HashSet<&str> = hosts(now).map(|(host, _)| host).collect();
    let gone = hosts(before).filter(|(host, _)| !stay.contains(host));
    let gone = gone.filter_map(|(host, service)| Some((HostName::parse(host).ok()?, service)));
    gone.filter(|(host, service)| !leads_to(view, host, service)).map(|(host, _)| host).collect()
}

fn hosts(config: &Config) -> impl Iterator<Item = (&str, &str)> {
    config
        .services
        .iter()
        .flat_map(|service| service.hostnames.iter().map(|host| (host.as_str(), service.id.as_str())))
}

/// Whether a snapshot, or a wildcard, says the same.
fn leads_to(view: &View, host: &HostName, service: &str) -> bool {
    matches!(view.host(host.as_str().as_bytes()), Some(HostHit::Service(now)) if now.id() == service)
}

fn add(table: &mut Table, service: &Service, region: &Region, known: &Known) -> Result<(), String> {
    let id = &service.id;
    // An address may be given and be a name's too.
    let addresses: BTreeSet<SocketAddr> =
        service.endpoints.iter().flat_map(|it| addresses(it, known)).collect();
    let endpoints = addresses.into_iter().take(ENDPOINTS_PER_SET_MAX);
    let endpoints = endpoints.map(|address| Endpoint { address, state: EndpointState::Healthy });
    let set = EndpointSet::new(endpoints).map_err(|e| e.to_string())?;
    apply(table, Record::Endpoints(id.clone(), region.clone(), Some(set)))?;
    for host in &service.hostnames {
        let value = HostValue::Mapped { service: id.clone(), class: Class::Custom };
        apply(table, Record::Host(host.clone(), Some(value)))?;
    }
    Ok(())
}

fn addresses(endpoint: &config::Endpoint, known: &Known) -> Vec<SocketAddr> {
    match endpoint {
        config::Endpoint::Name { host, port } => {
            known.get(host).into_iter().flatten().map(|ip| SocketAddr::new(*ip, *port)).collect()
        }
        config::Endpoint::Address(_) | config::Endpoint::Socket(_) => {
            endpoint.address().into_iter().collect()
        }
    }
}

fn apply(table: &mut Table, record: Record) -> Result<(), String> {
    match table.apply(Change { version: VERSION, record }) {
        Outcome::Applied => Ok(()),
        Outcome::Refused(_) => Err(format!(
            "with it the file has more than {OVERLAY_KEYS_MAX} keys or {OVERLAY_OCTETS_MAX} octets, the most that a table \
             takes beside its snapshot; put services into a snapshot with `ringway state build`"
        )),
        other => Err(format!("{other:?}")),
    }
}
