//! ringway: edge router and API gateway. Modules in the order in which a request meets them.

pub mod config;
pub mod edge;
pub mod feed;
pub mod limits;
pub mod observe;
pub mod pick;
pub mod proto;
pub mod runtime;
