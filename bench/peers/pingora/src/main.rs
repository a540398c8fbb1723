//! A reverse proxy on pingora with the same duties as every peer of the comparison: host name → two
//! endpoints, added fields, keep-alive upstream, 5 % access log in JSON, metrics. One thread; pinned by
//! whoever starts it.
//!
//! `ringway-peer-pingora CONFIG.json`, where the configuration is [`Config`].

mod log;
mod metrics;
mod proxy;

use pingora::proxy::http_proxy_service;
use pingora::server::Server;
use pingora::server::configuration::ServerConf;
use pingora::services::listening::Service;
use serde::Deserialize;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// What the harness writes for this peer.
#[derive(Deserialize)]
struct Config {
    /// Data listener, `address:port`.
    listen: String,
    /// Prometheus listener, `address:port`.
    admin: String,
    /// File to which the access log is appended.
    access_log: String,
    /// Share of requests logged, 0–100.
    log_percent: u8,
    /// Endpoints of each group, `address:port`; a host name is served by one group.
    groups: Vec<Vec<std::net::SocketAddr>>,
    /// Host name → index into `groups`.
    hosts: std::collections::HashMap<String, usize>,
    /// Group for every other host name; none refuses them with 404.
    default_group: Option<usize>,
}

fn main() {
    let path = std::env::args().nth(1).expect("usage: ringway-peer-pingora CONFIG.json");
    let text = std::fs::read_to_string(&path).expect("the configuration file is readable");
    let config: Config =
        serde_json::from_str(&text).expect("the configuration is JSON of the documented shape");

    let conf = ServerConf {
        threads: 1,
        // One thread has nobody to steal from; pingora then runs a plain current-thread runtime, its
        // cheapest.
        work_stealing: false,
        // Larger than any number of connections that the comparison opens, so that none is dropped and
        // remade.
        upstream_keepalive_pool_size: 4096,
        ..ServerConf::default()
    };
    let mut server = Server::new_with_opt_and_conf(None, conf);
    server.bootstrap();

    let log = log::AccessLog::start(&config.access_log, config.log_percent);
    let routes = proxy::Routes::new(config.groups, config.hosts, config.default_group);
    let mut data = http_proxy_service(&server.configuration, proxy::Peer::new(routes, log));
    data.add_tcp(&config.listen);
    server.add_service(data);

    let mut metrics = Service::new("metrics".to_owned(), metrics::Metrics);
    metrics.add_tcp(&config.admin);
    server.add_service(metrics);
    server.run_forever();
}
