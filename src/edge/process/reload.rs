//! The configuration read again: what of it can take effect, what needs a restart, and what it is to the cores. A file that
//! is wrong anywhere changes nothing.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ringway_state::id::HostName;
use ringway_state::snapshot::Snapshot;
use ringway_state::{Table, View};

use super::files;
use super::fronts::{self, Opened};
use super::role::{RunError, descriptors_per_core, figures, log_path};
use crate::config::{self, Config, Feed, ListenAddress, Mistakes};
use crate::edge::settings::Settings;
use crate::feed::{self, InlineError, Names};
use crate::limits;
use crate::observe::TableFigures;
use crate::observe::access::{LogTarget, LogWriter};
use crate::runtime::UnixListener;

/// What the reload before took away, a core may be about to close.
const OWN: Duration = Duration::from_millis(limits::OWN_LISTENER_MS);
const FIRST: Duration = Duration::from_millis(limits::NAMES_FIRST_MS);
/// Sections that say how the process is built.
const RESTART: [&str; 5] = ["node", "cores", "idle", "admin", "state"];

/// What runs, and where the next comes from.
pub(super) struct Running {
    pub(super) path: PathBuf,
    pub(super) config: Config,
    /// The snapshot below the file's services.
    pub(super) base: Option<Arc<Snapshot>>,
    /// Of endpoints.
    pub(super) names: Names,
    /// Listening Unix sockets, whose files go with them.
    pub(super) unix: Vec<UnixListener>,
}

/// Why a file was not taken over.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refused {
    #[error(transparent)]
    Wrong(#[from] Mistakes),
    #[error(transparent)]
    Cannot(#[from] RunError),
}

/// A file that is right as far as it tells.
pub(super) struct Read {
    config: Config,
    differences: Differences,
}

/// A configuration that can take effect: everything that can fail has been done.
pub(super) struct Prepared {
    /// What will run: as written, but for what needs a restart.
    pub(super) config: Config,
    pub(super) settings: Settings,
    /// The route table made of it, if it is; none if the feed's thread has it.
    pub(super) table: Option<(View, TableFigures)>,
    /// Host names that it takes from their service.
    pub(super) cut: Option<Arc<[HostName]>>,
    pub(super) open_max: usize,
    pub(super) opened: Opened,
    /// Where the access log goes, if that changes.
    pub(super) log: Option<LogTarget>,
    pub(super) differences: Differences,
}

/// A line for each change, as in `timeouts.idle: 75s -> 60s`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Differences {
    pub(super) changed: Vec<String>,
    pub(super) restart: Vec<String>,
}

impl Running {
    /// Reads the file again, and asks for the names of its endpoints: `tried` is called, on another thread or this one, when
    /// to [`prepare`](Self::prepare).
    ///
    /// # Errors
    /// As [`Refused`]; nothing has changed.
    pub(super) fn read(&mut self, tried: impl FnOnce() + Send + 'static) -> Result<Read, Refused> {
        let (config, differences) = merge(&self.config, config::load_again(&self.path)?);
        if let Some(error) = files::twice(&config).into_iter().next() {
            return Err(error.placed(&config.places).into());
        }
        // Those of what runs, too: it may have to go on, and is published meanwhile.
        let asked = self.names.want(&[&self.config, &config], FIRST, tried);
        asked.map_err(no_thread)?;
        Ok(Read { config, differences })
    }

    /// Opens what a file that was read asks for, for so many cores.
    ///
    /// # Errors
    /// As [`Refused`]; nothing has changed.
    pub(super) fn prepare(&mut self, read: Read, cores: usize) -> Result<Prepared, Refused> {
        let places = read.config.places.clone();
        self.open(read, cores).map_err(|error| error.placed(&places).into())
    }

