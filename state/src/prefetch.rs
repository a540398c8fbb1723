//! Asks the processor to fetch memory that is about to be read, so that several lines come at once rather than in turn.
#![allow(unsafe_code)] // the intrinsic takes a pointer

const LINE_OCTETS: usize = 64;

/// Fetches the lines of the first `lines` × 64 octets.
#[inline(always)]
pub(crate) fn prefetch(octets: &[u8], lines: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..lines {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let address = octets.as_ptr().wrapping_add(line * LINE_OCTETS);
        // SAFETY: the intrinsic asks for SSE, which x86-64 always has; a prefetch reads nothing into the program and does
        // not fault on any address, so one behind the slice's end is harmless.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (octets, lines, LINE_OCTETS);
}
