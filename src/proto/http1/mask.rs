//! Many octets of a head a step: which of them are CR, LF or control, with AVX2 where the processor has it, and how far a
//! name goes, with SSE2, which every x86-64 has; elsewhere one by one.

#![allow(unsafe_code, reason = "AVX2, without which the scan would cost as much as the parser behind it")]

/// Octets that one set of masks tells of.
pub(super) const BLOCK: usize = 64;

const DEL: u8 = 0x7f;

/// One bit for each octet of a block that is CR, that is LF, and that is any control octet but HTAB: below SP, or DEL.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Masks {
    pub(super) cr: u64,
    pub(super) lf: u64,
    pub(super) control: u64,
}

/// Hands over the masks of each block of `octets` in turn, with the number of octets they tell of, until
/// `go_on` says no. Only the last block is short; its masks have no bit set behind the end.
#[inline]
pub(super) fn with_masks(octets: &[u8], go_on: impl FnMut(Masks, usize) -> bool) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the callee needs AVX2, which has just been found.
        return unsafe { with_masks_avx2(octets, go_on) };
    }
    each_block(octets, masks, go_on);
}

#[inline(always)]
fn each_block(
    octets: &[u8],
    masks: impl Fn(&[u8; BLOCK]) -> Masks,
    mut go_on: impl FnMut(Masks, usize) -> bool,
) {
    let (blocks, rest) = octets.as_chunks::<BLOCK>();
    for block in blocks {
        if !go_on(masks(block).without_tabs(block), BLOCK) {
            return;
        }
    }
    if !rest.is_empty() {
        let mut block = [b' '; BLOCK];
        block[..rest.len()].copy_from_slice(rest);
        go_on(masks(&block).without_tabs(&block), rest.len());
    }
}

impl Masks {
    /// HTAB is lawful, and rare.
    #[inline(always)]
    fn without_tabs(mut self, block: &[u8; BLOCK]) -> Self {
        let mut others = self.control & !(self.cr | self.lf);
        while others != 0 {
            if block.get(others.trailing_zeros() as usize) == Some(&b'\t') {
                self.control &= !(others & others.wrapping_neg());
            }
            others &= others - 1;
        }
        self
    }
}

