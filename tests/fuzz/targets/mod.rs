//! One module for each parser of outside octets. `check` takes any octets and panics where a promise is broken.
//! The fuzzer calls it (`fuzz_targets/`), and so do the tests, with every input that is kept (`main.rs`).

mod common;

pub mod change;
pub mod chunked;
pub mod exchange;
pub mod path;
pub mod record;
pub mod request_head;
pub mod response_head;
mod second;
pub mod snapshot;
pub mod traceparent;

/// A target's name and its check.
pub type Target = (&'static str, fn(&[u8]));

pub const TARGETS: &[Target] = &[
    ("change", change::check),
    ("chunked", chunked::check),
    ("exchange", exchange::check),
    ("path", path::check),
    ("record", record::check),
    ("request_head", request_head::check),
    ("response_head", response_head::check),
    ("snapshot", snapshot::check),
    ("traceparent", traceparent::check),
];
