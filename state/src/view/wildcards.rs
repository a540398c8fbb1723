//! Wildcards, `*.apps.example`: one label exactly, and a name that is a key itself wins, as a tombstone too. Only names
//! that are not found come here, and only where there is a wildcard at all.

use super::{By, HostHit, View};
use crate::{id::HostName, limits::HOST_OCTETS_MAX};

/// The wildcard that a name falls to, as octets: names are looked up without allocating.
struct Pattern {
    octets: [u8; HOST_OCTETS_MAX],
    length: usize,
}

impl Pattern {
    /// `None` of a name of one label, or of one that begins with a dot.
    fn of(name: &[u8]) -> Option<Self> {
        let label = name.iter().position(|&octet| octet == b'.').filter(|&label| label > 0)?;
        let parent = &name[label..];
        let mut pattern = Self { octets: [0; HOST_OCTETS_MAX], length: 1 + parent.len() };
        let (star, behind) = pattern.octets.get_mut(..pattern.length)?.split_first_mut()?;
        *star = b'*';
        behind.copy_from_slice(parent);
        Some(pattern)
    }

    fn octets(&self) -> &[u8] {
        &self.octets[..self.length]
    }
}

impl View {
    pub(super) fn host_or_wildcard(&self, name: &[u8]) -> Option<(HostHit<'_>, By)> {
        if is_wildcard(name) {
            return None;
        }
        let exact = self.exact_host(name).map(|hit| (hit, By::Name));
        exact.or_else(|| Some((self.exact_host(Pattern::of(name)?.octets())?, By::Wildcard)))
    }

    /// The key that answers for `name`: itself, or a wildcard. Allocates: for explain.
    pub fn host_key(&self, name: &HostName) -> Option<HostName> {
        let octets = name.as_str().as_bytes();
        if is_wildcard(octets) {
            return None;
        }
        if self.exact_host(octets).is_some() {
            return Some(name.clone());
        }
        let pattern = Pattern::of(octets)?;
        self.exact_host(pattern.octets())?;
        std::str::from_utf8(pattern.octets()).ok().map(HostName::trusted)
    }
}

/// A wildcard is a key, and nobody's name.
fn is_wildcard(name: &[u8]) -> bool {
    name.first() == Some(&b'*')
}
