//! Octets of stored records: LEB128 numbers and short texts. Reading gives `None` where the octets end or
//! make no sense, so no stored octet can make a reader panic.

use crate::{prefetch::ascii, record::Version};

pub(crate) fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    out.push((number & 0x7f) as u8);
}

/// At most 255 octets: one for the length, then the text.
pub(crate) fn put_text(out: &mut Vec<u8>, text: &str) {
    let octets = u8::try_from(text.len()).expect("ids and host names have at most 253 octets, see limits");
    out.push(octets);
    out.extend_from_slice(text.as_bytes());
}

pub(crate) fn put_version(out: &mut Vec<u8>, version: Version) {
    put_number(out, version.epoch);
    put_number(out, version.counter);
}

/// Reads forward over octets.
#[derive(Clone, Copy)]
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(octets: &'a [u8]) -> Self {
        Self { rest: octets }
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    #[inline]
    pub(crate) fn octet(&mut self) -> Option<u8> {
        let (&first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    #[inline]
    pub(crate) fn octets(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(head)
    }

    /// A number below 2^64 in at most ten octets.
    #[inline]
    pub(crate) fn number(&mut self) -> Option<u64> {
        let first = self.octet()?;
        if first < 0x80 {
            return Some(u64::from(first));
        }
        let mut number = u64::from(first & 0x7f);
        for shift in (7..64).step_by(7) {
            let octet = self.octet()?;
            let part = u64::from(octet & 0x7f);
            if part << shift >> shift != part {
                return None;
            }
            number |= part << shift;
            if octet < 0x80 {
                return Some(number);
            }
        }
        None
    }

    #[inline]
    pub(crate) fn length(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok()
    }

    /// A short text; all that are stored are ASCII.
    #[inline]
    pub(crate) fn text(&mut self) -> Option<&'a str> {
        let octets = self.octet()?;
        ascii(self.octets(usize::from(octets))?)
    }

    pub(crate) fn version(&mut self) -> Option<Version> {
        Some(Version::new(self.number()?, self.number()?))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a test that cannot set up must fail loudly
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_put_is_read(number: u64, epoch: u64, counter: u64, text in "[a-z.]{0,255}") {
            let mut octets = Vec::new();
            put_number(&mut octets, number);
            put_text(&mut octets, &text);
            put_version(&mut octets, Version::new(epoch, counter));
            let mut cursor = Cursor::new(&octets);
            prop_assert_eq!(cursor.number(), Some(number));
            prop_assert_eq!(cursor.text(), Some(text.as_str()));
            prop_assert_eq!(cursor.version(), Some(Version::new(epoch, counter)));
            prop_assert_eq!(cursor.octet(), None);
        }

        #[test]
        fn any_octets_are_read_without_panic(octets in proptest::collection::vec(any::<u8>(), 0..32)) {
            let mut cursor = Cursor::new(&octets);
            let mut read = 0;
            while cursor.version().is_some() || cursor.text().is_some() {
                read += 1;
            }
            prop_assert!(read <= octets.len(), "each reading takes an octet");
        }
    }

    #[test]
    fn a_number_over_64_bits_is_refused() {
        assert_eq!(Cursor::new(&[0xff; 11]).number(), None);
        let mut largest = [0xff; 10];
        largest[9] = 0x01;
        assert_eq!(Cursor::new(&largest).number(), Some(u64::MAX));
        largest[9] = 0x02;
        assert_eq!(Cursor::new(&largest).number(), None);
    }
}
