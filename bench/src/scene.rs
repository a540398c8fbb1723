//! What every peer of a run shares: a temporary folder, the origin's addresses, the host names, the CPUs.
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::client::is_whole;
use crate::data_set::DataSet;
use crate::failure::Failure;
use crate::generator::Generator;
use crate::interrupt;
use crate::limits::{BODY_BYTES, INLINE_HOSTS, POLL_MILLIS, PROBE_ANSWER_BYTES, PROBE_MILLIS};
use crate::owned::Owned;

/// The standard data set maps its endpoints onto these 64 addresses.
const ORIGIN_HOSTS: std::ops::RangeInclusive<u8> = 1..=8;
const ORIGIN_PORTS: u16 = 8;
/// The first of those ports.
pub const ORIGIN_PORT: u16 = 9001;
/// Endpoints of one service: the data set's mean.
const ENDPOINTS_PER_GROUP: usize = 2;

/// Region of the router, and of the data set's first endpoints.
pub const REGION: &str = "local";

pub struct Scene {
    dir: TempDir,
    pub generator: Generator,
    /// The CPU that the proxies have to themselves.
    pub proxy_core: usize,
    pub data_set: Option<DataSet>,
    pub hosts: Vec<String>,
    pub origins: Vec<SocketAddr>,
    /// Services beside those, for ringway alone: a host name and its one endpoint.
    pub neighbours: Vec<(String, SocketAddr)>,
    /// The file whose changes the router follows; it has none.
    pub changes: Option<PathBuf>,
    hosts_argument: String,
    /// A host name that every peer knows, instead of the first of all.
    probe: Option<String>,
    _origin: Owned,
}

impl Scene {
    /// Lays out the folder and starts the origin, on 8 ports from `first_port`: with the data set,
    /// [`ORIGIN_PORT`].
    pub fn set(
        generator: Generator,
        proxy_core: usize,
        data_set: Option<DataSet>,
        first_port: u16,
    ) -> Result<Self, Failure> {
        let dir = tempfile::Builder::new()
            .prefix("ringway-bench-")
            .tempdir()
            .map_err(Failure::file(std::env::temp_dir()))?;
        let hosts: Vec<String> = (0..INLINE_HOSTS).map(|n| format!("shop-{n:06}.tenants.example")).collect();
        let file = dir.path().join("hosts.txt");
        std::fs::write(&file, hosts.join("\n") + "\n").map_err(Failure::file(&file))?;
        let hosts_argument = match &data_set {
            Some(data_set) => format!("dataset:{}", data_set.hosts()),
            None => file.display().to_string(),
        };
        let origins = origin_addresses(first_port);
        for &address in &origins {
            // A listener with SO_REUSEPORT would let ours in and take half of the connections.
            TcpListener::bind(address).map_err(|source| Failure::InUse { address, source })?;
        }
        let mut origin = generator.origin(&origins, dir.path())?;
        for &address in &origins {
            wait_until_answers(
                &mut origin,
                address,
                &hosts[0],
                Duration::from_secs(crate::limits::READY_SECONDS),
            )?;
        }
        let neighbours = Vec::new();
        Ok(Self {
            dir,
            generator,
            proxy_core,
            data_set,
            hosts,
            origins,
            neighbours,
            changes: None,
            hosts_argument,
            probe: None,
            _origin: origin,
        })
    }

    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// From now on these of the data set are asked for, the first of them to see whether a peer answers.
    pub fn ask_for(&mut self, hosts: &[String]) -> Result<(), Failure> {
        let file = self.write("asked.txt", &(hosts.join("\n") + "\n"))?;
        self.hosts_argument = file.display().to_string();
        self.probe = hosts.first().cloned();
        Ok(())
    }

    /// A host name that every peer knows.
    pub fn probe_host(&self) -> String {
        let first = || self.data_set.as_ref().map_or_else(|| self.hosts[0].clone(), DataSet::first_host);
        self.probe.clone().unwrap_or_else(first)
    }

    /// What the generator's `--hosts` takes.
    pub fn hosts_argument(&self) -> &str {
        &self.hosts_argument
    }

    /// Endpoints by group: each service has one group's.
    pub fn groups(&self) -> Vec<&[SocketAddr]> {
        self.origins.chunks(ENDPOINTS_PER_GROUP).collect()
    }

    /// The group of the `host`th name.
    pub fn group_of(&self, host: usize) -> usize {
        host % self.groups().len()
    }

    /// Writes `text` to `name` in the folder and returns where.
    pub fn write(&self, name: &str, text: &str) -> Result<PathBuf, Failure> {
        let path = self.dir().join(name);
        std::fs::write(&path, text).map_err(Failure::file(&path))?;
        Ok(path)
    }
}

fn origin_addresses(first_port: u16) -> Vec<SocketAddr> {
    let ports = first_port..first_port.saturating_add(ORIGIN_PORTS);
    ORIGIN_HOSTS
        .flat_map(|host| {
            ports.clone().map(move |port| SocketAddr::from((Ipv4Addr::new(127, 0, 1, host), port)))
        })
        .collect()
}

/// A loopback address that was free a moment ago.
pub fn free_address() -> Result<SocketAddr, Failure> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .map_err(Failure::file("127.0.0.1:0"))
}

/// Asks until the answer is a 200 with the body's size; fails when the process ends or time runs out.
pub fn wait_until_answers(
    process: &mut Owned,
    address: SocketAddr,
    host: &str,
    within: Duration,
) -> Result<(), Failure> {
    let deadline = Instant::now() + within;
    loop {
        interrupt::check()?;
        process.check_alive()?;
        match get(address, host, "/") {
            Ok(answer) if is_whole(&answer) => return Ok(()),
            Ok(answer) if Instant::now() >= deadline => {
                let first = answer.split(|&octet| octet == b'\r').next().unwrap_or_default();
                let answer = String::from_utf8_lossy(first).into_owned();
                return Err(Failure::WrongAnswer {
                    name: process.name().to_owned(),
                    answer,
                    body_bytes: BODY_BYTES,
                });
            }
            Err(_) if Instant::now() >= deadline => {
                return Err(Failure::NeverAnswered {
                    name: process.name().to_owned(),
                    address,
                    seconds: within.as_secs(),
                    output: process.output_tail(),
                });
            }
            _ => sleep(Duration::from_millis(POLL_MILLIS)),
        }
    }
}

/// One GET over a connection of its own; the whole answer.
pub fn get(address: SocketAddr, host: &str, path: &str) -> std::io::Result<Vec<u8>> {
    let patience = Duration::from_millis(PROBE_MILLIS);
    let mut stream = TcpStream::connect_timeout(&address, patience)?;
    stream.set_read_timeout(Some(patience))?;
    stream.set_write_timeout(Some(patience))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")?;
    let mut octets = Vec::new();
    stream.take(PROBE_ANSWER_BYTES as u64).read_to_end(&mut octets)?;
    Ok(octets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_the_64_of_the_data_set() {
        let origins = origin_addresses(ORIGIN_PORT);
        assert_eq!(origins.len(), 64);
        assert_eq!(origins[0].to_string(), "127.0.1.1:9001");
        assert_eq!(origins[63].to_string(), "127.0.1.8:9008");
    }
}
