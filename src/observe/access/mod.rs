//! The access log: one JSON line per request, formatted by the core, written by a thread of its own.
//!
//! A core formats a record into its [`LogSink`], a ring of octets; if the record does not fit, it is dropped whole
//! and counted. The [`LogWriter`] drains all rings. So a slow disk or a reader that went away costs log records
//! and never a request.

mod field;
mod line;
mod sink;
mod writer;

pub use field::{Field, Fields};
pub use sink::{LogSink, ring};
pub use writer::{LogError, LogReopener, LogStats, LogTarget, LogWriter};

pub use super::drain::LogSource;
use super::reason::Reason;
use super::times::Times;
use crate::proto::trace::RequestId;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// What the log says of one request. Octets may be anything a client can send.
#[derive(Debug, Clone, Copy)]
pub struct AccessRecord<'a> {
    /// When the request's first octet arrived, in milliseconds since 1970.
    pub time_unix_ms: u64,
    pub request_id: &'a RequestId,
    pub trace_id: &'a str,
    pub span_id: &'a str,
    /// None if it came in over a Unix socket.
    pub client: Option<IpAddr>,
    pub method: &'a [u8],
    pub host: &'a [u8],
    /// Without the query, which may hold secrets.
    pub path: &'a [u8],
    pub status: u16,
    /// Empty if no service was found.
    pub service: &'a str,
    /// Whom the last attempt went to.
    pub endpoint: Option<SocketAddr>,
    /// The path of the Unix socket that `endpoint` stands for.
    pub socket: Option<&'a [u8]>,
    pub attempts: u8,
    /// Octets received from the client for this request, head included.
    pub octets_in: u64,
    /// Octets sent to the client for it, head included.
    pub octets_out: u64,
    pub times: Times,
    /// It took at least as long as `access_log.slow`.
    pub slow: bool,
    pub reason: Option<Reason>,
    pub core: u16,
}

/// Whether a request belongs in the log: every failure, every 5xx and everything slow, and of the rest the
/// share `sample` (0.0 to 1.0). The latter hangs on the trace id alone, so that a trace is logged by all or by none.
#[must_use]
pub fn should_log(
    status: u16,
    reason: Option<Reason>,
    duration: Duration,
    slow: Duration,
    sample: f64,
    trace_id: &str,
) -> bool {
    reason.is_some() || status >= 500 || duration >= slow || share_of(trace_id) < sample
}

/// A number in [0, 1) that looks random and is the same on every router. Hashed, since clients choose trace ids and
/// need not draw them evenly; eight octets at a time, since every request asks.
fn share_of(trace_id: &str) -> f64 {
    let (words, rest) = trace_id.as_bytes().as_chunks::<8>();
    let hash = words.iter().fold(0, |hash, word| mix(hash ^ u64::from_le_bytes(*word)));
    let hash = rest.iter().fold(hash, |hash, octet| mix(hash ^ u64::from(*octet)));
    (hash >> 11) as f64 / (1_u64 << 53) as f64
}

/// Spreads every bit over all: the halves of a 128-bit product, laid over one another. Both constants are digits of the
/// golden ratio: the first keeps zero from staying zero, the second is odd.
#[inline]
fn mix(value: u64) -> u64 {
    const FACTOR: u64 = 0xf39c_c060_5ced_c835;
    let value = value ^ 0x9e37_79b9_7f4a_7c15;
    let high = (u128::from(value) * u128::from(FACTOR)) >> 64;
    high as u64 ^ value.wrapping_mul(FACTOR)
}

#[cfg(test)]
pub(super) mod tests;
