//! Wire formats, sans-io: octets in, verdicts and octets out. Nothing here knows a socket, a clock or a
//! thread.

pub mod date;
pub mod http1;
pub mod path;
pub mod problem;
pub mod trace;
