//! A router's configuration, and its start.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::{Map, Value, json};

use super::part::Part;
use super::ports::free_address;
use super::router::Router;

/// Put together step by step, then [`start`](Self::start)ed. JSON is YAML too, so the file is written as JSON.
pub struct Setup {
    pub address: SocketAddr,
    pub admin: SocketAddr,
    pub dir: tempfile::TempDir,
    config: Value,
    under: Vec<String>,
    stdout: Option<Stdio>,
    stderr: Option<Stdio>,
}

impl Setup {
    /// One listener, all requests logged to a file, cores that park: tests share their machine.
    pub fn new() -> Setup {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let (address, admin) = (free_address(), free_address());
        let config = json!({
            "idle": "park",
            "listeners": [{ "address": address.to_string(), "protocol": "http" }],
            "admin": { "address": admin.to_string() },
            "access_log": { "path": dir.path().join("access.log"), "success_sample": 1 },
            "services": [],
        });
        Setup { address, admin, dir, config, under: Vec::new(), stdout: None, stderr: None }
    }

    pub fn service(self, id: &str, hosts: &[&str], endpoints: &[SocketAddr]) -> Setup {
        let endpoints: Vec<String> = endpoints.iter().map(SocketAddr::to_string).collect();
        self.service_at(id, hosts, &endpoints)
    }

    /// The same with endpoints as they are written.
    pub fn service_at(mut self, id: &str, hosts: &[&str], endpoints: &[String]) -> Setup {
        let service = json!({ "id": id, "hostnames": hosts, "endpoints": endpoints });
        self.config["services"].as_array_mut().expect("the list made above").push(service);
        self
    }

    /// These services and no others: id, host names, endpoints.
    pub fn services(mut self, services: &[(&str, &[&str], &[SocketAddr])]) -> Setup {
        self.config["services"] = json!([]);
        services.iter().fold(self, |setup, (id, hosts, endpoints)| setup.service(id, hosts, endpoints))
    }

    /// The services come from `changes.jsonl` in the folder, which is there already if it `begins` with something.
    pub fn feed(self, begins: Option<&str>) -> Setup {
        let path = self.dir.path().join("changes.jsonl");
        if let Some(begins) = begins {
            std::fs::write(&path, begins).expect("a file");
        }
        let dir = self.dir.path().join("state");
        self.set("state", json!({ "dir": dir, "feed": { "kind": "file", "path": path } }))
    }

    /// Another listener, written out.
    pub fn also_listen(mut self, listener: Value) -> Setup {
        self.config["listeners"].as_array_mut().expect("the list made above").push(listener);
        self
    }

    /// The first listener alone.
    pub fn listen_once(mut self) -> Setup {
        self.config["listeners"].as_array_mut().expect("the list made above").truncate(1);
        self
    }

    /// One service, `a.test`, with these endpoints.
    pub fn to(endpoints: &[SocketAddr]) -> Setup {
        Setup::new().service("svc_a", &["a.test"], endpoints)
    }

    /// Sets a field by its path, as in `timeouts.idle`.
    pub fn set(mut self, path: &str, value: impl Into<Value>) -> Setup {
        let mut at = &mut self.config;
        for name in path.split('.') {
            if at.is_null() {
                *at = Value::Object(Map::new());
            }
            at = &mut at[name];
        }
        *at = value.into();
        self
    }

    /// Sets a field of the listener.
    pub fn listener(mut self, name: &str, value: impl Into<Value>) -> Setup {
        self.config["listeners"][0][name] = value.into();
        self
    }

    /// Sets a field of the service added last.
    pub fn of_service(mut self, name: &str, value: impl Into<Value>) -> Setup {
        let services = self.config["services"].as_array_mut().expect("the list made in new");
        services.last_mut().expect("a service")[name] = value.into();
        self
    }

    /// Starts the router by means of `command`, as in `["prlimit", "--nofile=600"]`.
    pub fn under<const N: usize>(mut self, command: [&str; N]) -> Setup {
        self.under = command.map(str::to_owned).to_vec();
        self
    }

    /// Where the router's standard output goes; else nowhere.
    pub fn stdout(mut self, stdout: impl Into<Stdio>) -> Setup {
        self.stdout = Some(stdout.into());
        self
    }

    /// Where the router's standard error goes; else to a file, from which [`Part::said`] has it.
    pub fn stderr(mut self, stderr: impl Into<Stdio>) -> Setup {
        self.stderr = Some(stderr.into());
        self
    }

    /// Writes the configuration and tells where.
    pub fn write(&self) -> PathBuf {
        let file = self.dir.path().join("edge.yaml");
        std::fs::write(&file, format!("{:#}\n", self.config)).expect("a file");
        file
    }

    /// Starts the router without waiting for it.
    pub fn launch(mut self) -> Router {
        let config = self.write().display().to_string();
        let mut line = self.under.clone();
        line.extend([env!("CARGO_BIN_EXE_ringway"), "run", "--config", &config].map(str::to_owned));
        let stdout = self.stdout.take().unwrap_or_else(Stdio::null);
        let part = match self.stderr.take() {
            Some(stderr) => Part::start_saying(&line, "util-linux", self.dir.path(), [stdout, stderr]),
            None => Part::start(&line, "util-linux", self.dir.path(), stdout),
        };
        Router { address: self.address, admin: self.admin, part, setup: self }
    }

    /// Starts the router and waits until it is ready.
    ///
    /// # Panics
    /// It is not ready in time.
    #[track_caller]
    pub fn start(self) -> Router {
        let mut router = self.launch();
        router.wait_ready();
        router
    }
}
