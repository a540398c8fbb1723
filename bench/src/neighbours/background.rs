//! Threads that take a CPU only when nobody else wants it.
#![allow(unsafe_code)] // sched_setscheduler, which std does not have

use std::thread;

/// Runs `work` on a thread that lets every other go first: what the harness does on the generator's CPU would otherwise hold
/// up the load, and be measured as the router's latency.
///
/// # Panics
/// If the kernel has no such threads.
pub(super) fn spawn(work: impl FnOnce() + Send + 'static) {
    thread::spawn(move || {
        let parameters = libc::sched_param { sched_priority: 0 };
        // SAFETY: the call reads one struct, ours; 0 is the calling thread.
        let failed = unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const parameters) };
        assert_eq!(failed, 0, "SCHED_IDLE: {}", std::io::Error::last_os_error());
        work();
    });
}
