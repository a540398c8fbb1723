//! Memory that will be read soon is asked for early, so that it comes while other work is done.

#![allow(unsafe_code)] // an intrinsic

use std::task::Waker;

/// Lines of the processor's cache that the task of an idle connection lies in.
const TASK_LINES: usize = 8;
const LINE_OCTETS: usize = 64;

/// Asks for the task that a waker will wake. Of other wakers' memory nothing is read either.
#[inline]
pub(super) fn fetch_task(waker: &Waker) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..TASK_LINES {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let at = waker.data().cast::<i8>().wrapping_add(line * LINE_OCTETS);
        // SAFETY: the intrinsic asks for SSE, which x86-64 always has; a prefetch reads nothing into the program and does
        // not fault on any address, so one that is no task's is harmless.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (waker, TASK_LINES, LINE_OCTETS);
}
