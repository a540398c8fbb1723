//! What the configuration says of requests.

use std::collections::HashMap;

use crate::config::{AccessLog, Config, Limits, ServiceSettings, Timeouts};

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
            overrides: own.map(|service| (service.id.as_str().to_owned(), service.settings)).collect(),
        }
    }
}

impl Settings {
    /// Of services that have nothing of their own.
    pub(super) fn of_services(&self) -> &ServiceSettings {
        &self.of_services
    }

    pub(super) fn of_service(&self, service: &str) -> ServiceSettings {
        let own = match self.overrides.is_empty() {
            true => None,
            false => self.overrides.get(service),
        };
        own.copied().unwrap_or(self.of_services)
    }
}
