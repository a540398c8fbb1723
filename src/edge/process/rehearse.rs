//! What a start would refuse, found out without one: all of it, where a start ends with the first. Nothing is opened but
//! for a moment, and nothing is made.

use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::Duration;

use super::role::{RunError, cpus, descriptors_per_core, log_path};
use super::{files, fronts};
use crate::config::{Config, Feed, ListenAddress};
use crate::feed::{self, Known, StateDir};
use crate::observe::access::{LogError, LogWriter};
use crate::observe::admin::AdminError;
use crate::runtime::{listener, machine};

/// Something that a start would end with.
#[derive(Debug)]
pub struct Refusal {
    /// What of the configuration leads to it; none of what no configuration mends.
    field: Option<String>,
    error: RunError,
}

impl Refusal {
    fn of(field: &str, error: impl Into<RunError>) -> Refusal {
        Refusal { field: Some(field.to_owned()), error: error.into() }
    }

    /// Whether it is the same on every machine.
    pub fn is_of_input(&self) -> bool {
        matches!(
            self.error,
            RunError::Feed(_)
                | RunError::OwnSocket { .. }
                | RunError::LogIsAnother { .. }
                | RunError::OwnFile { .. }
        )
    }

    /// Whether somebody has what the router wants, who may be a router on this configuration.
    pub fn is_taken(&self) -> bool {
        match &self.error {
            RunError::Listen { error, .. } | RunError::Admin(AdminError::Bind { source: error, .. }) => {
                error.kind() == ErrorKind::AddrInUse
            }
            RunError::Dir(feed::DirError::Taken { .. }) => true,
            _ => false,
        }
    }

    /// As a line: `FILE:LINE: what and how to mend it`, with `warning:` if another machine may not have it.
    pub fn line(&self, config: &Config) -> String {
        let text = self.error.to_string();
        if self.is_of_input() {
            let place = self.error.field().map(|field| format!("{}: ", config.places.of(&field)));
            return place.unwrap_or_default() + &text;
        }
        let Some(field) = &self.field else { return format!("{}{text}", config.places.warning("")) };
        let text = text.strip_prefix(&format!("{}: ", config.places.of(field))).unwrap_or(&text);
        format!("{}: {text}", config.places.warning(field))
    }
}

/// Everything that [`run`](super::run) would refuse, in the order in which it would. The snapshot is not looked at.
pub fn rehearse(config: &Config) -> Vec<Refusal> {
    let mut found = Vec::new();
    found.extend(machine::probe().err().map(|lacking| Refusal { field: None, error: lacking.into() }));
    match cpus(config) {
        Err(error) => found.push(Refusal::of("cores", error)),
        Ok(cpus) => found.extend(
            descriptors_per_core(config, cpus.len()).err().map(|error| Refusal { field: None, error }),
        ),
    }
    found.extend(files::twice(config).into_iter().map(|error| Refusal { field: None, error }));
    found.extend(admin(config).err().map(|error| Refusal::of("admin.address", error)));
    for listener in &config.listeners {
        let field = format!("listeners[{}].address", listener.address);
        found.extend(front(&listener.address).err().map(|error| Refusal::of(&field, error)));
    }
    if let Feed::File(feed) = &config.state.feed {
        // Whoever has the folder has read its table, and may be writing it.
        let table = || StateDir::look_at_table::<RunError>(config, feed, || Ok(None)).map(drop);
        let looked = StateDir::look(config).map_err(RunError::from).and_then(|()| table());
        found.extend(looked.err().map(|error| Refusal::of("state.dir", error)));
    } else if config.state.snapshot.is_none() {
        let table = feed::table(config, None, &Known::new());
        found.extend(table.err().map(|error| Refusal::of("services", error)));
    }
    found.extend(log(config).err().map(|error| Refusal::of("access_log.path", error)));
    found
}

fn admin(config: &Config) -> Result<(), AdminError> {
    let address = config.admin.address;
    listener::ensure_free(address, Duration::ZERO).map_err(|source| AdminError::Bind { address, source })
}

/// A Unix socket needs a place for its file, too.
fn front(address: &ListenAddress) -> Result<(), RunError> {
    fronts::free(address, Duration::ZERO)?;
    match address {
        ListenAddress::Ip(_) => Ok(()),
        ListenAddress::Unix(path) => can_make(path).map_err(|error| fronts::refused(address, error)),
    }
}

/// The access log's file is not made, and written to by nobody who only checks.
fn log(config: &Config) -> Result<(), LogError> {
    let Some(path) = log_path(config) else { return Ok(()) };
    match path.try_exists() {
        Ok(true) => LogWriter::open(Some(path)).map(drop),
        Ok(false) => can_make(path).map_err(|source| LogError::Open { path: path.to_owned(), source }),
        Err(source) => Err(LogError::Open { path: path.to_owned(), source }),
    }
}

/// Whether this user may make a file at `path`.
fn can_make(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.metadata()?.is_dir() {
        return Err(io::Error::from_raw_os_error(libc::ENOTDIR));
    }
    machine::can_make_files(folder)
}
