//! `GET /metrics` in Prometheus' text format.

use async_trait::async_trait;
use pingora::apps::http_app::ServeHttp;
use pingora::protocols::http::ServerSession;
use prometheus::{Encoder, TextEncoder};

pub struct Metrics;

#[async_trait]
impl ServeHttp for Metrics {
    async fn response(&self, _: &mut ServerSession) -> http::Response<Vec<u8>> {
        let mut text = Vec::new();
        // Encoding into memory fails only on a malformed metric, and ours are registered at start.
        let _ = TextEncoder::new().encode(&prometheus::gather(), &mut text);
        let length = text.len();
        let mut answer = http::Response::new(text);
        let fields = answer.headers_mut();
        fields
            .insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static("text/plain; version=0.0.4"));
        fields.insert(http::header::CONTENT_LENGTH, length.into());
        answer
    }
}
