//! What only the configuration knows: where it says so, and the names behind addresses.

use super::told::{Endpoint, Explanation, Layer, SetBy, Stored, Verdict};
use crate::config::{self, Config, Feed};
use crate::feed::Known;

/// Adds lines of the file, and the names of endpoints with their addresses as far as they are `known`.
pub fn annotate(told: &mut Explanation, config: &Config, known: &Known) {
    let Some(id) = told.service.as_ref().map(|service| service.id.clone()) else {
        told.host.iter_mut().for_each(|host| place(host, config, ""));
        return;
    };
    told.host.iter_mut().for_each(|host| place(host, config, &id));
    let set = told.service.iter_mut().filter_map(|service| service.set.as_mut());
    set.for_each(|set| place(set, config, &id));
    for setting in &mut told.settings {
        setting.place = match setting.from {
            SetBy::Default => None,
            SetBy::Router => config.places.find(&setting.name),
            SetBy::Service => config.places.find(&format!("services[{id}].{}", setting.name)),
        };
    }
    names(told, &id, config, known);
}

fn place(stored: &mut Stored, config: &Config, service: &str) {
    match (stored.layer, &config.state.feed) {
        (Layer::Services, _) => stored.place = config.places.find(&format!("services[{service}]")),
        (Layer::Overlay, Feed::File(path)) => stored.place = Some(path.display().to_string()),
        (Layer::Overlay, Feed::Inline) | (Layer::Level(_) | Layer::Base, _) => {}
    }
}

fn names(told: &mut Explanation, id: &str, config: &Config, known: &Known) {
    let Some(service) = config.services.iter().find(|service| service.id.as_str() == id) else { return };
    let mut unresolved = Vec::new();
    for written in &service.endpoints {
        let config::Endpoint::Name { host, port } = written else { continue };
        let addresses: Vec<String> = known
            .get(host)
            .into_iter()
            .flatten()
            .map(|ip| std::net::SocketAddr::new(*ip, *port).to_string())
            .collect();
        for endpoint in told.endpoints.iter_mut().filter(|endpoint| addresses.contains(&endpoint.address)) {
            endpoint.name = Some(written.to_string());
        }
        if addresses.is_empty() {
            unresolved.push(written.to_string());
        }
    }
    if let Verdict::Problem { reason, detail, .. } = &mut told.verdict
        && reason == crate::observe::Reason::NoHealthyEndpoints.as_str()
        && told.endpoints.is_empty()
        && !unresolved.is_empty()
    {
        *detail = Some(format!("DNS has told no address of {}", unresolved.join(", ")));
    }
    told.endpoints.extend(unresolved.into_iter().map(|name| Endpoint {
        address: name,
        name: None,
        state: "unresolved".to_owned(),
        candidate: false,
        why: Some("its name has no address: DNS has told none".to_owned()),
        cores: Vec::new(),
    }));
}
