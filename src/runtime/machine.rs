//! What the machine can do, found out by trying, and what mends it where it cannot.

use std::error::Error;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::ring::kernel::{Kernel, Kind, Op, Token, Wait};
use super::ring::uring::{BUFFER_OCTETS, Uring};
use crate::limits;

/// Where glommio reads which CPUs share what.
const CPUS: &str = "/sys/devices/system/cpu";
/// The smallest send buffers hold some KiB.
const MORE_THAN_A_SOCKET_TAKES: usize = 1 << 20;

/// Something that the machine lacks, and the command that mends it.
#[derive(Debug, thiserror::Error)]
#[error("{lacks}; {mend}")]
pub struct Lacking {
    pub lacks: String,
    pub mend: String,
}

pub(super) fn lacking(lacks: impl Into<String>, mend: impl Into<String>) -> Lacking {
    Lacking { lacks: lacks.into(), mend: mend.into() }
}

/// Whether an error is, at its root, of a disk, a quota or a limit that takes no more.
#[must_use]
pub fn lacks_room(error: &(dyn Error + 'static)) -> bool {
    let causes = std::iter::successors(Some(error), |error| (**error).source());
    let mut kinds = causes.filter_map(|error| error.downcast_ref::<io::Error>()).map(io::Error::kind);
    kinds.any(|kind| {
        matches!(kind, ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge)
    })
}

/// Tries the socket ring once, with everything that a core needs of it.
///
/// # Errors
/// [`Lacking`] with the cause as far as the kernel tells it.
pub fn probe() -> Result<(), Lacking> {
    if !Path::new(CPUS).is_dir() {
        let what = format!("there is no {CPUS}, which tells what CPUs there are");
        return Err(lacking(what, "mount it with: mount -t sysfs sysfs /sys"));
    }
    let mut ring = Uring::new().map_err(|e| ring_refused(&e))?;
    let newer = "boot Linux 6.1 or newer (Debian 12: apt-get install linux-image-amd64, then reboot)";
    if !silent_send(&mut ring).map_err(|e| ring_refused(&e))? {
        return Err(lacking(format!("the kernel ({}) does not tell that a send was cut", release()), newer));
    }
    if !multishot_receive(&mut ring).map_err(|e| ring_refused(&e))? {
        let what = format!("the kernel ({}) has no multishot receive into provided buffers", release());
        return Err(lacking(what, newer));
    }
    Ok(())
}

/// Sends silently, first what a socket takes and then far more; false unless the second alone is told of, as cut.
/// Octets would be lost where the kernel did not tell.
fn silent_send(ring: &mut Uring) -> io::Result<bool> {
    let (ours, _peer) = UnixStream::pair()?;
    socket2::SockRef::from(&ours).set_send_buffer_size(limits::RECV_BUFFER_OCTETS)?;
    let octets = vec![0u8; MORE_THAN_A_SOCKET_TAKES];
    let mut send = |octets: &[u8]| {
        let (at, length) = (octets.as_ptr(), u32::try_from(octets.len()).unwrap_or(u32::MAX));
        let op = Op::Send { fd: ours.as_raw_fd(), at, octets: length, silent: true };
        ring.push(op, Token { kind: Kind::Send, slot: 0, generation: 0 });
        ring.enter(Wait::No)?;
        let told = ring.completion().map(|completion| completion.result);
        Ok::<_, io::Error>((told, ring.settled()))
    };
    let (whole, settled) = send(&octets[..1])?;
    if (whole, settled) != (None, true) {
        return Ok(false);
    }
    match send(&octets)? {
        (Some(taken), true) => Ok(taken > 0 && (taken.unsigned_abs() as usize) < octets.len()),
        _ => {
            std::mem::forget(octets); // the send may be under way yet
            Ok(false)
        }
    }
}

/// Receives an octet through a multishot receive that goes on; false if the kernel does not know it.
fn multishot_receive(ring: &mut Uring) -> io::Result<bool> {
    let (ours, peer) = UnixStream::pair()?;
    let mut buffer = vec![0u8; limits::RECV_BUFFER_OCTETS];
    let token = |kind| Token { kind, slot: 0, generation: 0 };
    ring.provide(0, buffer.as_mut_ptr(), BUFFER_OCTETS);
    ring.push(Op::Recv { fd: ours.as_raw_fd(), multishot: true }, token(Kind::Recv));
    io::Write::write_all(&mut &peer, b"x")?;
    let mut answer = None;
    let deadline = Instant::now() + Duration::from_secs(1);
    while answer.is_none() && Instant::now() < deadline {
        ring.enter(Wait::Until(deadline))?;
        answer = ring.completion();
    }
    let works = answer.is_some_and(|c| c.result == 1 && c.more && c.buffer == Some(0));
    // The receive must be over before its buffer goes.
    drop(peer);
    ring.push(Op::CancelAll { fd: ours.as_raw_fd() }, token(Kind::Cancel));
    let mut over = !works;
    while !over && Instant::now() < deadline {
        ring.enter(Wait::Until(deadline))?;
        while let Some(completion) = ring.completion() {
            over |= Token::from_bits(completion.token) == Some(token(Kind::Recv)) && !completion.more;
        }
    }
    if !over {
        std::mem::forget(buffer);
    }
    Ok(works)
}

fn ring_refused(error: &io::Error) -> Lacking {
    match error.raw_os_error() {
        Some(libc::ENOSYS) => lacking(
            "io_uring is not available here",
            "run on Linux 6.1 or newer, and in a container without its default seccomp profile, which refuses io_uring \
             (docker run --security-opt seccomp=unconfined)",
        ),
        Some(libc::EPERM | libc::EACCES) => lacking(
            "io_uring is not permitted here",
            "allow it with: sysctl -w kernel.io_uring_disabled=0 (in a container, the default seccomp profile refuses it: \
             docker run --security-opt seccomp=unconfined)",
        ),
        Some(libc::EINVAL) => lacking(
            format!("the kernel ({}) lacks io_uring features of Linux 6.1", release()),
            "boot Linux 6.1 or newer (Debian 12: apt-get install linux-image-amd64, then reboot)",
        ),
        Some(libc::ENOMEM) => lacking(
            format!("a core's ring needs {} KiB of locked memory", limits::PINNED_OCTETS_PER_CORE >> 10),
            "raise the limit with: ulimit -l 8192 (systemd: LimitMEMLOCK=8M)",
        ),
        Some(libc::EMFILE | libc::ENFILE) => lacking(
            "no file descriptor is left",
            "raise the limit with: ulimit -n 20000 (systemd: LimitNOFILE=)",
        ),
        _ => lacking(format!("the kernel refuses a socket ring: {error}"), "see dmesg for the reason"),
    }
}

fn release() -> String {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    release.trim().to_owned()
}

/// The CPUs that the calling thread may run on, ascending.
pub fn cpus() -> Vec<usize> {
    let set = sched_getaffinity(None).unwrap_or_default();
    (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect()
}

/// Leaves these CPUs to others: the threads that there are, and those that they start from now on, run on the rest. Where
/// there is no rest, they stay where they are.
pub fn leave(cpus: &[usize]) {
    let mut rest = sched_getaffinity(None).unwrap_or_default();
    cpus.iter().filter(|cpu| **cpu < CpuSet::MAX_CPU).for_each(|cpu| rest.unset(*cpu));
    for thread in std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
        let number = thread.file_name().to_str().and_then(|name| name.parse().ok());
        // The kernel refuses an empty set.
        let _ = number.and_then(Pid::from_raw).map(|thread| sched_setaffinity(Some(thread), &rest));
    }
}

/// How often the calling thread has waited for the disk to bring a page of memory.
#[allow(unsafe_code)] // std does not tell
pub fn major_faults() -> u64 {
    // SAFETY: the call writes one rusage, which is plain data.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage);
        usage
    };
    u64::try_from(usage.ru_majflt).unwrap_or(0)
}

