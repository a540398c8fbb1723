//! Where an origin listens.
use std::fmt;
use std::hash::BuildHasher;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use super::address::{self, Forms};
use super::{HostName, socket};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Endpoint {
    Address(SocketAddr),
    /// A Unix socket, by its path.
    Socket(PathBuf),
    /// Every address that DNS knows of a host.
    Name {
        host: HostName,
        port: u16,
    },
}

impl Endpoint {
    /// `IP:PORT`, `NAME:PORT`, or `unix:` and a path.
    ///
    /// # Errors
    /// What is wrong with `text` and how to mend it.
    pub(super) fn parse(text: &str) -> Result<Endpoint, String> {
        if let Some(path) = socket::parse(text) {
            return path.map(Endpoint::Socket);
        }
        match name(text) {
            Some((host, port)) => Ok(Endpoint::Name { host, port }),
            None => address::parse_endpoint(text, Forms::Endpoint).map(Endpoint::Address),
        }
    }

    /// What stands for it in the route table, which holds addresses; `None` of a name, which may have several.
    pub fn address(&self) -> Option<SocketAddr> {
        match self {
            Endpoint::Address(address) => Some(*address),
            Endpoint::Socket(path) => Some(stand_in(path)),
            Endpoint::Name { .. } => None,
        }
    }

    pub fn name(&self) -> Option<&HostName> {
        match self {
            Endpoint::Name { host, .. } => Some(host),
            Endpoint::Address(_) | Endpoint::Socket(_) => None,
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Address(address) => write!(f, "{address}"),
            Endpoint::Socket(path) => write!(f, "unix:{}", path.display()),
            Endpoint::Name { host, port } => write!(f, "{host}:{port}"),
        }
    }
}

/// A host's name and a port; `None` if it is neither, and is told why as an address is.
fn name(text: &str) -> Option<(HostName, u16)> {
    let (host, port) = text.rsplit_once(':')?;
    let port = port.parse().ok().filter(|port| *port > 0)?;
    let is_name = host.bytes().any(|octet| octet.is_ascii_alphabetic());
    HostName::parse(host).ok().filter(|_| is_name).map(|host| (host, port))
}

/// The first half of addresses that nothing on a network has (RFC 6666).
const DISCARD: [u16; 4] = [0x100, 0, 0, 0];

/// The address that stands for a socket. It is the same for as long as the path is, so that nothing known of one path is
/// ever taken for another's; 64 bits of hash are enough for two paths of one file not to share it.
fn stand_in(path: &Path) -> SocketAddr {
    let hash = foldhash::quality::FixedState::default().hash_one(path.as_os_str());
    let [a, b, c, d, e, f, g, h] = hash.to_be_bytes();
    let word = |high, low| u16::from_be_bytes([high, low]);
    let [w, x, y, z] = DISCARD;
    SocketAddr::from((Ipv6Addr::new(w, x, y, z, word(a, b), word(c, d), word(e, f), word(g, h)), 1))
}

/// Whether an address may stand for a socket.
pub fn is_stand_in(address: SocketAddr) -> bool {
    matches!(address.ip(), IpAddr::V6(ip) if ip.segments()[..4] == DISCARD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_read_as_written() {
        for text in ["127.0.0.1:80", "[2001:db8::1]:80", "unix:/run/app.sock"] {
            let endpoint = Endpoint::parse(text).unwrap();
            assert_eq!(endpoint.to_string(), text);
            assert_eq!(endpoint.address().map(is_stand_in), Some(text.starts_with("unix:")));
        }
        let named = Endpoint::parse("App.internal:8080").unwrap();
        assert_eq!((named.to_string().as_str(), named.address()), ("app.internal:8080", None));
        for wrong in ["unix:app.sock", "/run/app.sock", "[100::1]:80", "app:0", "app:65536", "a b:80"] {
            assert!(Endpoint::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn stand_ins_stay_and_differ() {
        let of = |path: &str| stand_in(Path::new(path));
        assert_eq!(of("/run/a"), of("/run/a"));
        let many: std::collections::HashSet<_> = (0..10_000).map(|n| of(&format!("/run/{n}"))).collect();
        assert_eq!(many.len(), 10_000);
    }
}
