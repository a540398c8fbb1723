//! Where clients come in, and who of them may say what.
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use super::address::{self, Forms};
use super::report::Shown;
use super::{Cidr, Endpoint, socket};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ListenAddress {
    Ip(SocketAddr),
    /// A Unix socket, by its path.
    Unix(PathBuf),
}

impl ListenAddress {
    /// `IP:PORT`, or `unix:` and a path.
    ///
    /// # Errors
    /// What is wrong with `text` and how to mend it.
    pub(super) fn parse(text: &str) -> Result<ListenAddress, String> {
        match socket::parse(text) {
            Some(path) => path.map(ListenAddress::Unix),
            None => address::parse(text, Forms::Listener).map(ListenAddress::Ip),
        }
    }

    /// Whether a connection to `target` would come in here.
    pub(super) fn receives(&self, target: &Endpoint) -> bool {
        match (self, target) {
            (ListenAddress::Ip(bound), Endpoint::Address(target)) => receives(*bound, *target),
            (ListenAddress::Unix(bound), Endpoint::Socket(target)) => bound == target,
            _ => false,
        }
    }

    pub fn is_unix(&self) -> bool {
        matches!(self, ListenAddress::Unix(_))
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ListenAddress::Ip(address) => write!(f, "{address}"),
            ListenAddress::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// Whether a connection to `target` would reach a listener bound to `bound` on this machine.
pub fn receives(bound: SocketAddr, target: SocketAddr) -> bool {
    let (bound_ip, target_ip) = (bound.ip().to_canonical(), target.ip().to_canonical());
    let every_address = bound_ip.is_unspecified() && target_ip.is_loopback();
    bound.port() == target.port() && (bound_ip == target_ip || every_address)
}

/// Some of those who may connect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Peers {
    pub blocks: Vec<Cidr>,
    /// Whoever may open the socket's file.
    pub unix: bool,
}

impl Peers {
    /// Whether a peer is among them; one on a Unix socket has no address.
    pub fn has(&self, peer: Option<IpAddr>) -> bool {
        peer.map_or(self.unix, |address| self.blocks.iter().any(|block| block.contains(address)))
    }

    pub fn is_nobody(&self) -> bool {
        !self.unix && self.blocks.is_empty()
    }
}

/// Permissions as `chmod` takes them, for reading and writing alone: `660`.
///
/// # Errors
/// What is wrong with `text` and how to mend it.
pub(super) fn mode(text: &str) -> Result<u32, String> {
    let octal = text.len() == 3 && text.bytes().all(|digit| matches!(digit, b'0' | b'2' | b'4' | b'6'));
    let wrong = || format!("{} is no mode of a socket; write three of 0, 2, 4 and 6, as in 660", Shown(text));
    if octal { u32::from_str_radix(text, 8).map_err(|_| wrong()) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_read_as_written() {
        for text in ["127.0.0.1:80", "[::]:80", "0.0.0.0:1", "unix:/run/edge.sock"] {
            let address = ListenAddress::parse(text).unwrap();
            assert_eq!(
                (address.to_string(), address.is_unix()),
                (text.to_owned(), text.starts_with("unix:"))
            );
        }
        for wrong in ["unix:", "unix:edge.sock", "/run/edge.sock", "127.0.0.1:0"] {
            assert!(ListenAddress::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn modes() {
        assert_eq!((mode("660"), mode("666"), mode("600")), (Ok(0o660), Ok(0o666), Ok(0o600)));
        for wrong in ["", "66", "0660", "777", "688", "rw-", "6 6"] {
            assert!(mode(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_listener_is_known_as_its_own() {
        let receives = |bound: &str, target: &str| {
            ListenAddress::parse(bound).unwrap().receives(&Endpoint::parse(target).unwrap())
        };
        assert!(receives("0.0.0.0:80", "127.0.0.1:80") && receives("[::]:80", "127.0.0.1:80"));
        assert!(receives("unix:/run/a", "unix:/run/a") && !receives("unix:/run/a", "unix:/run/b"));
        assert!(!receives("127.0.0.1:80", "127.0.0.1:81") && !receives("127.0.0.1:80", "unix:/run/a"));
    }

    #[test]
    fn peers_with_and_without_an_address() {
        let of = |blocks: &[&str], unix| Peers {
            blocks: blocks.iter().map(|b| Cidr::parse(b).unwrap()).collect(),
            unix,
        };
        let (ten, eleven) = ("10.1.1.1".parse().ok(), "11.1.1.1".parse().ok());
        let (blocks, unix) = (of(&["10.0.0.0/8"], false), of(&[], true));
        assert!(blocks.has(ten) && !blocks.has(eleven) && !blocks.has(None) && !blocks.is_nobody());
        assert!(!unix.has(ten) && unix.has(None) && !unix.is_nobody() && Peers::default().is_nobody());
    }
}
