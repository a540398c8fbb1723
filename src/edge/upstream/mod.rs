//! The origin's side of a request: an endpoint, a connection to it, and the exchange over it.

mod connect;
mod exchange;
mod kept;
mod pool;
mod trial;
mod upload;

pub(super) use exchange::{Exchange, run};
pub(super) use kept::Kept;
pub(super) use pool::{Lease, Pool};
