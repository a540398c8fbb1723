//! What the configuration says of requests.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use crate::config::{AccessLog, Config, Endpoint, Limits, ServiceSettings, Timeouts, is_stand_in};

/// The same on all cores, each of which has its own copy. Replaced as a whole when the configuration is read again.
#[derive(Clone, Debug)]
pub struct Settings {
    pub timeouts: Timeouts,
    pub limits: Limits,
    pub access_log: AccessLog,
    /// Of services that have nothing of their own.
    of_services: ServiceSettings,
    /// Of all others.
    overrides: HashMap<String, ServiceSettings>,
    /// Unix sockets by the addresses that stand for them.
    sockets: HashMap<SocketAddr, PathBuf>,
}

impl From<&Config> for Settings {
    fn from(config: &Config) -> Settings {
        let of_services = config.of_services();
        let own = config.services.iter().filter(|service| service.settings != of_services);
        Settings {
            timeouts: config.timeouts,
            limits: config.limits,
            access_log: config.access_log.clone(),
            of_services,
            sockets: sockets(config),
            overrides: own.map(|service| (service.id.as_str().to_owned(), service.settings)).collect(),
        }
    }
}

fn sockets(config: &Config) -> HashMap<SocketAddr, PathBuf> {
    let endpoints = config.services.iter().flat_map(|service| &service.endpoints);
    let socket = |endpoint: &Endpoint| match endpoint {
        Endpoint::Socket(path) => endpoint.address().map(|address| (address, path.clone())),
        Endpoint::Address(_) | Endpoint::Name { .. } => None,
    };
    endpoints.filter_map(socket).collect()
}

impl Settings {
    /// The Unix socket that an address stands for.
    pub(super) fn socket(&self, address: SocketAddr) -> Option<&Path> {
        if !is_stand_in(address) {
            return None;
        }
        self.sockets.get(&address).map(PathBuf::as_path)
    }

    /// Of services that have nothing of their own.
    pub(super) fn of_services(&self) -> &ServiceSettings {
        &self.of_services
    }

    pub(super) fn of_service(&self, service: &str) -> ServiceSettings {
        let own = match self.overrides.is_empty() {
            true => None,
            false => self.overrides.get(service),
        };
        *own.unwrap_or(&self.of_services)
    }
}
