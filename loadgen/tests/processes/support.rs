//! Starts what the tests need, on free ports, and stops only that.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;

/// However slow the machine is, a test ends.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn loadgen(arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ringway-loadgen"));
    command.args(arguments.split_whitespace()).stdin(Stdio::null());
    command
}

/// Runs the program to its end: exit code, standard output, standard error.
pub(crate) fn ended(arguments: &str) -> (i32, String, String) {
    let Output { status, stdout, stderr } = loadgen(arguments).output().unwrap();
    let text = |octets| String::from_utf8(octets).unwrap();
    (status.code().unwrap(), text(stdout), text(stderr))
}

/// `run` to its end, which must be a good one; its JSON document.
pub(crate) fn report(arguments: &str) -> Value {
    let (code, out, err) = ended(&format!("run --json - {arguments}"));
    assert_eq!(code, 0, "{err}");
    serde_json::from_str(&out).unwrap()
}

/// A program that was started, and the first line that it printed.
pub(crate) struct Started {
    child: Child,
    pub(crate) first_line: String,
    out: BufReader<std::process::ChildStdout>,
}

impl Started {
    pub(crate) fn new(arguments: &str) -> Self {
        let mut child = loadgen(arguments).stdout(Stdio::piped()).spawn().unwrap();
        let (mut out, mut first_line) = (BufReader::new(child.stdout.take().unwrap()), String::new());
        out.read_line(&mut first_line).unwrap();
        Self { child, first_line, out }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// What it printed after its first line, and how it ended.
    pub(crate) fn end(mut self) -> (String, ExitStatus) {
        let mut rest = String::new();
        self.out.read_to_string(&mut rest).unwrap();
        (rest, self.child.wait().unwrap())
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An origin on a free port, and on the first CPU, since the generator chooses the last.
pub(crate) struct Origin {
    pub(crate) process: Started,
    pub(crate) address: SocketAddr,
}

impl Origin {
    pub(crate) fn start(options: &str) -> Self {
        let first = ringway::runtime::machine::cpus()[0];
        let process = Started::new(&format!("origin --listen 127.0.0.1:0 --cpu {first} {options}"));
        let address = process.first_line.trim().strip_prefix("listening on ").unwrap().parse().unwrap();
        Self { process, address }
    }

    /// What it sends to a client that writes `request` and then only reads.
    pub(crate) fn exchange(&self, request: &[u8]) -> Vec<u8> {
        let mut stream = connect(self.address);
        stream.write_all(request).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        answer
    }

    /// Memory in use and at its highest, in KiB.
    pub(crate) fn peak_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        peak.trim().trim_end_matches(" kB").parse().unwrap()
    }
}

pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// A target that treats each connection as told, on a thread of its own; the threads end with the test.
pub(crate) fn target(serve: impl Fn(TcpStream) + Clone + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (serve, stream) = (serve.clone(), stream.unwrap());
            stream.set_nodelay(true).unwrap();
            thread::spawn(move || serve(stream));
        }
    });
    address
}

/// The next request's head, or nothing when the client has gone.
pub(crate) fn next_request(stream: &TcpStream) -> Option<String> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    // The client sends its next request after the answer, so no octet is lost in the reader.
    while !head.ends_with("\r\n\r\n") {
        match reader.read_line(&mut head) {
            Ok(1..) => {}
            _ => return None,
        }
    }
    Some(head)
}

pub(crate) const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
