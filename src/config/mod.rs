//! The configuration file: read, checked whole, and handed on as [`Config`].
//!
//! A file passes through three forms: bytes, a tree of text with line numbers (`tree`), and the checked
//! values (`checked`), made section by section (`check`, `listeners`, `services`) through a reader that notes
//! each mistake and reads on. So a file that is wrong in five places is told so in five lines.
use std::path::Path;

pub use crate::yaml::report::{Mistake, Mistakes};
pub use address::is_nobodys;
pub use checked::{
    AccessLog, Admin, Config, Cores, Feed, Idle, Limits, Listener, LogPath, Node, OriginTimeouts, Paths,
    Protocol, RequestLimits, Resolver, Reuse, Service, ServiceSettings, State, Timeouts, UpstreamLimits,
};
pub use cidr::Cidr;
pub use endpoint::{Endpoint, is_stand_in};
pub use held::Held;
pub use listen::{ListenAddress, Peers, receives};
pub use name::{HostName, Label, Region, ServiceId};
pub use places::Places;
pub use schema::schema;
pub use written::Written;

use crate::yaml::report::Form;
use crate::yaml::{self, quantity, reader, report, tree};

mod address;
mod check;
mod checked;
mod cidr;
mod endpoint;
mod held;
mod listen;
mod listeners;
mod name;
mod places;
mod retry;
mod schema;
mod services;
mod setting;
mod socket;
mod table;
mod values;
mod written;

#[cfg(test)]
mod reference;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod wrong_files;

const FORM: Form =
    Form { example: "docs/examples/quickstart.yaml", too_large: "move services to a snapshot" };

/// What [`load`] does, while the router runs: what would have to be waited for, a pipe, is refused.
///
/// # Errors
/// As [`load`].
pub fn load_again(path: &Path) -> Result<Config, Mistakes> {
    let is_waited_for = |file: std::fs::Metadata| !file.is_file() && !file.is_dir();
    if std::fs::metadata(path).is_ok_and(is_waited_for) {
        let why = "is a pipe or a device; put a regular file there, then read it again";
        return Err(Mistakes::of_file(&path.display().to_string(), why.to_owned()));
    }
    load(path)
}

/// Reads and checks the file at `path`. A node without an id gets the host's name.
///
/// # Errors
/// Every mistake in the file, or the one reason why it can't be read.
pub fn load(path: &Path) -> Result<Config, Mistakes> {
    let bytes = yaml::bytes_of(path, "--config")?;
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    parse(&path.display().to_string(), &bytes, host.trim())
}

/// Checks the content of a file. `file` is its name in messages, `host` the default of `node.id`.
///
/// # Errors
/// Every mistake in it.
pub fn parse(file: &str, bytes: &[u8], host: &str) -> Result<Config, Mistakes> {
    let (config, warnings) =
        yaml::parse(file, bytes, FORM, |root, report| check::config(root, report, host))?;
    Ok(Config { warnings, ..config })
}
