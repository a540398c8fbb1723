//! The configuration file: read, checked whole, and handed on as [`Config`].
pub use checked::{
    AccessLog, Admin, Config, Cores, Feed, Idle, Limits, Listener, LogPath, Node, OriginTimeouts, Protocol,
    Service, State, Timeouts,
};
pub use cidr::Cidr;
pub use name::{HostName, Label, ServiceId};

mod checked;
mod cidr;
mod name;
