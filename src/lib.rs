//! ringway: edge router and API gateway. Modules in the order in which a request meets them.

// In tests a failed unwrap is a failed test, and numbers are small.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::cast_possible_truncation))]

mod causes;
pub mod cli;
pub mod config;
pub mod ctl;
pub mod limits;
pub mod yaml;

pub mod runtime;

pub mod edge;
pub mod feed;

pub mod observe;
pub mod pick;
pub mod policy;
pub mod proto;
