//! The real router as a process, and what its admin listener, its log and `/proc` tell of it.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;

use super::part::Part;
use super::setup::Setup;
use super::wait::{PATIENCE, wait_for};
use super::wire::{Response, Wire};

pub struct Router {
    pub address: SocketAddr,
    pub admin: SocketAddr,
    pub part: Part,
    pub(super) setup: Setup,
}

impl Router {
    pub fn connect(&self) -> Wire {
        Wire::connect(self.address)
    }

    #[track_caller]
    pub fn wait_ready(&mut self) {
        wait_for("the router is ready", PATIENCE, || {
            if let Some(status) = self.part.has_ended() {
                panic!("the router has ended: {status}\n{}", self.part.said());
            }
            std::net::TcpStream::connect(self.admin).is_ok().then_some(())
        });
        wait_for("the router is ready", PATIENCE, || (self.admin("/readyz").status == 200).then_some(()));
    }

    /// The folder that its configuration and logs are in.
    pub fn folder(&self) -> &std::path::Path {
        self.setup.dir.path()
    }

    /// Starts it again with the same configuration, once it has ended.
    #[track_caller]
    pub fn start_again(self) -> Router {
        let Router { part, setup, .. } = self;
        drop(part);
        setup.start()
    }

    /// The same, with something done while there is none; not to wait until it is ready.
    pub fn launch_again(self, meanwhile: impl FnOnce(&std::path::Path)) -> Router {
        let Router { part, setup, .. } = self;
        drop(part);
        meanwhile(setup.dir.path());
        setup.launch()
    }

    /// Changes the configuration's file, and nothing else.
    pub fn change(&mut self, change: impl FnOnce(Setup) -> Setup) {
        let setup = std::mem::replace(&mut self.setup, Setup::new());
        self.setup = change(setup);
        self.setup.write();
    }

    /// Has the file read again; what came of it.
    #[track_caller]
    pub fn reload(&self) -> Response {
        Wire::connect(self.admin)
            .ask("POST /v1/reload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
    }

    #[track_caller]
    pub fn admin(&self, path: &str) -> Response {
        Wire::connect(self.admin).ask(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n"))
    }

    /// The sum of a metric's series.
    #[track_caller]
    pub fn metric(&self, name: &str) -> u64 {
        self.metric_with(name, "")
    }

    /// The sum of those series of a metric whose labels hold `label`, as in `reason="client_gone"`.
    #[track_caller]
    pub fn metric_with(&self, name: &str, label: &str) -> u64 {
        self.figure(name, label) as u64
    }

    /// The sum of a metric in seconds, in milliseconds.
    #[track_caller]
    pub fn metric_ms(&self, name: &str) -> u64 {
        (self.figure(name, "") * 1000.0) as u64
    }

    #[track_caller]
    fn figure(&self, name: &str, label: &str) -> f64 {
        let exposition = self.admin("/metrics");
        let series = exposition.text().lines().filter_map(|line| {
            let (key, value) = line.rsplit_once(' ')?;
            let (family, labels) = key.split_once('{').unwrap_or((key, ""));
            (family == name && labels.contains(label)).then(|| value.parse::<f64>().ok())?
        });
        let values: Vec<f64> = series.collect();
        assert!(!values.is_empty() || !label.is_empty(), "{name} is not exported");
        values.iter().sum()
    }

    /// Waits until a metric has a value.
    #[track_caller]
    pub fn wait_metric(&self, name: &str, wanted: u64) {
        let mut last = None;
        let deadline = std::time::Instant::now() + PATIENCE;
        while last != Some(wanted) {
            assert!(std::time::Instant::now() < deadline, "{name} is {last:?}, not {wanted}");
            super::wait::pause(Duration::from_millis(5));
            last = Some(self.metric(name));
        }
    }

    /// Waits until nothing is in flight and no client is connected.
    #[track_caller]
    pub fn wait_quiet(&self) {
        self.wait_metric("ringway_requests_in_flight", 0);
        self.wait_metric("ringway_connections_open", 0);
    }

    /// The access log's lines that are whole.
    #[track_caller]
    pub fn log(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.folder().join("access.log")).unwrap_or_default();
        let whole = text.rfind('\n').map_or("", |at| &text[..at]);
        whole.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
    }

    /// The access log's line of a request, once it is there.
    #[track_caller]
    pub fn logged(&self, request_id: &str) -> Value {
        wait_for("the request is in the log", PATIENCE, || {
            self.log().into_iter().find(|line| line["http.request.id"] == request_id)
        })
    }

    /// Descriptors that the process holds.
    pub fn descriptors(&self) -> usize {
        let dir = format!("/proc/{}/fd", self.part.pid());
        std::fs::read_dir(dir).map_or(0, |entries| entries.count())
    }

    /// Resident memory, in octets.
    pub fn resident(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.part.pid())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes = line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok());
        kilobytes.expect("the process lives") * 1024
    }
}