/// One octet a step.
fn masks(block: &[u8; BLOCK]) -> Masks {
    let mut masks = Masks::default();
    for (at, &octet) in block.iter().enumerate() {
        masks.control |= u64::from(octet < b' ' || octet == DEL) << at;
        masks.cr |= u64::from(octet == b'\r') << at;
        masks.lf |= u64::from(octet == b'\n') << at;
    }
    masks
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_masks_avx2(octets: &[u8], go_on: impl FnMut(Masks, usize) -> bool) {
    each_block(octets, |block| masks_avx2(block), go_on);
}

/// Thirty-two octets a step.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2")]
fn masks_avx2(block: &[u8; BLOCK]) -> Masks {
    use std::arch::x86_64::{
        _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_min_epu8, _mm256_movemask_epi8, _mm256_set1_epi8,
    };
    let mut masks = Masks::default();
    for (step, half) in block.as_chunks::<32>().0.iter().enumerate() {
        // SAFETY: `half` is 32 octets, as many as the unaligned load reads.
        let octets = unsafe { _mm256_loadu_si256(half.as_ptr().cast()) };
        let bits = |found| u64::from(_mm256_movemask_epi8(found).cast_unsigned()) << (32 * step);
        let is = |octet| bits(_mm256_cmpeq_epi8(octets, _mm256_set1_epi8(octet)));
        let low = _mm256_min_epu8(octets, _mm256_set1_epi8(0x1f));
        masks.control |= bits(_mm256_cmpeq_epi8(low, octets)) | is(DEL.cast_signed());
        masks.cr |= is(0x0d);
        masks.lf |= is(0x0a);
    }
    masks
}

/// How many octets at the start are letters, digits or hyphens, as far as whole steps of 16 tell: of what nearly all field
/// names are made. Less is as right, since who asks goes on from there.
#[inline]
pub(super) fn usual_name_octets(octets: &[u8]) -> usize {
    let mut usual = 0;
    #[cfg(target_arch = "x86_64")]
    for step in octets.as_chunks::<16>().0 {
        // SAFETY: the callee needs SSE2, which x86-64 is defined with.
        let unusual = unsafe { unusual_name_octet(step) };
        usual += unusual;
        if unusual < step.len() {
            break;
        }
    }
    usual
}

/// The place of the first octet that is not a letter, digit or hyphen; 16 where all are.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "sse2")]
fn unusual_name_octet(step: &[u8; 16]) -> usize {
    use std::arch::x86_64::{
        _mm_cmpeq_epi8, _mm_loadu_si128, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128, _mm_set1_epi8,
        _mm_sub_epi8,
    };
    // SAFETY: `step` is 16 octets, as many as the unaligned load reads.
    let octets = unsafe { _mm_loadu_si128(step.as_ptr().cast()) };
    let splat = |octet: u8| _mm_set1_epi8(octet.cast_signed());
    let among = |octets, first: u8, last: u8| {
        let from_first = _mm_sub_epi8(octets, splat(first));
        _mm_cmpeq_epi8(_mm_min_epu8(from_first, splat(last - first)), from_first)
    };
    let letter = among(_mm_or_si128(octets, splat(0x20)), b'a', b'z');
    let digit = among(octets, b'0', b'9');
    let hyphen = _mm_cmpeq_epi8(octets, splat(b'-'));
    let usual = _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(letter, digit), hyphen));
    (!usual).trailing_zeros() as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop_assert, prop_assert_eq, prop_oneof, proptest};

    use super::{BLOCK, DEL, Masks, each_block, masks, usual_name_octets, with_masks};

    fn gather(with: impl FnOnce(&mut dyn FnMut(Masks, usize) -> bool)) -> Vec<(Masks, usize)> {
        let mut seen = Vec::new();
        with(&mut |masks, judged| {
            seen.push((masks, judged));
            true
        });
        seen
    }

    proptest! {
        /// Whatever the processor offers gives what one octet a step gives.
        #[test]
        fn all_ways_agree(octets in proptest::collection::vec(
            prop_oneof![any::<u8>(), proptest::sample::select(b"\r\n\t\x7f a".to_vec())], 0..3 * BLOCK,
        )) {
            let plain = gather(|go_on| each_block(&octets, masks, go_on));
            prop_assert_eq!(gather(|go_on| with_masks(&octets, go_on)), &plain[..]);
            for (block, (masks, judged)) in octets.chunks(BLOCK).zip(plain) {
                prop_assert_eq!(block.len(), judged);
                for at in 0..BLOCK {
                    let octet = block.get(at).copied().unwrap_or(b' ');
                    let bits = [masks.cr, masks.lf, masks.control].map(|mask| mask >> at & 1 == 1);
                    let control = octet < b' ' && octet != b'\t' || octet == DEL;
                    prop_assert_eq!(bits, [octet == b'\r', octet == b'\n', control]);
                }
            }
        }

        /// Nothing else is taken for what names are made of, and nothing is missed but what is short of a step.
        #[test]
        fn usual_names_go_as_far_as_their_octets(octets in proptest::collection::vec(
            prop_oneof![4 => proptest::sample::select(b"azAZ09-".to_vec()), 1 => any::<u8>()], 0..80,
        )) {
            let wanted = octets.iter().take_while(|o| o.is_ascii_alphanumeric() || **o == b'-').count();
            let found = usual_name_octets(&octets);
            prop_assert!(found <= wanted);
            if cfg!(target_arch = "x86_64") {
                prop_assert_eq!(found, wanted.min(octets.len() / 16 * 16));
            }
        }
    }

    #[test]
    fn every_octet_is_judged_alone() {
        for octet in 0..=u8::MAX {
            let usual = usual_name_octets(&[octet; 16]) == 16;
            assert_eq!(
                usual,
                cfg!(target_arch = "x86_64") && (octet.is_ascii_alphanumeric() || octet == b'-')
            );
        }
    }
}
