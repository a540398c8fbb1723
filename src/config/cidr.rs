//! A block of IP addresses.
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::report::Shown;

/// Addresses that share their first `prefix` bits (RFC 4632 section 3.1, RFC 4291 section 2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cidr {
    /// All bits after the prefix are zero.
    first: IpAddr,
    /// 0 to 32 or 0 to 128.
    prefix: u8,
}

impl Cidr {
    /// Reads `10.0.0.0/8`, `2001:db8::/32`, or one address alone.
    ///
    /// # Errors
    /// What is wrong with `text` and how to mend it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let shown = Shown(text);
        let malformed =
            || format!("{shown} is not an address block; write one as 10.0.0.0/8 or 2001:db8::/32");
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| malformed())?;
        if address != address.to_canonical() {
            return Err(format!("{shown} is IPv4 mapped into IPv6; write the IPv4 block, it matches both"));
        }
        let bits = if address.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            None => bits,
            Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => {
                digits.parse().map_err(|_| malformed())?
            }
            Some(_) => return Err(malformed()),
        };
        if prefix > bits {
            return Err(format!("{shown} has too long a prefix; such an address has {bits} bits"));
        }
        let first = mask(address, prefix);
        if first != address {
            return Err(format!(
                "{shown} has bits set after its prefix; for the whole block write {first}/{prefix}"
            ));
        }
        Ok(Self { first, prefix })
    }

    /// Whether `address` lies in the block. An IPv4 address mapped into IPv6 (`::ffff:a.b.c.d`, as a
    /// dual-stack socket shows IPv4 peers) counts as the IPv4 address.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        address.is_ipv4() == self.first.is_ipv4() && mask(address, self.prefix) == self.first
    }

    /// Whether the block holds every address of its family.
    pub fn is_everything(&self) -> bool {
        self.prefix == 0
    }
}

fn mask(address: IpAddr, prefix: u8) -> IpAddr {
    let keep = u32::from(prefix);
    match address {
        IpAddr::V4(a) => {
            let ones = u32::MAX.checked_shl(32 - keep).unwrap_or(0);
            Ipv4Addr::from_bits(a.to_bits() & ones).into()
        }
        IpAddr::V6(a) => {
            let ones = u128::MAX.checked_shl(128 - keep).unwrap_or(0);
            Ipv6Addr::from_bits(a.to_bits() & ones).into()
        }
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.prefix)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a failed unwrap is a failed test
    use proptest::prelude::*;

    use super::*;

    fn contains(block: &str, address: &str) -> bool {
        Cidr::parse(block).unwrap().contains(address.parse().unwrap())
    }

    #[test]
    fn membership() {
        for (block, inside, outside) in [
            ("10.0.0.0/8", "10.255.255.255", "11.0.0.0"),
            ("192.0.2.128/25", "192.0.2.128", "192.0.2.127"),
            ("192.0.2.1", "192.0.2.1", "192.0.2.2"),
            ("0.0.0.0/0", "255.255.255.255", "::"),
            ("10.0.0.0/8", "::ffff:10.1.2.3", "::ffff:11.1.2.3"),
            ("2001:db8::/32", "2001:db8:ffff::1", "2001:db9::"),
            ("::/0", "ffff::", "0.0.0.0"),
            ("::1", "::1", "::2"),
        ] {
            assert!(contains(block, inside), "{block} {inside}");
            assert!(!contains(block, outside), "{block} {outside}");
        }
    }

    #[test]
    fn wrong_blocks() {
        let malformed =
            |text| format!("{text:?} is not an address block; write one as 10.0.0.0/8 or 2001:db8::/32");
        for wrong in
            ["", "/", "10.0.0.0/", "10.0.0.0/+8", "10.0.0.0/8/8", "10.0.0/8", "local", "10.0.0.0/256"]
        {
            assert_eq!(Cidr::parse(wrong), Err(malformed(wrong)));
        }
        for (wrong, told) in [
            ("10.0.0.0/33", "\"10.0.0.0/33\" has too long a prefix; such an address has 32 bits"),
            ("::/129", "\"::/129\" has too long a prefix; such an address has 128 bits"),
            (
                "10.1.0.0/8",
                "\"10.1.0.0/8\" has bits set after its prefix; for the whole block write 10.0.0.0/8",
            ),
            (
                "::ffff:10.0.0.0/104",
                "\"::ffff:10.0.0.0/104\" is IPv4 mapped into IPv6; write the IPv4 block, it matches both",
            ),
        ] {
            assert_eq!(Cidr::parse(wrong), Err(told.to_owned()));
        }
    }

    proptest! {
        /// Bit by bit, as the RFCs say it.
        #[test]
        fn agrees_with_a_comparison_of_bits(
            first: u32, other: u32, near: bool, at in 0..32_u32, prefix in 0..33_u32
        ) {
            // Half of the pairs differ in one bit alone.
            let address = if near { first ^ (1_u32 << at) } else { other };
            let block = mask(Ipv4Addr::from_bits(first).into(), u8::try_from(prefix).unwrap());
            let block = Cidr::parse(&format!("{block}/{prefix}")).unwrap();
            let same = (0..prefix).all(|i| (first >> (31 - i)) & 1 == (address >> (31 - i)) & 1);
            prop_assert_eq!(block.contains(Ipv4Addr::from_bits(address).into()), same);
        }

        #[test]
        fn shows_as_written(bits: u128, prefix in 0..129_u8) {
            let address = Ipv6Addr::from_bits(bits);
            prop_assume!(IpAddr::from(address).to_canonical().is_ipv6());
            let written = format!("{}/{prefix}", mask(address.into(), prefix));
            prop_assume!(Cidr::parse(&written).is_ok()); // unless masked into a mapped address
            prop_assert_eq!(Cidr::parse(&written).unwrap().to_string(), written);
        }
    }
}
