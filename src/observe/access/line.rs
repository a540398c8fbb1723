//! One JSON object on one line, in a fixed buffer.

use crate::limits::LOG_RECORD_OCTETS_MAX;

/// A line being written. What does not fit spoils the line as a whole, see [`Line::finish`].
pub(super) struct Line {
    octets: Box<[u8; LOG_RECORD_OCTETS_MAX]>,
    length: usize,
    fits: bool,
}

/// Stands for what was cut off. Octets are escaped one by one, to at most `\u00ff`, so no field can hold it itself.
const CUT: &[u8] = b"\\u2026";

impl Line {
    pub(super) fn new() -> Self {
        Self { octets: Box::new([0; LOG_RECORD_OCTETS_MAX]), length: 0, fits: true }
    }

    pub(super) fn clear(&mut self) {
        self.length = 0;
        self.fits = true;
    }

    /// The line, or nothing if it did not fit.
    pub(super) fn finish(&self) -> Option<&[u8]> {
        self.octets.get(..self.length).filter(|_| self.fits)
    }

    /// Writes octets as they are: JSON's own, or text known to need no escape.
    #[inline]
    pub(super) fn raw(&mut self, text: &[u8]) {
        match self.octets.get_mut(self.length..self.length + text.len()) {
            Some(room) => {
                room.copy_from_slice(text);
                self.length += text.len();
            }
            None => self.fits = false,
        }
    }

    pub(super) fn number(&mut self, mut number: u64) {
        let mut digits = [0; 20];
        let mut first = digits.len();
        loop {
            first -= 1;
            digits[first] = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                break;
            }
        }
        self.raw(&digits[first..]);
    }

    /// Writes the inside of a JSON string, at most `max` octets of it. Everything but printable ASCII is written as
    /// the code point of its octet's value, so nothing is lost, and nothing acts on a terminal or breaks a line.
    pub(super) fn escaped(&mut self, text: &[u8], max: usize) {
        // Looks at all octets whatever they are, so that the compiler looks at many at once.
        if text.len() <= max && text.iter().fold(true, |all, &octet| all & is_plain(octet)) {
            return self.raw(text);
        }
        let end = self.length + max - CUT.len();
        for &octet in text {
            let (escape, length) = escape(octet);
            if self.length + length > end {
                return self.raw(CUT);
            }
            self.raw(&escape[..length]);
        }
    }
}

/// Printable ASCII that JSON strings hold as it is.
#[inline]
fn is_plain(octet: u8) -> bool {
    (octet.wrapping_sub(b' ') < 95) & (octet != b'"') & (octet != b'\\')
}

/// An octet as it is written in a string, and how many octets of the array that is.
fn escape(octet: u8) -> ([u8; 6], usize) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    match octet {
        b'"' | b'\\' => ([b'\\', octet, 0, 0, 0, 0], 2),
        _ if is_plain(octet) => ([octet, 0, 0, 0, 0, 0], 1),
        _ => {
            let (high, low) = (HEX[usize::from(octet >> 4)], HEX[usize::from(octet & 15)]);
            ([b'\\', b'u', b'0', b'0', high, low], 6)
        }
    }
}

/// For addresses, whose text needs no escape.
impl std::fmt::Write for Line {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.raw(text.as_bytes());
        Ok(())
    }
}
