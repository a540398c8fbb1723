//! Where an origin listens.
use std::fmt;
use std::hash::BuildHasher;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use super::address;
use super::report::Shown;
use crate::limits::SOCKET_PATH_OCTETS_MAX;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Endpoint {
    Address(SocketAddr),
    /// A Unix socket, by its path.
    Socket(PathBuf),
}

impl Endpoint {
    /// `IP:PORT`, or `unix:` and a path.
    ///
    /// # Errors
    /// What is wrong with `text` and how to mend it.
    pub(super) fn parse(text: &str) -> Result<Endpoint, String> {
        match text.strip_prefix("unix:") {
            Some(path) => socket(path).map(Endpoint::Socket),
            None if text.starts_with('/') => {
                Err(format!("{} is a path; write it as unix:{text}", Shown(text)))
            }
            None => address::parse_endpoint(text).map(Endpoint::Address),
        }
    }

    /// What stands for it in the route table, which holds addresses.
    pub fn address(&self) -> SocketAddr {
        match self {
            Endpoint::Address(address) => *address,
            Endpoint::Socket(path) => stand_in(path),
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Address(address) => write!(f, "{address}"),
            Endpoint::Socket(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// A socket's path, absolute.
pub(super) fn socket(path: &str) -> Result<PathBuf, String> {
    let told = |what: String| Err(format!("{} {what}", Shown(&format!("unix:{path}"))));
    if !path.starts_with('/') || path.ends_with('/') || path.contains('\0') {
        return told("is no socket's absolute path; write it as in unix:/run/app.sock".to_owned());
    }
    if path.len() > SOCKET_PATH_OCTETS_MAX {
        return told(format!(
            "has a path longer than {SOCKET_PATH_OCTETS_MAX} octets, which no socket can have"
        ));
    }
    Ok(PathBuf::from(path))
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
            assert_eq!(is_stand_in(endpoint.address()), text.starts_with("unix:"));
        }
        let long = format!("unix:/{}", "x".repeat(SOCKET_PATH_OCTETS_MAX));
        for wrong in ["unix:", "unix:app.sock", "unix:/", "unix:/run/", "unix:/a\0b", &long, "[100::1]:80"] {
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
