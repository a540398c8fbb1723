//! The real router follows the file that `deltas` writes, and `verify` finds nothing wrong.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Started, ended, report};

/// Beside the program under test.
fn program() -> PathBuf {
    let path = Path::new(env!("CARGO_BIN_EXE_ringway-loadgen")).with_file_name("ringway");
    assert!(path.exists(), "the router is missing; build it with: cargo build -p ringway");
    path
}

struct Router {
    child: Child,
    address: SocketAddr,
}

impl Router {
    /// Follows `deltas`, and is ready.
    fn following(deltas: &Path, folder: &Path) -> Self {
        let free = || TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let (address, admin) = (free(), free());
        let config = folder.join("ringway.yaml");
        let text = format!(
            "listeners: [{{ address: \"{address}\", protocol: http }}]\nadmin: {{ address: \"{admin}\" }}\n\
             state: {{ dir: {}, feed: {{ kind: file, path: {} }} }}\naccess_log: {{ path: {} }}\n",
            folder.join("state").display(),
            deltas.display(),
            folder.join("access.log").display()
        );
        std::fs::write(&config, text).unwrap();
        let log = std::fs::File::create(folder.join("router.log")).unwrap();
        let mut command = Command::new(program());
        command.args(["run", "--config"]).arg(config).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let router = Self { child: command.spawn().unwrap(), address };
        let deadline = Instant::now() + Duration::from_secs(30);
        while !is_ready(admin) {
            let said = std::fs::read_to_string(folder.join("router.log")).unwrap_or_default();
            assert!(Instant::now() < deadline, "the router is not ready: {said}");
        }
        router
    }
}

impl Drop for Router {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn is_ready(admin: SocketAddr) -> bool {
    TcpStream::connect(admin).is_ok() && {
        let output = Command::new("curl")
            .args(["-s", "-o", "/dev/null", "-w", "%{http_code}", "--max-time", "5"])
            .arg(format!("http://{admin}/readyz"))
            .output()
            .expect("curl is missing; install it with: apt-get install curl");
        output.stdout == b"200"
    }
}

#[test]
fn a_real_router_follows_the_churn() {
    let folder = tempfile::tempdir().unwrap();
    let first = ringway::runtime::machine::cpus()[0];
    let listen = ["127.0.0.1:0"; 12].join(",");
    let origin = Started::new(&format!("origin --cpu {first} --listen {listen}"));
    let origins = origin.first_line.trim().strip_prefix("listening on ").unwrap().replace(", ", ",");
    let deltas = folder.path().join("deltas.jsonl");
    let line =
        format!("deltas --out {} --hosts 2000 --origins {origins} --churn 300 --seconds 5", deltas.display());
    let churn = Started::new(&line);
    let router = Router::following(&deltas, folder.path());
    let known = format!("{}.known", deltas.display());
    let line = format!(
        "verify --target {} --known {known} --rate 400 --connections 8 --seconds 2 --window 5 --json -",
        router.address
    );
    let (code, document, said) = ended(&line);
    assert_eq!(code, 0, "{said}");
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    assert!(document["right"].as_u64().unwrap() > 300, "{document}");
    assert!(churn.end().1.success());
    // The same once all is quiet, where only the last values are right.
    let quiet = line.replace("--window 5", "--window 0");
    let (code, _, said) = ended(&quiet);
    assert_eq!(code, 0, "{said}");
    // And a plan runs through it.
    let plan = Path::new(env!("CARGO_MANIFEST_DIR")).join("plans/steady.yaml");
    let line = format!("--target {} --plan {} --shorten 100", router.address, plan.display());
    assert!(report(&line)["targets"][0]["requests"].as_u64().unwrap() > 500);
}
