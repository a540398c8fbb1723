//! Octets of a body.

use std::fmt;

use fastrand::Rng;
use ringway::yaml::Shown;

use super::Weighted;
use crate::limits;

/// A size, or any within a range, each as often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    pub least: u64,
    pub most: u64,
}

/// Sizes by weight.
pub type Sizes = Weighted<Size>;

impl Size {
    #[must_use]
    pub const fn fixed(octets: u64) -> Self {
        Self { least: octets, most: octets }
    }

    /// `512`, `16KiB`, `1KiB..1MiB`.
    ///
    /// # Errors
    /// What is wrong with `text` and how to mend it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (least, most) = text.split_once("..").unwrap_or((text, text));
        let (least, most) = (octets(least)?, octets(most)?);
        if least > most {
            return Err(format!("{} begins above its end; write the smaller size first", Shown(text)));
        }
        Ok(Self { least, most })
    }

    pub fn draw(self, rng: &mut Rng) -> u64 {
        if self.least == self.most { self.least } else { rng.u64(self.least..=self.most) }
    }
}

impl Sizes {
    pub fn octets(&self, rng: &mut Rng) -> u64 {
        self[self.draw(rng)].draw(rng)
    }

    #[must_use]
    pub fn most(&self) -> u64 {
        self.items().iter().map(|size| size.most).max().unwrap_or(0)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.least == self.most {
            true => write!(f, "{}", shown(self.least)),
            false => write!(f, "{}..{}", shown(self.least), shown(self.most)),
        }
    }
}

const UNITS: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];

fn octets(text: &str) -> Result<u64, String> {
    let wrong = || format!("{} is not a size; write as 512, 16KiB or 1KiB..1MiB", Shown(text));
    let unit = UNITS.iter().find_map(|(unit, octets)| Some((text.strip_suffix(unit)?, *octets)));
    let (digits, unit) = unit.unwrap_or((text, 1));
    if digits.is_empty() || !digits.bytes().all(|octet| octet.is_ascii_digit()) {
        return Err(wrong());
    }
    let octets = digits.parse().ok().and_then(|number: u64| number.checked_mul(unit));
    match octets {
        Some(octets) if octets <= limits::BODY_OCTETS_MAX => Ok(octets),
        _ => Err(format!("{} is too large; at most {}", Shown(text), shown(limits::BODY_OCTETS_MAX))),
    }
}

fn shown(octets: u64) -> String {
    let unit = UNITS.iter().find(|(_, unit)| octets > 0 && octets.is_multiple_of(*unit));
    unit.map_or_else(|| octets.to_string(), |(name, unit)| format!("{}{name}", octets / unit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_shown_size_reads_back_and_draws_within(a in 0u64..1 << 31, b in 0u64..1 << 31, seed: u64) {
            let size = Size { least: a.min(b).min(1 << 30), most: a.max(b).min(1 << 30) };
            prop_assert_eq!(Size::parse(&size.to_string()), Ok(size));
            let drawn = size.draw(&mut fastrand::Rng::with_seed(seed));
            prop_assert!(size.least <= drawn && drawn <= size.most);
        }
    }

    #[test]
    fn sizes() {
        assert_eq!(Size::parse("16KiB"), Ok(Size::fixed(16_384)));
        assert_eq!(Size::parse("0..1MiB"), Ok(Size { least: 0, most: 1 << 20 }));
        for wrong in ["", "-1", "1kb", "1.5KiB", "KiB", "2..1", "1..", "2GiB", "99999999999999999999", "1e3"]
        {
            assert!(Size::parse(wrong).is_err(), "{wrong}");
        }
    }
}
