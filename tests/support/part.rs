//! Programs that tests start.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::Duration;

use super::wait::wait_for;

/// A running program. It is killed when this is dropped, and by the kernel if the test dies first.
pub struct Part {
    pub child: Child,
    said: PathBuf,
}

const SAID: &str = "stderr";

impl Part {
    /// Starts `line`, the program first, in `dir`. `package` is what installs it on Debian. What the program says on
    /// stderr is kept, and shown if the test fails.
    pub fn start(line: &[String], package: &str, dir: &Path, stdout: Stdio) -> Part {
        let stderr = File::create(dir.join(SAID)).expect("a temporary folder takes files");
        Part::start_saying(line, package, dir, [stdout, stderr.into()])
    }

    /// The same with another place for what it says on stderr.
    pub fn start_saying(line: &[String], package: &str, dir: &Path, [stdout, stderr]: [Stdio; 2]) -> Part {
        need(&line[0], package);
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL"]).args(line);
        command.current_dir(dir).stdin(Stdio::null()).stdout(stdout).stderr(stderr);
        let child = command.spawn().unwrap_or_else(|e| lacking("setpriv", "util-linux", &e));
        Part { child, said: dir.join(SAID) }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn said(&self) -> String {
        std::fs::read_to_string(&self.said).unwrap_or_default()
    }

    /// Sends a signal, named as `kill` does.
    pub fn signal(&self, name: &str) {
        let line = format!("kill -{name} {}", self.pid());
        let status = Command::new("sh").args(["-c", &line]).status().expect("sh starts");
        assert!(status.success(), "{line}");
    }

    /// Waits for the program's own end.
    #[track_caller]
    pub fn wait_exit(&mut self, patience: Duration) -> ExitStatus {
        wait_for("the program ends", patience, || self.child.try_wait().expect("our own child"))
    }

    pub fn has_ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("our own child")
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // Fails if it has ended, which is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            println!("--- stderr of {}:\n{}", self.pid(), self.said());
        }
    }
}

/// Runs a program to its end.
pub fn run(line: &[&str], package: &str) -> Output {
    let output = Command::new(line[0]).args(&line[1..]).stdin(Stdio::null()).output();
    output.unwrap_or_else(|e| lacking(line[0], package, &e))
}

fn need(program: &str, package: &str) {
    let found = program.contains('/') && Path::new(program).exists();
    let paths = std::env::var_os("PATH").unwrap_or_default();
    if !found && !std::env::split_paths(&paths).any(|dir| dir.join(program).exists()) {
        lacking(program, package, &ErrorKind::NotFound.into());
    }
}

fn lacking(program: &str, package: &str, error: &std::io::Error) -> ! {
    panic!("{program} does not start ({error}); install it with: apt-get install {package}");
}
