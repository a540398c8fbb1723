//! What safe code cannot say as shortly: memory is fetched before it is read, sixteen octets are compared at
//! once, and ASCII is text.
#![allow(unsafe_code)] // intrinsics; text that was just checked

const LINE_OCTETS: usize = 64;

/// Asks the processor to fetch the lines of the `count` × 64 octets from `at` on, so that they come at once
/// rather than in turn. `at` may lie outside of `octets`.
#[inline(always)]
pub(crate) fn prefetch(octets: &[u8], at: usize, count: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..count {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let address = octets.as_ptr().wrapping_add(at).wrapping_add(line * LINE_OCTETS);
        // SAFETY: the intrinsic asks for SSE, which x86-64 always has; a prefetch reads nothing into the
        // program and does not fault on any address, so one outside the slice is harmless.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (octets, at, count, LINE_OCTETS);
}

/// A bit for each of the octets that is `wanted`.
#[inline(always)]
pub(crate) fn equal_octets(octets: &[u8; 16], wanted: u8) -> u32 {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8};
        // SAFETY: all four ask for SSE2, which x86-64 always has; the load reads sixteen octets, unaligned,
        // and `octets` is as many.
        let equal = unsafe {
            let octets = _mm_loadu_si128(octets.as_ptr().cast());
            _mm_movemask_epi8(_mm_cmpeq_epi8(octets, _mm_set1_epi8(wanted.cast_signed())))
        };
        equal.cast_unsigned()
    }
    #[cfg(not(target_arch = "x86_64"))]
    octets.iter().rev().fold(0, |bits, &octet| bits << 1 | u32::from(octet == wanted))
}

/// ASCII octets as text; `None` for others. A check for UTF-8 goes octet by octet, and those that wait for
/// memory then keep the processor from running ahead: look-ups that take a service's id would cost twice as
/// much.
#[inline]
pub(crate) fn ascii(octets: &[u8]) -> Option<&str> {
    // SAFETY: `from_utf8_unchecked` demands UTF-8, and ASCII, which the octets were just found to be, is
    // UTF-8.
    octets.is_ascii().then(|| unsafe { std::str::from_utf8_unchecked(octets) })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn each_equal_octet_has_its_bit(octets in proptest::array::uniform16(0_u8..3), wanted in 0_u8..3) {
            let bits = equal_octets(&octets, wanted);
            for (at, &octet) in octets.iter().enumerate() {
                prop_assert_eq!(bits >> at & 1 == 1, octet == wanted);
            }
            prop_assert_eq!(bits >> 16, 0);
        }

        #[test]
        fn ascii_is_text_and_nothing_else_is(octets in prop_oneof![
            "[ -~]{0,40}".prop_map(String::into_bytes),
            proptest::collection::vec(any::<u8>(), 0..40),
        ]) {
            let expected = std::str::from_utf8(&octets).ok().filter(|text| text.is_ascii());
            prop_assert_eq!(ascii(&octets), expected);
        }
    }
}
