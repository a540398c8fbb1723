//! Other routers on the same cases, set up as their manuals advise for a reverse proxy that keeps connections.

use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Stdio;

use crate::support::part::{self, Part};
use crate::support::{nginx, ports, wait_until};

/// A running peer that knows `a.test` and `b.test`.
pub struct Peer {
    pub address: SocketAddr,
    _part: Part,
    _dir: tempfile::TempDir,
}

/// Its name and version, as it tells them.
pub fn version(program: &str) -> String {
    let told = part::run(&[program, "-v"], package(program));
    let text = [told.stdout, told.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let number =
        text.split([' ', '/', '-', '\n']).find(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    format!("{program} {}", number.unwrap_or("of unknown version"))
}

fn package(program: &str) -> &'static str {
    if program == "nginx" { "nginx-light" } else { "haproxy" }
}

impl Peer {
    pub fn start(program: &str, origins: [SocketAddr; 2]) -> Peer {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let address = ports::free_address();
        let _part = match program {
            "nginx" => nginx::run(dir.path(), "", &nginx_http(address, origins)),
            _ => run_haproxy(dir.path(), &haproxy(address, origins)),
        };
        wait_until("the peer answers", || TcpStream::connect(address).is_ok());
        Peer { address, _part, _dir: dir }
    }
}

fn run_haproxy(dir: &Path, text: &str) -> Part {
    let file = dir.join("haproxy.cfg");
    std::fs::write(&file, text).expect("a file");
    let line = ["haproxy", "-db", "-f", &file.display().to_string()].map(str::to_owned);
    Part::start(&line, package("haproxy"), dir, Stdio::null())
}

/// `$host` rather than `$http_host`: the latter is not the authority of an absolute target.
fn nginx_http(address: SocketAddr, [a, b]: [SocketAddr; 2]) -> String {
    format!(
        "    proxy_http_version 1.1;
    proxy_set_header Host $host;
    proxy_set_header Connection \"\";
    upstream a {{ server {a}; keepalive 16; }}
    upstream b {{ server {b}; keepalive 16; }}
    server {{ listen {address} default_server; return 404; }}
    server {{ listen {address}; server_name a.test; location / {{ proxy_pass http://a; }} }}
    server {{ listen {address}; server_name b.test; location / {{ proxy_pass http://b; }} }}
"
    )
}

fn haproxy(address: SocketAddr, [a, b]: [SocketAddr; 2]) -> String {
    format!(
        "global
    nbthread 1
defaults
    mode http
    http-reuse always
    timeout connect 5s
    timeout client 30s
    timeout server 30s
    timeout http-request 10s
frontend data
    bind {address}
    use_backend a if {{ req.hdr(host),host_only -i a.test }}
    use_backend b if {{ req.hdr(host),host_only -i b.test }}
    default_backend nobody
backend nobody
    http-request return status 404
backend a
    server a {a}
backend b
    server b {b}
"
    )
}