    fn open(&mut self, read: Read, cores: usize) -> Result<Prepared, RunError> {
        let Read { config, mut differences } = read;
        let (open, lost) = self.listening();
        let wanted =
            |lost: &&ListenAddress| config.listeners.iter().any(|listener| listener.address == **lost);
        differences.changed.extend(lost.iter().filter(wanted).map(bound_again));
        let known = self.names.known();
        let table = match config.state.feed {
            Feed::Inline => Some(feed::table(&config, self.base.clone(), &known)?),
            Feed::File(_) => None,
        };
        let log = (config.access_log.path != self.config.access_log.path)
            .then(|| LogWriter::open(log_path(&config)))
            .transpose()?;
        fronts::ensure_free(&config, &open, OWN)?;
        let open_max = descriptors_per_core(&config, cores)?;
        let opened = fronts::open(&config, &open, cores)?;
        // Takes effect at once, so nothing that can fail may follow.
        fronts::set_modes(&config, &self.unix)?;
        let lost = table.as_ref().map(|table| feed::lost(&self.config, &config, &table.publish()));
        Ok(Prepared {
            settings: Settings::from(&config),
            cut: lost.filter(|lost| !lost.is_empty()).map(Arc::from),
            table: table.map(|table| (table.publish(), figures(&table))),
            open_max,
            opened,
            log,
            differences,
            config,
        })
    }

    /// The addresses that clients come in at, and those where none does any more: the socket's file is not there.
    fn listening(&self) -> (Vec<ListenAddress>, Vec<ListenAddress>) {
        let lost = |address: &ListenAddress| {
            self.unix.iter().any(|unix| is_at(unix, address) && !unix.is_in_place())
        };
        let addresses = self.config.listeners.iter().map(|listener| listener.address.clone());
        addresses.partition(|address| !lost(address))
    }

    /// Puts a configuration in place of the one before, and what was opened for it. A Unix socket's file goes before its
    /// listener closes: who finds none tries elsewhere, or again.
    pub(super) fn take_over(&mut self, config: Config, new: Vec<UnixListener>) {
        let is_replaced = |unix: &UnixListener| new.iter().any(|new| new.path() == unix.path());
        self.unix
            .retain(|unix| config.listeners.iter().any(|l| is_at(unix, &l.address)) && !is_replaced(unix));
        self.unix.extend(new);
        self.config = config;
        self.keep_names();
    }

    /// The route table as of now.
    ///
    /// # Errors
    /// It does not fit its bounds; the one before stays.
    pub(super) fn table(&self) -> Result<Table, InlineError> {
        feed::table(&self.config, self.base.clone(), &self.names.known())
    }

    /// The names of what runs are wanted, and not those of what was before, or was prepared and is not to be.
    pub(super) fn keep_names(&mut self) {
        // The thread is there, or nothing was wanted of it.
        let _ = self.names.want(&[&self.config], Duration::ZERO, || ());
    }

    /// Asks for the names of what is to run, and waits a moment for the first answers.
    pub(super) fn first_names(&mut self) -> Result<(), RunError> {
        self.names.first(&self.config, FIRST).map(drop).map_err(no_thread)
    }
}

fn is_at(unix: &UnixListener, address: &ListenAddress) -> bool {
    matches!(address, ListenAddress::Unix(path) if path == unix.path())
}

fn bound_again(lost: &ListenAddress) -> String {
    format!("listeners[{lost}]: the socket's file was gone, or another's; bound again")
}

fn no_thread(error: io::Error) -> RunError {
    RunError::System { what: "the names' thread", error }
}

/// The new configuration with those sections of the running one that need a restart, and what that changes.
fn merge(running: &Config, new: Config) -> (Config, Differences) {
    let same = [
        running.node == new.node,
        running.cores == new.cores,
        running.idle == new.idle,
        running.admin == new.admin,
        running.state == new.state,
    ];
    let new = with_services_of(running, new);
    // A section may be written otherwise and mean the same.
    let other: Vec<&str> =
        RESTART.into_iter().zip(same).filter(|(_, same)| !same).map(|(name, _)| name).collect();
    let (mut restart, _) = running.written.changes(&new.written, &other);
    let (_, changed) = running.written.changes(&new.written, &RESTART);
    if restart.is_empty() && !other.is_empty() {
        // Not the file says so but the machine, as with the host's name.
        restart = other.iter().map(|name| format!("{name}: not as at the start")).collect();
    }
    let config = Config {
        written: new.written.keeping(&RESTART, &running.written),
        node: running.node.clone(),
        cores: running.cores.clone(),
        idle: running.idle,
        admin: running.admin,
        state: running.state.clone(),
        ..new
    };
    (config, Differences { changed, restart })
}

