//! nginx as an origin.

use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::part::Part;
use super::ports::free_address;
use super::wait::wait_until;

const ECHO_MODULE: &str = "/usr/share/nginx/modules/ngx_http_echo_module.so";

/// A running nginx with these paths, for any host name:
///
/// | | |
/// |---|---|
/// | `/files/NAME` | GET, PUT and DELETE of files |
/// | `/chunked/NAME`, `/until-close/NAME` | the same files, framed so |
/// | `/echo` | the request's body |
/// | `/uri/…` | the request's path |
/// | `/empty` | 204 |
/// | `/close` | a response after which nginx closes |
pub struct Nginx {
    pub address: SocketAddr,
    _part: Part,
    dir: tempfile::TempDir,
}

impl Nginx {
    /// # Panics
    /// nginx or its echo module is not installed, or it does not answer.
    pub fn start() -> Nginx {
        let dir = tempfile::tempdir().expect("a temporary folder");
        assert!(
            std::path::Path::new(ECHO_MODULE).exists(),
            "{ECHO_MODULE} is missing; install it with: apt-get install nginx-light libnginx-mod-http-echo"
        );
        let address = free_address();
        std::fs::create_dir_all(dir.path().join("www/files")).expect("a folder");
        let _part = run(dir.path(), &format!("load_module {ECHO_MODULE};\n"), &http(dir.path(), address));
        let nginx = Nginx { address, _part, dir };
        wait_until("nginx answers", || TcpStream::connect(address).is_ok());
        nginx
    }

    /// Where `/files/NAME` lies.
    pub fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join("www/files").join(name)
    }
}

/// Starts nginx as one process on this `http` block; what it writes lies in `dir`. `modules` are lines before all others.
pub fn run(dir: &Path, modules: &str, http: &str) -> Part {
    let at = dir.display();
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .iter()
        .map(|kind| format!("    {kind}_temp_path {at}/{kind};\n"))
        .collect();
    let text = format!(
        "{modules}daemon off;
master_process off;
pid {at}/nginx.pid;
events {{ worker_connections 1024; }}
http {{
{temporary}    access_log off;
{http}}}
"
    );
    let file = dir.join("nginx.conf");
    std::fs::write(&file, text).expect("a file");
    let line = ["nginx", "-c", &file.display().to_string(), "-e", "stderr"].map(str::to_owned);
    Part::start(&line, "nginx-light", dir, Stdio::null())
}

fn http(dir: &Path, address: SocketAddr) -> String {
    let dir = dir.display();
    format!(
        "    client_max_body_size 0;
    client_body_buffer_size 64k;
    keepalive_requests 1000000;
    default_type text/plain;
    server {{
        listen {address} reuseport backlog=4096;
        root {dir}/www;
        location /files/ {{ dav_methods PUT DELETE; }}
        location /chunked/ {{ alias {dir}/www/files/; ssi on; ssi_types *; }}
        location /until-close/ {{
            alias {dir}/www/files/; ssi on; ssi_types *; chunked_transfer_encoding off;
        }}
        location = /echo {{ echo_read_request_body; echo_request_body; }}
        location /uri/ {{ return 200 $request_uri; }}
        location = /empty {{ return 204; }}
        location = /close {{ keepalive_timeout 0; return 200 closing; }}
    }}
"
    )
}
