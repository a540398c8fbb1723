//! The targets and what they look at. The codec is taken in by path: it needs nothing of the router, and builds in
//! seconds.

#[path = "../../../src/limits.rs"]
#[allow(dead_code, reason = "most bounds are the router's")]
pub mod limits;
#[path = "../../../src/proto/mod.rs"]
pub mod proto;

/// The second parser of the black-box cases.
#[path = "../../path/cases/message.rs"]
#[allow(dead_code, reason = "half of it is for responses")]
pub mod message;
#[path = "../../path/cases/script.rs"]
#[allow(dead_code, reason = "the parser needs one function")]
pub mod script;

#[path = "../targets/mod.rs"]
pub mod targets;
