//! `address:port` as written in the file.
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use super::report::Shown;

/// An IP address and a port from 1 to 65,535: `127.0.0.1:8080`, `[::1]:8080`.
///
/// # Errors
/// What is wrong with `text` and how to mend it.
pub(super) fn parse(text: &str) -> Result<SocketAddr, String> {
    match text.parse::<SocketAddr>() {
        Ok(address) if address.port() == 0 => {
            Err(format!("{} has port 0; give a port from 1 to 65535", Shown(text)))
        }
        Ok(address) => Ok(address),
        Err(_) => Err(format!("{} {}", Shown(text), explain(text))),
    }
}

/// An address that one can connect to.
///
/// # Errors
/// What is wrong with `text` and how to mend it.
pub(super) fn parse_endpoint(text: &str) -> Result<SocketAddr, String> {
    let address = parse(text)?;
    let ip = address.ip().to_canonical();
    let broadcast = matches!(ip, IpAddr::V4(v4) if v4.is_broadcast());
    if ip.is_unspecified() || ip.is_multicast() || broadcast {
        return Err(format!("{} is no single host's address; give the origin's own", Shown(text)));
    }
    if super::is_stand_in(address) {
        return Err(format!("{} is in 100::/64, where nothing answers (RFC 6666)", Shown(text)));
    }
    Ok(address)
}

/// Why `text` is not an address and port, and what to write instead.
fn explain(text: &str) -> String {
    if text.contains("://") {
        return "is a URL; write its address and port alone, as in 127.0.0.1:8080".to_owned();
    }
    if super::socket::is_meant(text) {
        let instead = "give an address and port, as in 127.0.0.1:8080";
        return format!("is a Unix socket, which cannot be had here; {instead}");
    }
    if text.parse::<Ipv6Addr>().is_ok() {
        let meant = text.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok());
        let meant = meant.filter(|(host, _)| host.parse::<Ipv6Addr>().is_ok());
        let meant = meant.map(|(host, port)| format!(", or [{host}]:{port} if {port} is the port"));
        return format!("has no port, or no brackets; write [{text}]:PORT{}", meant.unwrap_or_default());
    }
    if let Ok(ip) = text.parse::<IpAddr>() {
        return format!("has no port; write {ip}:PORT");
    }
    let Some((host, port)) = text.rsplit_once(':') else {
        return "is not an address and port; write them as in 127.0.0.1:8080 or [::1]:8080".to_owned();
    };
    if port.is_empty() || port.parse::<u16>().is_err() {
        return "has no port from 1 to 65535 after its last colon; write it as in 127.0.0.1:8080".to_owned();
    }
    if host.is_empty() {
        return format!(
            "has no address; write [::]{text} for all, or 127.0.0.1{text} for this machine alone"
        );
    }
    if host.bytes().any(|b| b.is_ascii_alphabetic()) && super::name::host_name(host).is_ok() {
        return "is a name; give an IP address, as in 127.0.0.1:8080".to_owned();
    }
    "is not an address and port; write them as in 127.0.0.1:8080 or [::1]:8080".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn right_addresses() {
        for right in ["127.0.0.1:8080", "0.0.0.0:1", "[::1]:65535", "[::]:80"] {
            assert_eq!(parse(right).map(|a| a.to_string()), Ok(right.to_owned()));
        }
    }

    #[test]
    fn wrong_addresses_say_what_to_write() {
        for (wrong, told) in [
            ("127.0.0.1:0", "has port 0; give a port from 1 to 65535"),
            ("127.0.0.1", "has no port; write 127.0.0.1:PORT"),
            ("::1", "has no port, or no brackets; write [::1]:PORT"),
            (
                "::1:8080",
                "has no port, or no brackets; write [::1:8080]:PORT, or [::1]:8080 if 8080 is the port",
            ),
            ("127.0.0.1:", "has no port from 1 to 65535 after its last colon; write it as in 127.0.0.1:8080"),
            (
                "127.0.0.1:65536",
                "has no port from 1 to 65535 after its last colon; write it as in 127.0.0.1:8080",
            ),
            (":80", "has no address; write [::]:80 for all, or 127.0.0.1:80 for this machine alone"),
            ("http://127.0.0.1:80", "is a URL; write its address and port alone, as in 127.0.0.1:8080"),
            ("db.internal:80", "is a name; give an IP address, as in 127.0.0.1:8080"),
            (
                "unix:/run/a",
                "is a Unix socket, which cannot be had here; give an address and port, as in 127.0.0.1:8080",
            ),
            (
                "/run/a",
                "is a Unix socket, which cannot be had here; give an address and port, as in 127.0.0.1:8080",
            ),
            ("here", "is not an address and port; write them as in 127.0.0.1:8080 or [::1]:8080"),
            ("300.0.0.1:80", "is not an address and port; write them as in 127.0.0.1:8080 or [::1]:8080"),
            ("a b:80", "is not an address and port; write them as in 127.0.0.1:8080 or [::1]:8080"),
        ] {
            assert_eq!(parse(wrong), Err(format!("{wrong:?} {told}")));
        }
    }

    #[test]
    fn endpoints_are_single_hosts() {
        for wrong in [
            "0.0.0.0:80",
            "[::]:80",
            "[::ffff:0.0.0.0]:80",
            "224.0.0.1:80",
            "[ff02::1]:80",
            "255.255.255.255:80",
        ] {
            assert_eq!(
                parse_endpoint(wrong),
                Err(format!("{wrong:?} is no single host's address; give the origin's own"))
            );
        }
        assert!(parse_endpoint("10.0.0.1:80").is_ok());
    }
}
