//! The proxy itself: pingora's phases in the order in which it calls them.

use std::cell::Cell;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::LazyLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use http::HeaderValue;
use pingora::http::{RequestHeader, ResponseHeader};
use pingora::prelude::*;
use pingora::proxy::{ProxyHttp, Session};
use prometheus::{IntCounter, register_int_counter};

use crate::log::{AccessLog, Line};

static REQUESTS: LazyLock<IntCounter> =
    LazyLock::new(|| register_int_counter!("requests_total", "Requests answered").expect("registered once"));

/// Host name → endpoints.
pub struct Routes {
    groups: Vec<Vec<SocketAddr>>,
    hosts: HashMap<String, usize>,
    default_group: Option<usize>,
}

impl Routes {
    pub fn new(
        groups: Vec<Vec<SocketAddr>>,
        hosts: HashMap<String, usize>,
        default_group: Option<usize>,
    ) -> Self {
        Self { groups, hosts, default_group }
    }

    fn endpoints(&self, host: &str) -> Option<&[SocketAddr]> {
        let group = self.hosts.get(host).copied().or(self.default_group)?;
        self.groups.get(group).map(Vec::as_slice)
    }
}

/// What one request carries through the phases.
pub struct Context {
    started: Instant,
    request_id: String,
    upstream: Option<SocketAddr>,
}

pub struct Peer {
    routes: Routes,
    log: AccessLog,
}

impl Peer {
    pub fn new(routes: Routes, log: AccessLog) -> Self {
        Self { routes, log }
    }
}

thread_local! {
    static TURN: Cell<usize> = const { Cell::new(0) };
}

/// Round robin, as the other peers balance.
fn next(endpoints: &[SocketAddr]) -> Option<SocketAddr> {
    let turn = TURN.with(|turn| turn.replace(turn.get().wrapping_add(1)));
    endpoints.get(turn.checked_rem(endpoints.len())?).copied()
}

fn host_of(request: &RequestHeader) -> &str {
    request.headers.get(http::header::HOST).and_then(|value| value.to_str().ok()).unwrap_or("")
}

#[async_trait]
impl ProxyHttp for Peer {
    type CTX = Context;

    fn new_ctx(&self) -> Context {
        Context {
            started: Instant::now(),
            request_id: format!("{:032x}", fastrand::u128(..)),
            upstream: None,
        }
    }

    /// No modules: the default would add a disabled compressor to each request.
    fn init_downstream_modules(&self, _: &mut pingora::modules::http::HttpModules) {}

    async fn upstream_peer(&self, session: &mut Session, ctx: &mut Context) -> Result<Box<HttpPeer>> {
        let host = host_of(session.req_header());
        let endpoint = self
            .routes
            .endpoints(host)
            .and_then(next)
            .ok_or_else(|| Error::explain(ErrorType::HTTPStatus(404), "no such host"))?;
        ctx.upstream = Some(endpoint);
        Ok(Box::new(HttpPeer::new(endpoint, false, String::new())))
    }

    async fn upstream_request_filter(
        &self,
        session: &mut Session,
        request: &mut RequestHeader,
        ctx: &mut Context,
    ) -> Result<()> {
        let host = session.req_header().headers.get(http::header::HOST).cloned();
        if let Some(client) = session.client_addr().and_then(|address| address.as_inet()) {
            request.insert_header("X-Forwarded-For", client.ip().to_string())?;
        }
        if let Some(host) = host {
            request.insert_header("X-Forwarded-Host", host)?;
        }
        request.insert_header("X-Forwarded-Proto", HeaderValue::from_static("http"))?;
        request.insert_header("X-Request-Id", ctx.request_id.as_str())?;
        request.insert_header("traceparent", format!("00-{}-0000000000000001-01", ctx.request_id))?;
        request.insert_header("Via", HeaderValue::from_static("1.1 edge"))?;
        request.insert_header("X-Attempt", HeaderValue::from_static("1"))?;
        Ok(())
    }

    async fn logging(&self, session: &mut Session, _: Option<&Error>, ctx: &mut Context) {
        REQUESTS.inc();
        if !self.log.samples() {
            return;
        }
        let request = session.req_header();
        let ts = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
        self.log.write(&Line {
            ts,
            request_id: &ctx.request_id,
            client: session
                .client_addr()
                .and_then(|address| address.as_inet())
                .map(|inet| inet.ip().to_string())
                .unwrap_or_default(),
            host: host_of(request),
            method: request.method.as_str(),
            path: request.uri.path(),
            status: session
                .response_written()
                .map_or(0, |response: &ResponseHeader| response.status.as_u16()),
            bytes_out: session.body_bytes_sent(),
            duration_s: ctx.started.elapsed().as_secs_f64(),
            upstream: ctx.upstream,
            user_agent: request
                .headers
                .get(http::header::USER_AGENT)
                .and_then(|value| value.to_str().ok())
                .unwrap_or(""),
        });
    }
}
