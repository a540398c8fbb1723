//! What holds for a service's requests, in the words of the file.
use super::checked::{OriginTimeouts, RequestLimits, ServiceSettings, UpstreamLimits};
use super::quantity::{Quantity, Setting};
use super::{retry, setting};

/// A setting and its value, each as one would write it: `timeouts.connect`, `3s`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    pub name: String,
    pub value: String,
}

impl ServiceSettings {
    /// Every setting that a service may override, in the order of the reference.
    pub fn held(&self) -> Vec<Held> {
        let Self { timeouts, limits, upstream, retry, paths, reuse } = self;
        let mut held = timeouts.held();
        held.push(plain("retry.on", retry::words(*retry)));
        held.extend(limits.held());
        held.extend(upstream.held());
        held.push(plain("paths", paths.as_str().to_owned()));
        held.push(plain("reuse", reuse.as_str().to_owned()));
        held
    }
}

impl OriginTimeouts {
    fn held(&self) -> Vec<Held> {
        let Self { connect, response_head, body_progress, upstream_idle, upstream_wait } = *self;
        vec![
            of("timeouts", &setting::CONNECT, connect),
            of("timeouts", &setting::RESPONSE_HEAD, response_head),
            of("timeouts", &setting::BODY_PROGRESS, body_progress),
            of("timeouts", &setting::UPSTREAM_IDLE, upstream_idle),
            of("timeouts", &setting::UPSTREAM_WAIT, upstream_wait),
        ]
    }
}

impl RequestLimits {
    fn held(&self) -> Vec<Held> {
        let Self {
            head_bytes,
            head_fields,
            target_bytes,
            body_bytes,
            client_bytes_per_second,
            origin_bytes_per_second,
        } = *self;
        vec![
            of("limits", &setting::REQUEST_HEAD_BYTES, head_bytes),
            of("limits", &setting::HEAD_FIELDS, head_fields),
            of("limits", &setting::TARGET_BYTES, target_bytes),
            of("limits", &setting::REQUEST_BODY_BYTES, body_bytes),
            of("limits", &setting::CLIENT_BYTES_PER_SECOND, client_bytes_per_second),
            of("limits", &setting::ORIGIN_BYTES_PER_SECOND, origin_bytes_per_second),
        ]
    }
}

impl UpstreamLimits {
    fn held(&self) -> Vec<Held> {
        let Self { idle_connections, connections, requests, waiting } = *self;
        vec![
            of("limits", &setting::UPSTREAM_IDLE_CONNECTIONS, idle_connections),
            of("limits", &setting::UPSTREAM_CONNECTIONS, connections),
            of("limits", &setting::UPSTREAM_REQUESTS, requests),
            of("limits", &setting::UPSTREAM_WAITING, waiting),
        ]
    }
}

fn of<T: Quantity>(section: &str, setting: &Setting<T>, value: T) -> Held {
    plain(&format!("{section}.{}", setting.name), value.show())
}

fn plain(name: &str, value: String) -> Held {
    Held { name: name.to_owned(), value }
}

#[cfg(test)]
mod tests {
    /// What is shown reads back as what it was.
    #[test]
    fn values_are_shown_as_they_are_written() {
        let file = "listeners: [{ address: \"127.0.0.1:8080\", protocol: http }]\nservices:\n\
                    - { id: svc_a, hostnames: [a.test], endpoints: [\"10.0.0.1:1\"], paths: raw, reuse: endpoint,\n\
                    \x20   retry: { on: [http_502, timeout] }, timeouts: { connect: 250ms, upstream_wait: 2m },\n\
                    \x20   limits: { head_fields: 50, upstream_requests: 7 } }\n";
        let config = crate::config::parse("f", file.as_bytes(), "host").unwrap();
        let shown: Vec<String> = config.services[0]
            .settings
            .held()
            .into_iter()
            .zip(config.of_services().held())
            .filter(|(own, routers)| own != routers)
            .map(|(own, _)| format!("{}: {}", own.name, own.value))
            .collect();
        assert_eq!(
            shown,
            [
                "timeouts.connect: 250ms",
                "timeouts.upstream_wait: 2m",
                "retry.on: [http_502, timeout]",
                "limits.head_fields: 50",
                "limits.upstream_requests: 7",
                "paths: raw",
                "reuse: endpoint",
            ]
        );
    }
}