/// The services belong to the feed, which takes a restart: with another one they stay as they are.
fn with_services_of(running: &Config, new: Config) -> Config {
    if running.state.feed == new.state.feed {
        return new;
    }
    let services = ["services"];
    Config {
        services: running.services.clone(),
        written: new.written.keeping(&services, &running.written),
        ..new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(rest: &str) -> Config {
        let listener = "listeners: [{ address: \"127.0.0.1:8080\", protocol: http }]\n";
        config::parse("f", [listener, rest].concat().as_bytes(), "host").unwrap()
    }

    #[test]
    fn what_needs_a_restart_stays_as_it_is_and_is_told_again() {
        let running = config("idle: park\ncores: [0]\ntimeouts: { idle: 75s }");
        let file = "idle: spin\ncores: [1]\nadmin: { address: \"127.0.0.1:1\" }\ntimeouts: { idle: 60s }";
        let (merged, told) = merge(&running, config(file));
        assert_eq!((merged.idle, &merged.cores, merged.admin), (running.idle, &running.cores, running.admin));
        assert_eq!(merged.timeouts.idle, Duration::from_secs(60));
        assert_eq!(told.changed, ["timeouts.idle: 75s -> 60s"]);
        let restart = ["admin.address: (default) -> 127.0.0.1:1", "cores: - 0, + 1", "idle: park -> spin"];
        assert_eq!(told.restart, restart);
        // The same file once more changes nothing, and still needs a restart.
        let (again, told) = merge(&merged, config(file));
        assert_eq!((told.changed, told.restart), (vec![], restart.map(str::to_owned).to_vec()));
        assert_eq!(again.idle, running.idle);
        // Back again, nothing is left to tell.
        let (_, told) = merge(&merged, config("idle: park\ncores: [0]\ntimeouts: { idle: 60s }"));
        assert_eq!(told, Differences::default());
    }

    #[test]
    fn the_services_stay_with_their_feed() {
        let inline = config("services: [{ id: svc_a, hostnames: [a.b], endpoints: [\"10.0.0.1:1\"] }]");
        let file = config("state: { feed: { kind: file, path: c } }\ntimeouts: { idle: 60s }");
        let (merged, told) = merge(&inline, file.clone());
        assert_eq!((&merged.services, &merged.state), (&inline.services, &inline.state));
        assert_eq!(told.changed, ["timeouts.idle: (default) -> 60s"]);
        assert_eq!(told.restart, ["state.feed.kind: (default) -> file", "state.feed.path: (default) -> c"]);
        let (merged, told) = merge(&file, inline);
        assert_eq!((merged.services.len(), &merged.state), (0, &file.state));
        assert_eq!(told.restart, ["state.feed.kind: file -> (default)", "state.feed.path: c -> (default)"]);
    }

    #[test]
    fn another_way_to_write_the_same_changes_nothing() {
        let (running, new) = (config("node: { region: local }"), config("idle: adaptive\nstate: {}"));
        assert_eq!(merge(&running, new).1, Differences::default());
    }

    #[test]
    fn a_host_that_was_renamed_is_told() {
        let new =
            config::parse("f", b"listeners: [{ address: \"127.0.0.1:8080\", protocol: http }]\n", "other")
                .unwrap();
        let (merged, told) = merge(&config(""), new);
        assert_eq!(told.restart, ["node: not as at the start"]);
        assert_eq!(merged.node.id.as_str(), "host");
    }
}
