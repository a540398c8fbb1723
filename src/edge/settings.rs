//! What the configuration says of requests.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use crate::config::{
    AccessLog, Config, Endpoint, Limits, ListenAddress, Service, ServiceSettings, Timeouts, is_nobodys,
    is_stand_in, receives,
};

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
    /// Each service's Unix sockets, and the addresses that stand for them: another service's are none.
    sockets: HashMap<String, Vec<(SocketAddr, PathBuf)>>,
    /// Where this process itself listens.
    own: Vec<SocketAddr>,
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
            own: own_addresses(config),
            overrides: own.map(|service| (service.id.as_str().to_owned(), service.settings)).collect(),
        }
    }
}

/// How an endpoint is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way<'a> {
    Address(SocketAddr),
    Socket(&'a Path),
}

/// Why an endpoint may not be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoWay {
    #[error("this router's own address")]
    Own,
    #[error("no single host's address")]
    Nobodys,
    #[error("a Unix socket that this service does not have")]
    OthersSocket,
}

fn sockets(config: &Config) -> HashMap<String, Vec<(SocketAddr, PathBuf)>> {
    let socket = |endpoint: &Endpoint| match endpoint {
        Endpoint::Socket(path) => endpoint.address().map(|address| (address, path.clone())),
        Endpoint::Address(_) | Endpoint::Name { .. } => None,
    };
    let of = |service: &Service| {
        let sockets: Vec<_> = service.endpoints.iter().filter_map(socket).collect();
        (!sockets.is_empty()).then(|| (service.id.as_str().to_owned(), sockets))
    };
    config.services.iter().filter_map(of).collect()
}

fn own_addresses(config: &Config) -> Vec<SocketAddr> {
    let listeners = config.listeners.iter().filter_map(|listener| match listener.address {
        ListenAddress::Ip(address) => Some(address),
        ListenAddress::Unix(_) => None,
    });
    listeners.chain([config.admin.address]).collect()
}

impl Settings {
    /// How an endpoint of a service is reached. Wherever an endpoint comes from, file, snapshot or DNS, it passes here
    /// before a request does.
    ///
    /// # Errors
    /// It may not be: the address is this router's own (whose admin listener trusts who reaches it), no single host's, or
    /// stands for a Unix socket of another service.
    pub(super) fn way(&self, service: &str, address: SocketAddr) -> Result<Way<'_>, NoWay> {
        if is_stand_in(address) {
            return self.socket(service, address).map(Way::Socket).ok_or(NoWay::OthersSocket);
        }
        if self.own.iter().any(|own| receives(*own, address)) {
            return Err(NoWay::Own);
        }
        if is_nobodys(address.ip()) { Err(NoWay::Nobodys) } else { Ok(Way::Address(address)) }
    }

    /// The Unix socket of a service that an address stands for.
    pub(super) fn socket(&self, service: &str, address: SocketAddr) -> Option<&Path> {
        if !is_stand_in(address) {
            return None;
        }
        let (_, path) = self.sockets.get(service)?.iter().find(|(stand_in, _)| *stand_in == address)?;
        Some(path)
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

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a failed unwrap is a failed test
mod tests {
    use super::*;

    #[test]
    fn no_way_leads_to_the_router_to_nobody_or_to_anothers_socket() {
        let file = "listeners:\n  - { address: \"[::]:8080\", protocol: http }\n  - { address: \"192.0.2.1:80\", protocol: http }\n\
                    admin: { address: \"127.0.0.1:9180\" }\nservices:\n\
                    \x20 - { id: svc_a, hostnames: [a.test], endpoints: [\"unix:/run/a.sock\"] }\n\
                    \x20 - { id: svc_b, hostnames: [b.test], endpoints: [\"unix:/run/b.sock\", \"127.0.0.1:81\"] }\n";
        let config = crate::config::parse("f", file.as_bytes(), "host").unwrap();
        let settings = Settings::from(&config);
        let stand_in = |service: usize| config.services[service].endpoints[0].address().unwrap();
        assert_eq!(settings.way("svc_a", stand_in(0)), Ok(Way::Socket(Path::new("/run/a.sock"))));
        for (service, address) in [("svc_b", stand_in(0)), ("svc_a", stand_in(1)), ("svc_other", stand_in(0))]
        {
            assert_eq!(settings.way(service, address), Err(NoWay::OthersSocket), "{service} {address}");
        }
        for (refused, why) in [
            ("127.0.0.1:9180", NoWay::Own),
            ("[::ffff:127.0.0.1]:9180", NoWay::Own),
            ("127.0.0.1:8080", NoWay::Own),
            ("127.1.2.3:8080", NoWay::Own),
            ("[::1]:8080", NoWay::Own),
            ("192.0.2.1:80", NoWay::Own),
            ("0.0.0.0:81", NoWay::Nobodys),
            ("[::]:81", NoWay::Nobodys),
            ("[::ffff:0.0.0.0]:81", NoWay::Nobodys),
            ("255.255.255.255:81", NoWay::Nobodys),
            ("224.0.0.1:81", NoWay::Nobodys),
            ("[ff02::1]:81", NoWay::Nobodys),
            ("[100::1]:81", NoWay::OthersSocket),
        ] {
            assert_eq!(settings.way("svc_b", refused.parse().unwrap()), Err(why), "{refused}");
        }
        for fine in ["127.0.0.1:81", "127.0.0.2:9180", "192.0.2.2:80", "[2001:db8::1]:8080"] {
            let address = fine.parse().unwrap();
            assert_eq!(settings.way("svc_b", address), Ok(Way::Address(address)));
        }
    }
}