/// Lets the calling thread's sleeps end when they are due, not up to 50 µs (the default timer slack) later.
#[allow(unsafe_code)] // std knows no timer slack
pub fn sharpen_timers() {
    // SAFETY: takes no pointer; a kernel that refuses leaves the slack as it is.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}

/// Gives the calling thread less of a busy CPU: by so many steps of `nice`.
pub fn be_nice(steps: i32) {
    // What nobody is asked for the kernel does not refuse. Without a process it is the calling thread's (setpriority(2)).
    let _ = rustix::process::setpriority_process(None, steps);
}

/// CPU time of the calling thread, user and system.
pub fn thread_cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// Whether this process can make files in a folder. None is left, and where the file system can, none is seen.
///
/// # Errors
/// It cannot, and why.
pub fn can_make_files(folder: &Path) -> io::Result<()> {
    use rustix::fs::{Access, AtFlags, CWD, accessat};
    accessat(CWD, folder, Access::WRITE_OK, AtFlags::EACCESS)?;
    // Root may by the folder's mode what procfs and others refuse, so that only trying tells.
    match File::options().write(true).custom_flags(libc::O_TMPFILE).open(folder) {
        Ok(_) => Ok(()),
        Err(error) if knows_no_nameless_files(&error) => {
            let probe = folder.join(format!(".ringway-{}", std::process::id()));
            std::fs::create_dir(&probe).and_then(|()| std::fs::remove_dir(&probe))
        }
        Err(error) => Err(error),
    }
}

/// Of a file system, or a kernel, that takes no `O_TMPFILE` (open(2)).
fn knows_no_nameless_files(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::EISDIR | libc::EINVAL | libc::ENOENT))
}

/// Raises the soft limit of descriptors to the hard one, and returns it.
///
/// # Errors
/// Fewer than the router needs at the least.
#[allow(unsafe_code)] // std has no limits
pub fn descriptors() -> Result<usize, Lacking> {
    // SAFETY: both calls read or write one rlimit that is ours.
    let limit = unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit);
        limit.rlim_cur = limit.rlim_max;
        libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
        libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit);
        usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX)
    };
    if limit < 2 * limits::DESCRIPTORS_RESERVED {
        return Err(lacking(
            format!(
                "only {limit} file descriptors are allowed, fewer than {}",
                2 * limits::DESCRIPTORS_RESERVED
            ),
            "raise the limit with: ulimit -n 20000 (systemd: LimitNOFILE=)",
        ));
    }
    Ok(limit)
}
