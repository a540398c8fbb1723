//! The machine and the versions that a figure belongs to.
use std::fs;
use std::path::Path;
use std::process::Command;

use serde::Serialize;

use crate::peers::{Peer, Programs};

#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    pub cpu: String,
    pub cpus: usize,
    pub kernel: String,
    pub memory_gib: f64,
    /// Work of others that was under way when the run began: one-minute load average.
    pub load_average: f64,
}

impl Machine {
    pub fn of_this() -> Self {
        let kib = |text: &str| text.split_ascii_whitespace().nth(1).and_then(|kib| kib.parse::<f64>().ok());
        Self {
            cpu: value_of("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown".to_owned()),
            cpus: count_of("/proc/cpuinfo", "processor"),
            kernel: first_word_of("/proc/sys/kernel/osrelease"),
            memory_gib: fs::read_to_string("/proc/meminfo")
                .ok()
                .and_then(|text| text.lines().find(|line| line.starts_with("MemTotal")).and_then(kib))
                .unwrap_or_default()
                / (1024.0 * 1024.0),
            load_average: first_word_of("/proc/loadavg").parse().unwrap_or_default(),
        }
    }
}

fn value_of(path: &str, key: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(key))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn count_of(path: &str, key: &str) -> usize {
    fs::read_to_string(path).map_or(0, |text| text.lines().filter(|line| line.starts_with(key)).count())
}

fn first_word_of(path: &str) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.split_ascii_whitespace().next().unwrap_or("unknown").to_owned()
}

/// What the program of each of `peers` says its version is.
pub fn versions(peers: &[Peer], programs: &Programs) -> Vec<String> {
    peers
        .iter()
        .map(|peer| match peer {
            Peer::Ringway => said(&programs.ringway, "--version"),
            Peer::Before => said(&programs.before, "--version"),
            Peer::Nginx => said(&programs.nginx, "-v"),
            Peer::Haproxy => said(&programs.haproxy, "-v"),
            // A library: the version is the one its crate pins.
            Peer::Pingora => pinned_pingora(),
        })
        .collect()
}

/// The first line of what `program argument` prints, on either output.
fn said(program: &Path, argument: &str) -> String {
    match Command::new(program).arg(argument).output() {
        Ok(output) => {
            let octets = if output.stdout.is_empty() { output.stderr } else { output.stdout };
            String::from_utf8_lossy(&octets).lines().next().unwrap_or_default().to_owned()
        }
        Err(error) => format!("({error})"),
    }
}

fn pinned_pingora() -> String {
    let manifest = include_str!("../peers/pingora/Cargo.toml");
    let line = manifest.lines().find(|line| line.starts_with("pingora ")).unwrap_or_default();
    let version = line.split('"').nth(1).unwrap_or("?").trim_start_matches('=');
    format!("pingora {version}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pingora_version_is_read_from_its_manifest() {
        assert!(pinned_pingora().starts_with("pingora 0."), "{}", pinned_pingora());
    }

    #[test]
    fn this_machine_has_a_kernel_and_memory() {
        let machine = Machine::of_this();
        assert!(machine.cpus > 0 && machine.kernel.contains('.') && machine.memory_gib > 0.1, "{machine:?}");
    }
}
