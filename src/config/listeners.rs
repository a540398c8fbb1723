//! The sockets that the router opens: data listeners and the admin listener.
use std::collections::HashMap;
use std::net::SocketAddr;

use super::address::{self, Forms};
use super::check::word;
use super::checked::{Admin, Listener, Protocol};
use super::reader::{Field, Section};
use super::report::Shown;
use super::{Cidr, Endpoint, ListenAddress, Peers, listen, setting, socket};
use crate::limits::LISTENERS_MAX;

/// At least one listener, each with an address of its own.
pub(super) fn listeners(top: &mut Section<'_>) -> Vec<Listener> {
    let example = "[{ address: \"127.0.0.1:8080\", protocol: http }]";
    let Some(field) = top.required("listeners", example) else { return Vec::new() };
    let Some(items) = field.items() else { return Vec::new() };
    if items.is_empty() {
        field.mistake("is empty; list at least one, as in { address: \"127.0.0.1:8080\", protocol: http }");
    }
    if items.len() > LISTENERS_MAX {
        field.mistake(&format!(
            "has {} listeners; at most {LISTENERS_MAX} are served, remove the rest",
            items.len()
        ));
        return Vec::new();
    }
    let mut lines: HashMap<ListenAddress, usize> = HashMap::new();
    let mut listeners = Vec::new();
    for item in &items {
        let Some(mut section) = item.section() else { continue };
        let address_field = section.required("address", "\"127.0.0.1:8080\"");
        let address = address_field.as_ref().and_then(|f| f.parse(ListenAddress::parse));
        let is_unix = address_field.as_ref().and_then(Field::text).map(socket::is_meant);
        let mode = section.field("mode").and_then(|field| socket_mode(&field, is_unix));
        let protocol = section.required("protocol", "http").and_then(|f| f.parse(protocol));
        let trusted_proxies = peers(section.field("trusted_proxies"), is_unix);
        let internal_from = peers(section.field("internal_from"), is_unix);
        section.end();
        let (Some(field), Some(address)) = (address_field, address) else { continue };
        let mode = mode.unwrap_or(setting::SOCKET_MODE);
        if let Some(first) = lines.insert(address.clone(), field.line) {
            field.mistake(&format!("{address} is listened on already (line {first}); remove one"));
        }
        // An unknown protocol was reported; the address still counts for the checks of other sections.
        let protocol = protocol.unwrap_or(Protocol::Http);
        listeners.push(Listener { address, mode, protocol, trusted_proxies, internal_from });
    }
    listeners
}

fn protocol(text: &str) -> Result<Protocol, String> {
    match text {
        "https" => Err("https is not yet supported in this version; use http".to_owned()),
        _ => word(text, &[("http", Protocol::Http)], "http"),
    }
}

/// `is_unix` is of the listener's address, which may be wrong otherwise, or missing.
fn socket_mode(field: &Field<'_>, is_unix: Option<bool>) -> Option<u32> {
    let mode = field.parse(listen::mode);
    if is_unix == Some(false) {
        field.mistake("is for Unix sockets alone; remove it");
    }
    mode
}

/// Address blocks, or `unix` for all peers of a Unix socket: who they are, its mode decides.
fn peers(field: Option<Field<'_>>, is_unix: Option<bool>) -> Peers {
    let Some(field) = field else { return Peers::default() };
    let one = |text: &str| match (text, is_unix) {
        ("unix", Some(true) | None) => Ok(None),
        ("unix", Some(false)) => {
            Err("unix is for peers of Unix sockets; name address blocks here".to_owned())
        }
        (_, Some(true)) => {
            Err(format!("peers of a Unix socket have no address as {}; write unix", Shown(text)))
        }
        (_, Some(false) | None) => Cidr::parse(text).map(Some),
    };
    let found = field.parse_items(one);
    let peers = Peers { unix: found.contains(&None), blocks: found.into_iter().flatten().collect() };
    for everything in peers.blocks.iter().filter(|b| b.is_everything()) {
        field.warning(&format!("{everything} trusts every peer; name the blocks that you mean"));
    }
    peers
}

fn admin_address(text: &str) -> Result<SocketAddr, String> {
    address::parse(text, Forms::Address)
}

/// Plain HTTP, hence on loopback alone, and on no data listener's address.
pub(super) fn admin(top: &mut Section<'_>, listeners: &[Listener]) -> Option<Admin> {
    let default = Admin { address: admin_address(setting::ADMIN_ADDRESS).ok()? };
    let Some(mut section) = top.section("admin") else { return Some(default) };
    let field = section.field("address");
    section.end();
    let Some(field) = field else { return Some(default) };
    let Some(address) = field.parse(admin_address) else { return Some(default) };
    if !address.ip().to_canonical().is_loopback() {
        let loopback = format!("use 127.0.0.1:{port} or [::1]:{port}", port = address.port());
        field.mistake(&format!(
            "{address} is not on loopback, where alone plain HTTP may administer; {loopback}"
        ));
    } else if listeners.iter().any(|l| l.address.receives(&Endpoint::Address(address))) {
        field
            .mistake(&format!("{address} is taken by a listener; give the admin listener a port of its own"));
    }
    Some(Admin { address })
}
