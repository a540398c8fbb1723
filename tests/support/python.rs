//! Python's http.server as an origin; `origin.py` tells its paths.

use std::net::{SocketAddr, TcpStream};
use std::process::Stdio;

use super::part::Part;
use super::ports::free_address;
use super::wait::wait_until;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/origin.py");

pub struct Python {
    pub address: SocketAddr,
    _part: Part,
    _dir: tempfile::TempDir,
}

impl Python {
    /// Bodies are pieces of `pattern`.
    pub fn start(pattern: &[u8]) -> Python {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let file = dir.path().join("pattern");
        std::fs::write(&file, pattern).expect("a file");
        let address = free_address();
        let line =
            ["python3", SCRIPT, &address.port().to_string(), &file.display().to_string()].map(str::to_owned);
        let _part = Part::start(&line, "python3", dir.path(), Stdio::null());
        wait_until("Python answers", || TcpStream::connect(address).is_ok());
        Python { address, _part, _dir: dir }
    }
}
