//! Child processes that cannot outlive the harness: a guard stops each by its own pid, and the kernel does so
//! when the harness is killed outright.
#![allow(unsafe_code)] // `pre_exec`, and prctl and sched_setaffinity within it

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::limits::{OUTPUT_TAIL_BYTES, POLL_MILLIS, READY_SECONDS, STOP_SECONDS};
use crate::{interrupt, procfs};

/// A running child. Dropping it sends SIGTERM, waits [`STOP_SECONDS`], then SIGKILLs it and its own children.
pub struct Owned {
    name: String,
    child: Child,
    output: PathBuf,
}

impl Owned {
    /// Starts `command` bound to CPU `core`, both outputs going to `dir/NAME.out`. `mending` completes the
    /// sentence "it does not start; …".
    pub fn spawn(
        name: &str,
        mut command: Command,
        core: usize,
        dir: &Path,
        mending: &'static str,
    ) -> Result<Self, Failure> {
        let output = dir.join(format!("{name}.out"));
        let file = File::create(&output).map_err(Failure::file(&output))?;
        let copy = file.try_clone().map_err(Failure::file(&output))?;
        command.stdin(Stdio::null()).stdout(file).stderr(copy);
        let harness = std::process::id();
        // SAFETY: between fork and exec only async-signal-safe calls are allowed; `bind_to_harness` makes
        // system calls alone, and neither allocates nor locks.
        unsafe { command.pre_exec(move || bind_to_harness(harness, core)) };
        let program = command.get_program().to_string_lossy().into_owned();
        let child = command.spawn().map_err(|source| Failure::Start { program, mending, source })?;
        Ok(Self { name: name.to_owned(), child, output })
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The end of what the child printed.
    pub fn output_tail(&self) -> String {
        let read = || -> io::Result<String> {
            let mut file = File::open(&self.output)?;
            let len = file.metadata()?.len();
            file.seek(SeekFrom::Start(len.saturating_sub(OUTPUT_TAIL_BYTES as u64)))?;
            let mut octets = Vec::new();
            file.read_to_end(&mut octets)?;
            Ok(String::from_utf8_lossy(&octets).into_owned())
        };
        read().unwrap_or_else(|error| format!("({error})"))
    }

    /// What follows `start` in the first line that the child printed so, once it has.
    pub fn says<T: std::str::FromStr>(&mut self, start: &str) -> Result<T, Failure> {
        let deadline = Instant::now() + Duration::from_secs(READY_SECONDS);
        loop {
            interrupt::check()?;
            let said = self.output_tail();
            let whole = said.split_inclusive('\n').filter(|line| line.ends_with('\n'));
            if let Some(value) =
                whole.filter_map(|line| line.trim_end().strip_prefix(start)?.parse().ok()).next()
            {
                return Ok(value);
            }
            self.check_alive()?;
            if Instant::now() >= deadline {
                return Err(Failure::Unreadable { name: self.name.clone(), output: said });
            }
            sleep(Duration::from_millis(POLL_MILLIS));
        }
    }

    /// [`Failure::Ended`] if the child is no longer there.
    pub fn check_alive(&mut self) -> Result<(), Failure> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(self.ended(&status.to_string())),
            Err(error) => Err(self.ended(&error.to_string())),
        }
    }

    /// Waits for the child to end by itself and succeed.
    pub fn wait_success(mut self, within: Duration) -> Result<(), Failure> {
        let status = self.wait(within)?;
        if status.success() { Ok(()) } else { Err(self.ended(&status.to_string())) }
    }

    fn wait(&mut self, within: Duration) -> Result<ExitStatus, Failure> {
        let deadline = Instant::now() + within;
        loop {
            interrupt::check()?;
            match self.child.try_wait() {
                Ok(Some(status)) => return Ok(status),
                Err(error) => return Err(self.ended(&error.to_string())),
                Ok(None) if Instant::now() >= deadline => {
                    return Err(Failure::NeverEnded { name: self.name.clone(), seconds: within.as_secs() });
                }
                Ok(None) => sleep(Duration::from_millis(POLL_MILLIS)),
            }
        }
    }

    fn ended(&self, status: &str) -> Failure {
        Failure::Ended { name: self.name.clone(), status: status.to_owned(), output: self.output_tail() }
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(None)) {
            return;
        }
        // A killed master leaves workers behind; they are known only while it lives.
        let workers = procfs::children(self.pid());
        signal(self.pid(), libc::SIGTERM);
        let deadline = Instant::now() + Duration::from_secs(STOP_SECONDS);
        while Instant::now() < deadline {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            sleep(Duration::from_millis(POLL_MILLIS));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        for worker in workers {
            signal(worker, libc::SIGKILL);
        }
    }
}

