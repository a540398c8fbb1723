//! `address:port` as written in the file.
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::report::Shown;

/// What can be written where an address is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Forms {
    /// Addresses alone.
    Address,
    /// What can be listened on.
    Listener,
    /// Where an origin can be.
    Endpoint,
}

impl fmt::Display for Forms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Forms::Address => "IP:PORT, as in 127.0.0.1:8080 or [::1]:8080",
            Forms::Listener => "IP:PORT or unix:/PATH, as in 127.0.0.1:8080 or unix:/run/edge.sock",
            Forms::Endpoint => {
                "IP:PORT, NAME:PORT or unix:/PATH, as in 127.0.0.1:8080, app.internal:8080 or unix:/run/app.sock"
            }
        })
    }
}

/// An IP address and a port from 1 to 65,535: `127.0.0.1:8080`, `[::1]:8080`. Other `forms` are for messages alone.
///
/// # Errors
/// What is wrong with `text` and how to mend it.
pub(super) fn parse(text: &str, forms: Forms) -> Result<SocketAddr, String> {
    match text.parse::<SocketAddr>() {
        Ok(address) if address.port() == 0 => {
            Err(format!("{} has port 0; give a port from 1 to 65535", Shown(text)))
        }
        Ok(address) => Ok(address),
        Err(_) => Err(format!("{} {}", Shown(text), explain(text, forms))),
    }
}

/// An address that one can connect to.
///
/// # Errors
/// What is wrong with `text` and how to mend it.
pub(super) fn parse_endpoint(text: &str, forms: Forms) -> Result<SocketAddr, String> {
    let address = parse(text, forms)?;
    if is_nobodys(address.ip()) {
        return Err(format!("{} is no single host's address; give the origin's own", Shown(text)));
    }
    if super::is_stand_in(address) {
        return Err(format!("{} is in 100::/64, where nothing answers (RFC 6666)", Shown(text)));
    }
    Ok(address)
}

/// Whether no single host has an address: unspecified, multicast or broadcast, which a kernel takes for something else.
pub fn is_nobodys(ip: IpAddr) -> bool {
    let ip = ip.to_canonical();
    ip.is_unspecified() || ip.is_multicast() || ip == IpAddr::V4(Ipv4Addr::BROADCAST)
}

/// Why `text` is not an address and port, and what to write instead.
fn explain(text: &str, forms: Forms) -> String {
    if text.contains("://") {
        return format!("is a URL; write {forms}");
    }
    if super::socket::is_meant(text) {
        return format!("is a Unix socket, which cannot be had here; write {forms}");
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
        let what = if is_name(text) { "has no port" } else { "is no address and port" };
        return format!("{what}; write {forms}");
    };
    if !port.parse().is_ok_and(|port: u16| port > 0) {
        return format!("has no port from 1 to 65535 after its last colon; write {forms}");
    }
    match host {
        "" if forms == Forms::Listener => {
            format!("has no address; write [::]{text} for all, or 127.0.0.1{text} for this machine alone")
        }
        "" => format!("has nothing before its port; write {forms}"),
        _ if is_name(host) => format!("is a name, which cannot be had here; write {forms}"),
        _ => match super::name::host_name(host) {
            // Whatever has colons or brackets was meant as an address.
            Err(wrong) if forms == Forms::Endpoint && !host.contains(['[', ']', ':']) => {
                format!("has no address, and no name: {wrong}; write {forms}")
            }
            _ => format!("is no address and port; write {forms}"),
        },
    }
}

fn is_name(text: &str) -> bool {
    text.bytes().any(|octet| octet.is_ascii_alphabetic()) && super::name::host_name(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn right_addresses() {
        for right in ["127.0.0.1:8080", "0.0.0.0:1", "[::1]:65535", "[::]:80"] {
            assert_eq!(parse(right, Forms::Address).map(|a| a.to_string()), Ok(right.to_owned()));
        }
    }

    /// `FORMS` stands for all that can be written there.
    #[test]
    fn wrong_addresses_say_what_to_write() {
        use Forms::{Address, Endpoint, Listener};
        let (all, nameless) = (&[Address, Listener, Endpoint][..], &[Address, Listener][..]);
        let no_port = "has no port from 1 to 65535 after its last colon; write FORMS";
        for (wrong, forms, told) in [
            ("127.0.0.1:0", all, "has port 0; give a port from 1 to 65535"),
            ("127.0.0.1", all, "has no port; write 127.0.0.1:PORT"),
            ("::1", all, "has no port, or no brackets; write [::1]:PORT"),
            (
                "::1:8080",
                all,
                "has no port, or no brackets; write [::1:8080]:PORT, or [::1]:8080 if 8080 is the port",
            ),
            ("127.0.0.1:", all, no_port),
            ("127.0.0.1:65536", all, no_port),
            ("db.internal:0", all, no_port),
            ("http://127.0.0.1:80", all, "is a URL; write FORMS"),
            (
                ":80",
                &[Listener],
                "has no address; write [::]:80 for all, or 127.0.0.1:80 for this machine alone",
            ),
            (":80", &[Address, Endpoint], "has nothing before its port; write FORMS"),
            ("db.internal:80", nameless, "is a name, which cannot be had here; write FORMS"),
            ("unix:/run/a", &[Address], "is a Unix socket, which cannot be had here; write FORMS"),
            ("/run/a", &[Address], "is a Unix socket, which cannot be had here; write FORMS"),
            ("host", all, "has no port; write FORMS"),
            ("", all, "is no address and port; write FORMS"),
            ("a_b", all, "is no address and port; write FORMS"),
            ("300.0.0.1:80", all, "is no address and port; write FORMS"),
            ("[::1:80", all, "is no address and port; write FORMS"),
            ("a_b:80", nameless, "is no address and port; write FORMS"),
            (
                "a_b:80",
                &[Endpoint],
                "has no address, and no name: \"a_b\" has '_' at octet 1; a host name is made of letters, digits, \
                 hyphens and dots; write FORMS",
            ),
            (
                "app.:80",
                &[Endpoint],
                "has no address, and no name: \"app.\" ends with a dot; write it without; write FORMS",
            ),
        ] {
            for forms in forms {
                let told = told.replace("FORMS", &forms.to_string());
                assert_eq!(parse(wrong, *forms), Err(format!("{wrong:?} {told}")), "{forms:?}");
            }
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
                parse_endpoint(wrong, Forms::Endpoint),
                Err(format!("{wrong:?} is no single host's address; give the origin's own"))
            );
        }
        assert!(parse_endpoint("10.0.0.1:80", Forms::Endpoint).is_ok());
    }
}
