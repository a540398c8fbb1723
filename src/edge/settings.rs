//! What the configuration says of requests.

use std::collections::HashMap;

use crate::config::{AccessLog, Config, Limits, OriginTimeouts, Timeouts};

/// The same on all cores, each of which has its own copy. Replaced as a whole when the configuration is read again.
#[derive(Clone, Debug)]
pub struct Settings {
    pub timeouts: Timeouts,
    pub limits: Limits,
    pub access_log: AccessLog,
    /// Of services that have timeouts of their own.
    overrides: HashMap<String, OriginTimeouts>,
}

impl From<&Config> for Settings {
    fn from(config: &Config) -> Settings {
        let own = config.services.iter().filter(|service| service.timeouts != config.timeouts.origin);
        Settings {
            timeouts: config.timeouts,
            limits: config.limits,
            access_log: config.access_log.clone(),
            overrides: own.map(|service| (service.id.as_str().to_owned(), service.timeouts)).collect(),
        }
    }
}

impl Settings {
    /// The timeouts towards a service's origins.
    pub(super) fn origin_timeouts(&self, service: &str) -> OriginTimeouts {
        let own = match self.overrides.is_empty() {
            true => None,
            false => self.overrides.get(service),
        };
        own.copied().unwrap_or(self.timeouts.origin)
    }
}