fn signal(pid: u32, signal: libc::c_int) {
    let Ok(pid) = libc::pid_t::try_from(pid) else { return };
    // SAFETY: kill takes two integers and touches no memory of ours; `pid` is a child not yet waited for (or
    // its child).
    unsafe { libc::kill(pid, signal) };
}

/// In the child, before exec: die with the harness, run on one CPU.
fn bind_to_harness(harness: u32, core: usize) -> io::Result<()> {
    // SIGTERM, not SIGKILL: nginx's master passes it on to its workers.
    // SAFETY: PR_SET_PDEATHSIG takes a signal number by value.
    if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) } != 0 {
        return Err(io::Error::last_os_error());
    }
    if std::os::unix::process::parent_id() != harness {
        return Err(io::ErrorKind::BrokenPipe.into()); // it died between fork and prctl
    }
    bind_self(core)
}

/// Binds the calling thread to CPU `core`; what it starts later inherits that.
pub fn bind_self(core: usize) -> io::Result<()> {
    if core >= 8 * size_of::<libc::cpu_set_t>() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: an all-zero cpu_set_t is the empty set, and `core` was checked to lie within it.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core, &mut set);
        set
    };
    // SAFETY: `set` lives across the call, and its size is given.
    if unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a failed unwrap is the test's failure
    use super::*;

    fn spawn(dir: &Path, script: &str) -> Owned {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Owned::spawn("child", command, 0, dir, "").unwrap()
    }

    fn is_there(pid: u32) -> bool {
        Path::new(&format!("/proc/{pid}")).exists()
    }

    #[test]
    fn dropping_stops_the_child() {
        let dir = tempfile::tempdir().unwrap();
        let child = spawn(dir.path(), "exec sleep 600");
        let pid = child.pid();
        assert!(is_there(pid));
        drop(child);
        assert!(!is_there(pid));
    }

    #[test]
    fn a_panic_stops_the_child_too() {
        let dir = tempfile::tempdir().unwrap();
        let child = spawn(dir.path(), "exec sleep 600");
        let pid = child.pid();
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _held = child;
            panic!("on purpose");
        }));
        assert!(panicked.is_err());
        assert!(!is_there(pid));
    }

    #[test]
    fn an_end_of_its_own_is_told_with_its_output() {
        let dir = tempfile::tempdir().unwrap();
        let failure =
            spawn(dir.path(), "echo out of luck; exit 7").wait_success(Duration::from_secs(10)).unwrap_err();
        let text = failure.to_string();
        assert!(text.contains("out of luck") && text.contains('7'), "{text}");
    }

    #[test]
    fn a_child_that_goes_on_is_an_error_and_is_stopped() {
        let dir = tempfile::tempdir().unwrap();
        let child = spawn(dir.path(), "exec sleep 600");
        let pid = child.pid();
        assert!(matches!(child.wait_success(Duration::from_millis(50)), Err(Failure::NeverEnded { .. })));
        assert!(!is_there(pid));
    }

    #[test]
    fn a_missing_program_names_its_mending() {
        let dir = tempfile::tempdir().unwrap();
        let command = Command::new("/nonexistent/program");
        let failure = Owned::spawn("x", command, 0, dir.path(), "install it").err().unwrap();
        assert!(failure.to_string().ends_with("install it"));
    }
}
