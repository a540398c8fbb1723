//! ringway: edge router and API gateway. Modules in the order in which a request meets them.
pub mod limits;
pub mod runtime;
