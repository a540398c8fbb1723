//! A block of IP addresses.
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

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
        let not_a_block =
            || format!("{text:?} is not an address block; write one as 10.0.0.0/8 or 2001:db8::/32");
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| not_a_block())?;
        let bits = if address.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            None => bits,
            Some(p) if p.bytes().all(|b| b.is_ascii_digit()) => p.parse().map_err(|_| not_a_block())?,
            Some(_) => return Err(not_a_block()),
        };
        if prefix > bits {
            return Err(format!("{text:?}: the prefix of such an address has at most {bits} bits"));
        }
        let first = mask(address, prefix);
        if first != address {
            return Err(format!(
                "{text:?} has bits set after its prefix; write {first}/{prefix} for the whole block"
            ));
        }
        Ok(Self { first, prefix })
    }

    /// Whether `address` lies in the block. An IPv4 address mapped into IPv6 (`::ffff:a.b.c.d`, as a dual-stack
    /// socket shows IPv4 peers) counts as the IPv4 address.
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
