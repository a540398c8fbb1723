//! The origin's side of a request: an endpoint, a connection to it, and the exchange over it.

mod connect;
mod endpoint;
mod exchange;
mod kept_body;
mod link;
mod pool;
mod response;
mod service;
mod trial;
mod turn;
mod upload;

pub(super) use connect::{probe, share};
pub(super) use exchange::{Exchange, run};
pub(super) use kept_body::KeptBody;
pub(super) use pool::{InUse, Pool};
pub(super) use service::Service;
pub(super) use turn::most_in_flight;
