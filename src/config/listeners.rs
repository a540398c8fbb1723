//! The sockets that the router opens: data listeners and the admin listener.
use std::collections::HashMap;
use std::net::SocketAddr;

use super::check::word;
use super::checked::{Admin, Listener, Protocol};
use super::reader::{Field, Section};
use super::{Cidr, address, setting};
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
    let mut lines: HashMap<SocketAddr, usize> = HashMap::new();
    let mut listeners = Vec::new();
    for item in &items {
        let Some(mut section) = item.section() else { continue };
        let address_field = section.required("address", "\"127.0.0.1:8080\"");
        let address = address_field.as_ref().and_then(|f| f.parse(address::parse));
        let protocol = section.required("protocol", "http").and_then(|f| f.parse(protocol));
        let trusted_proxies = blocks(section.field("trusted_proxies").as_ref());
        let internal_from = blocks(section.field("internal_from").as_ref());
        section.end();
        let (Some(field), Some(address)) = (address_field, address) else { continue };
        if let Some(first) = lines.insert(address, field.line) {
            field.mistake(&format!("{address} is listened on already (line {first}); remove one"));
        }
        // An unknown protocol was reported; the address still counts for the checks of other sections.
        let protocol = protocol.unwrap_or(Protocol::Http);
        listeners.push(Listener { address, protocol, trusted_proxies, internal_from });
    }
    listeners
}

fn protocol(text: &str) -> Result<Protocol, String> {
    match text {
        "https" => Err("https is not yet supported in this version; use http".to_owned()),
        _ => word(text, &[("http", Protocol::Http)], "http"),
    }
}

fn blocks(field: Option<&Field<'_>>) -> Vec<Cidr> {
    let Some(field) = field else { return Vec::new() };
    let blocks = field.parse_items(Cidr::parse);
    for everything in blocks.iter().filter(|b| b.is_everything()) {
        field.warning(&format!("{everything} trusts every peer; name the blocks that you mean"));
    }
    blocks
}

/// Plain HTTP, hence on loopback alone, and on no data listener's address.
pub(super) fn admin(top: &mut Section<'_>, listeners: &[Listener]) -> Option<Admin> {
    let default = Admin { address: address::parse(setting::ADMIN_ADDRESS).ok()? };
    let Some(mut section) = top.section("admin") else { return Some(default) };
    let field = section.field("address");
    section.end();
    let Some(field) = field else { return Some(default) };
    let Some(address) = field.parse(address::parse) else { return Some(default) };
    if !address.ip().to_canonical().is_loopback() {
        let loopback = format!("use 127.0.0.1:{port} or [::1]:{port}", port = address.port());
        field.mistake(&format!(
            "{address} is not on loopback, where alone plain HTTP may administer; {loopback}"
        ));
    } else if listeners.iter().any(|l| receives(l.address, address)) {
        field
            .mistake(&format!("{address} is taken by a listener; give the admin listener a port of its own"));
    }
    Some(Admin { address })
}

/// Whether a connection to `target` would reach a listener bound to `bound` on this machine.
pub(super) fn receives(bound: SocketAddr, target: SocketAddr) -> bool {
    let (bound_ip, target_ip) = (bound.ip().to_canonical(), target.ip().to_canonical());
    let every_address = bound_ip.is_unspecified() && target_ip.is_loopback();
    bound.port() == target.port() && (bound_ip == target_ip || every_address)
}
