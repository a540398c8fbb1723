//! This thread's CPU time: unlike the wall's, it stands still while others have the CPU.
#![allow(unsafe_code)] // std reads no clock but the wall's

use std::time::Duration;

/// CPU time that this thread has used since its start.
pub(super) fn now() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a timespec that lives across the call, all that clock_gettime writes to.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    assert_eq!(failed, 0, "Linux has had this clock since 2.6.12");
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleep_costs_nothing_and_work_does() {
        let start = now();
        let (_silent, never) = std::sync::mpsc::channel::<()>();
        assert!(never.recv_timeout(Duration::from_millis(50)).is_err());
        let slept = now();
        assert!(slept - start < Duration::from_millis(25), "{:?}", slept - start);
        let end = std::time::Instant::now() + Duration::from_secs(10);
        while now() - slept < Duration::from_millis(5) {
            assert!(std::time::Instant::now() < end, "the clock stands still");
        }
    }
}
