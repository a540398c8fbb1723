//! The configuration file: read, checked whole, and handed on as [`Config`].
//!
//! A file passes through three forms: bytes, a tree of text with line numbers (`tree`), and the checked
//! values (`checked`), made section by section (`check`, `listeners`, `services`) through a reader that notes
//! each mistake and reads on. So a file that is wrong in five places is told so in five lines.
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

pub use address::is_nobodys;
pub use checked::{
    AccessLog, Admin, Config, Cores, Feed, Idle, Limits, Listener, LogPath, Node, OriginTimeouts, Paths,
    Protocol, RequestLimits, Resolver, Reuse, Service, ServiceSettings, State, Timeouts, UpstreamLimits,
};
pub use cidr::Cidr;
pub use endpoint::{Endpoint, is_stand_in};
pub use listen::{ListenAddress, Peers, receives};
pub use name::{HostName, Label, Region, ServiceId};
pub use places::Places;
pub use report::{Mistake, Mistakes};
pub use written::Written;

use crate::limits::CONFIG_BYTES_MAX;

mod address;
mod check;
mod checked;
mod cidr;
mod endpoint;
mod listen;
mod listeners;
mod name;
mod places;
mod reader;
mod report;
mod retry;
mod services;
mod setting;
mod socket;
mod suggest;
mod tree;
mod written;

#[cfg(test)]
mod reference;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod wrong_files;

/// Reads and checks the file at `path`. A node without an id gets the host's name.
///
/// # Errors
/// Every mistake in the file, or the one reason why it can't be read.
pub fn load(path: &Path) -> Result<Config, Mistakes> {
    let file = path.display().to_string();
    let bytes = read(path).map_err(|e| {
        Mistakes::of_file(&file, format!("cannot be read: {e}; give a readable file with --config"))
    })?;
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    parse(&file, &bytes, host.trim())
}

/// At most one byte more than is allowed, which is enough to know that it is too much.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(CONFIG_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Checks the content of a file. `file` is its name in messages, `host` the default of `node.id`.
///
/// # Errors
/// Every mistake in it.
pub fn parse(file: &str, bytes: &[u8], host: &str) -> Result<Config, Mistakes> {
    let report = report::Report::new(file);
    let config = tree::read(bytes, &report).and_then(|root| check::config(&root, &report, host));
    let warnings = report.finish()?;
    // Without a tree there is a mistake, so this stands for a defect of ours; it must not look like success.
    let config = config.ok_or_else(|| Mistakes::of_file(file, "cannot be understood".to_owned()))?;
    Ok(Config { warnings, ..config })
}
