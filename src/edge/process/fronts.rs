//! The router's listening sockets: found to be free, then opened once for each core.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use super::role::RunError;
use crate::config::{Config, ListenAddress, Listener};
use crate::edge::door::Trust;
use crate::observe::process_log::{Level, event};
use crate::runtime::{UnixListener, listener, unix_listener};

/// What one core listens on, as in [`crate::edge::on_core::Configuration::fronts`].
pub(super) type Fronts = Vec<(ListenAddress, Trust, Option<OwnedFd>)>;

/// What has been opened.
#[derive(Default)]
pub(super) struct Opened {
    /// For each core.
    pub(super) cores: Vec<Fronts>,
    /// Whose files are there for as long as these are.
    pub(super) unix: Vec<UnixListener>,
}

/// Finds the addresses free that are not `open` already. One that another process is about to leave has `patience` for it.
///
/// # Errors
/// An address that cannot be listened on.
pub(super) fn ensure_free(
    config: &Config,
    open: &[ListenAddress],
    patience: Duration,
) -> Result<(), RunError> {
    let mut new =
        config.listeners.iter().map(|listener| &listener.address).filter(|address| !open.contains(address));
    new.try_for_each(|address| free(address, patience))
}

/// Finds one address free.
///
/// # Errors
/// It cannot be listened on.
pub(super) fn free(address: &ListenAddress, patience: Duration) -> Result<(), RunError> {
    let mut free = is_free(address, Duration::ZERO);
    if !patience.is_zero() && matches!(&free, Err(error) if error.kind() == ErrorKind::AddrInUse) {
        let waits = format!("{address} is in use; waiting up to {patience:?} for it to be left");
        event(Level::Warn, &waits, &[]);
        free = is_free(address, patience);
    }
    free.map_err(|error| refused(address, error))
}

fn is_free(address: &ListenAddress, patience: Duration) -> io::Result<()> {
    match address {
        ListenAddress::Ip(ip) => listener::ensure_free(*ip, patience),
        ListenAddress::Unix(path) => unix_listener::ensure_free(path, patience),
    }
}

/// Opens a configuration's listeners for so many cores, but for the addresses that are `open` already.
///
/// # Errors
/// An address that cannot be listened on.
pub(super) fn open(config: &Config, open: &[ListenAddress], cores: usize) -> Result<Opened, RunError> {
    let mut opened = Opened { cores: (0..cores).map(|_| Vec::new()).collect(), unix: Vec::new() };
    for listener in &config.listeners {
        let address = &listener.address;
        let sockets = match open.contains(address) {
            true => (0..cores).map(|_| None).collect(),
            false => sockets(listener, cores, &mut opened.unix).map_err(|error| refused(address, error))?,
        };
        for (core, socket) in opened.cores.iter_mut().zip(sockets) {
            core.push((address.clone(), Trust::from(listener), socket));
        }
    }
    Ok(opened)
}

/// Gives the sockets that are listened on already the modes that a configuration gives them: all, or none.
///
/// # Errors
/// One that cannot be changed.
pub(super) fn set_modes(config: &Config, unix: &[UnixListener]) -> Result<(), RunError> {
    let mut changed: Vec<(&UnixListener, u32)> = Vec::new();
    for Listener { address, mode, .. } in &config.listeners {
        let ListenAddress::Unix(path) = address else { continue };
        let Some(socket) = unix.iter().find(|unix| unix.path() == path && unix.is_in_place()) else {
            continue;
        };
        match socket.set_mode(*mode) {
            Ok(before) => changed.push((socket, before)),
            Err(error) => {
                // What could be changed can be changed back.
                changed.iter().for_each(|(socket, before)| drop(socket.set_mode(*before)));
                return Err(RunError::Mode { address: address.clone(), mode: *mode, error });
            }
        }
    }
    Ok(())
}

fn sockets(front: &Listener, cores: usize, unix: &mut Vec<UnixListener>) -> io::Result<Vec<Option<OwnedFd>>> {
    match &front.address {
        ListenAddress::Ip(address) => (0..cores).map(|_| listener::bind(*address).map(Some)).collect(),
        ListenAddress::Unix(path) => {
            let listener = unix_listener::bind(path, front.mode)?;
            let sockets = (0..cores).map(|_| listener.socket().map(Some)).collect();
            unix.push(listener);
            sockets
        }
    }
}

pub(super) fn refused(address: &ListenAddress, error: io::Error) -> RunError {
    let mend = match address {
        ListenAddress::Ip(address) => mend(*address, error.kind()),
        ListenAddress::Unix(path) => mend_unix(path, error.kind()),
    };
    RunError::Listen { address: address.clone(), error, mend }
}

fn mend(address: SocketAddr, kind: ErrorKind) -> String {
    let port = address.port();
    match kind {
        ErrorKind::AddrInUse => {
            format!("stop what uses it (ss -ltnp 'sport = :{port}') or give listeners.address another port")
        }
        ErrorKind::AddrNotAvailable => "give listeners.address an address of this host".to_owned(),
        ErrorKind::PermissionDenied => format!(
            "allow it with: sysctl -w net.ipv4.ip_unprivileged_port_start={port} (systemd: AmbientCapabilities=CAP_NET_BIND_SERVICE)"
        ),
        _ => "check listeners.address".to_owned(),
    }
}

fn mend_unix(path: &Path, kind: ErrorKind) -> String {
    let folder = path.parent().unwrap_or(path).display();
    match kind {
        ErrorKind::AddrInUse => {
            let pattern = pattern(path);
            format!("stop what serves it (ss -lxp src '{pattern}') or give listeners.address another path")
        }
        ErrorKind::AlreadyExists => "move it away, or give listeners.address another path".to_owned(),
        ErrorKind::NotFound => format!("make its folder with: mkdir -p {folder}"),
        ErrorKind::NotADirectory => {
            format!("{folder} is no folder; give listeners.address a path in one")
        }
        ErrorKind::PermissionDenied => format!("let this user write to {folder}"),
        _ => "check listeners.address".to_owned(),
    }
}

/// What finds a socket with `ss`, which compares paths as they were written when the socket was bound: perhaps otherwise
/// than here, as with `..` in them. Spaces and their like it does not take.
fn pattern(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_') { c } else { '*' };
    format!("*/{}", name.chars().map(plain).collect::<String>())
}
