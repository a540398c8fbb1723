//! The router's listening sockets: found to be free, then opened once for each core.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::Duration;

use super::role::RunError;
use crate::config::Config;
use crate::edge::door::Trust;
use crate::runtime::listener;

/// What one core listens on, as in [`crate::edge::on_core::Configuration::fronts`].
pub(super) type Fronts = Vec<(SocketAddr, Trust, Option<OwnedFd>)>;

/// Finds the addresses free that are not `open` already. One that another process is about to leave has `patience` for it.
///
/// # Errors
/// An address that cannot be listened on.
pub(super) fn ensure_free(config: &Config, open: &[SocketAddr], patience: Duration) -> Result<(), RunError> {
    let new =
        config.listeners.iter().map(|listener| listener.address).filter(|address| !open.contains(address));
    for address in new {
        listener::ensure_free(address, patience).map_err(|error| refused(address, error))?;
    }
    Ok(())
}

/// Opens a configuration's listeners for so many cores, but for the addresses that are `open` already.
///
/// # Errors
/// An address that cannot be listened on.
pub(super) fn open(config: &Config, open: &[SocketAddr], cores: usize) -> Result<Vec<Fronts>, RunError> {
    let front = |listener: &crate::config::Listener| {
        let address = listener.address;
        let socket = match open.contains(&address) {
            true => None,
            false => Some(listener::bind(address).map_err(|error| refused(address, error))?),
        };
        Ok((address, Trust::from(listener), socket))
    };
    (0..cores).map(|_| config.listeners.iter().map(front).collect()).collect()
}

fn refused(address: SocketAddr, error: io::Error) -> RunError {
    let port = address.port();
    let mend = match error.kind() {
        io::ErrorKind::AddrInUse => {
            format!("stop what uses it (ss -ltnp 'sport = :{port}') or give listeners.address another port")
        }
        io::ErrorKind::AddrNotAvailable => "give listeners.address an address of this host".to_owned(),
        io::ErrorKind::PermissionDenied => format!(
            "allow it with: sysctl -w net.ipv4.ip_unprivileged_port_start={port} (systemd: AmbientCapabilities=CAP_NET_BIND_SERVICE)"
        ),
        _ => "check listeners.address".to_owned(),
    };
    RunError::Listen { address, error, mend }
}
