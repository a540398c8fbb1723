//! The origin's side of a request: an endpoint, a connection to it, and the exchange over it.

mod connect;
mod exchange;
mod pool;

pub(super) use exchange::{Exchange, run};
pub(super) use pool::{Lease, Pool};
