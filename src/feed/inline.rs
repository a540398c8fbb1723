//! The inline feed: the services of the configuration file, applied once at start.

use ringway_state::id::{HostName, Region, ServiceId};
use ringway_state::record::{
    Change, Class, Endpoint, EndpointSet, EndpointState, HostValue, Record, Version,
};
use ringway_state::snapshot::Snapshot;
use ringway_state::{Outcome, Table};

use crate::causes::with_causes;
use crate::config::{Config, Service};

/// Why the table cannot be made. The input is wrong.
#[derive(Debug, thiserror::Error)]
pub enum InlineError {
    /// The base snapshot is unusable; the reason names the place and the mending.
    #[error("state.snapshot: {0}")]
    Snapshot(String),
    /// A service of the file does not fit the table's rules.
    #[error("service {service}: {reason}")]
    Service { service: String, reason: String },
}

/// The file's services come after anything that a snapshot holds, so that a file can be tried on a copy of real state.
const VERSION: Version = Version::new(u64::MAX, 1);

/// The route table of a configuration: its snapshot, if it names one, with its services on top.
///
/// # Errors
/// As [`InlineError`]; the table is not used then.
pub fn table(config: &Config) -> Result<Table, InlineError> {
    let region = Region::parse(config.node.region.as_str()).map_err(|e| refused("node.region", e))?;
    let mut table = match &config.state.snapshot {
        None => Table::new(&region),
        Some(file) => {
            let base = Snapshot::open(file).map_err(|e| InlineError::Snapshot(with_causes(&e)))?;
            Table::with_base(base.into(), &region)
        }
    };
    for service in &config.services {
        add(&mut table, service, &region)?;
    }
    Ok(table)
}

fn add(table: &mut Table, service: &Service, region: &Region) -> Result<(), InlineError> {
    let name = service.id.as_str();
    let id = ServiceId::parse(name).map_err(|e| refused(name, e))?;
    let endpoints =
        service.endpoints.iter().map(|address| Endpoint { address: *address, state: EndpointState::Healthy });
    let set = EndpointSet::new(endpoints).map_err(|e| refused(name, e))?;
    apply(table, name, Record::Endpoints(id.clone(), region.clone(), Some(set)))?;
    for host in &service.hostnames {
        let host = HostName::parse(host.as_str()).map_err(|e| refused(name, e))?;
        let value = HostValue::Mapped { service: id.clone(), class: Class::Custom };
        apply(table, name, Record::Host(host, Some(value)))?;
    }
    Ok(())
}

fn apply(table: &mut Table, service: &str, record: Record) -> Result<(), InlineError> {
    match table.apply(Change { version: VERSION, record }) {
        Outcome::Applied => Ok(()),
        other => Err(refused(service, format!("{other:?}"))),
    }
}

fn refused(service: &str, reason: impl ToString) -> InlineError {
    InlineError::Service { service: service.to_owned(), reason: reason.to_string() }
}
