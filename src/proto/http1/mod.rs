//! HTTP/1.1 messages as a gateway meets them (RFC 9110, RFC 9112), in the order of a request's way:
//!
//! 1. [`RequestHead::parse`] reads a head, as its octets arrive, and settles its framing, or refuses it.
//! 2. [`write_request_head`] writes the head for the origin: same octets, less hop-by-hop fields, plus ours.
//! 3. [`BodyReader`] walks the octets behind a head until the body ends; [`write_chunk`] frames them anew.
//! 4. [`ResponseHead::parse`] and [`write_response_head`] do the same on the way back.
//!
//! A head keeps positions, not octets: hand its methods the slice that `parse` was given.

mod body;
mod chunked;
mod connection;
mod error;
mod field;
mod framing;
mod host;
mod keep_alive;
mod line;
mod mask;
mod request;
mod response;
mod scan;
mod target;
#[cfg(test)]
mod tests;
mod trailers;
mod write_request;
mod write_response;

pub use body::{BodyError, BodyReader, BodyStep};
pub use chunked::{ChunkHeader, LAST_CHUNK, write_chunk};
pub use error::HeadError;
pub use field::{Field, Fields, Known};
pub use framing::{Framing, Parsed, Version};
pub use keep_alive::{idle_time, keep_alive_timeout};
pub use request::{Method, RequestHead};
pub use response::ResponseHead;
pub use trailers::{Nominated, write_last_chunk};
pub use write_request::{RequestEdits, Scheme, write_request_head};
pub use write_response::{Delivery, ResponseEdits, write_response_head};
