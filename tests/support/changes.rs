//! Changes as lines of a file feed.

use std::fs::File;
use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;

use serde_json::json;

use super::router::Router;

/// A host name leads to a service from this version on.
pub fn maps(host: &str, service: &str, version: u64) -> String {
    let change = json!({
        "kind": "domain_map", "hostname": host, "service": service, "class": "custom", "version": [1, version],
    });
    format!("{change}\n")
}

/// A host name is nobody's.
pub fn tombstone(host: &str, version: u64) -> String {
    let change =
        json!({ "kind": "tombstone", "hostname": host, "reason": "transfer", "version": [1, version] });
    format!("{change}\n")
}

/// A host name is unknown.
pub fn removes(host: &str, version: u64) -> String {
    let change = json!({ "kind": "domain_map", "hostname": host, "removed": true, "version": [1, version] });
    format!("{change}\n")
}

/// A service has these endpoints, all of them healthy.
pub fn endpoints(service: &str, addresses: &[SocketAddr], version: u64) -> String {
    let endpoint =
        |address: &SocketAddr| json!({ "ip": address.ip(), "port": address.port(), "state": "healthy" });
    let all: Vec<_> = addresses.iter().map(endpoint).collect();
    let change = json!({
        "kind": "endpoint_set", "service": service, "region": "local", "endpoints": all, "version": [1, version],
    });
    format!("{change}\n")
}

/// Writes at the end of a file, in one piece.
#[track_caller]
pub fn append(path: &Path, text: &str) {
    let mut file = File::options().create(true).append(true).open(path).expect("a file to append to");
    file.write_all(text.as_bytes()).expect("room for it");
}

/// Puts another file in the place of one.
#[track_caller]
pub fn replace(path: &Path, text: &str) {
    let new = path.with_extension("new");
    std::fs::write(&new, text).expect("a file");
    std::fs::rename(new, path).expect("a rename");
}

/// What a host name leads to: an origin's answer, or the status of ours; `cut` if the host name lost its service meanwhile.
#[track_caller]
pub fn ask(router: &Router, host: &str) -> String {
    let mut client = router.connect();
    client.send(format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n")).expect("an open connection");
    match client.response() {
        Ok(got) if got.status == 200 => got.text().to_owned(),
        Ok(got) => got.status.to_string(),
        Err(_) => "cut".to_owned(),
    }
}
