//! What has become of a file that is followed. Pure.

use serde::{Deserialize, Serialize};

/// Which file it is, whatever its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    pub(crate) device: u64,
    pub(crate) inode: u64,
}

/// What to do when the end of what is open was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// More may be added.
    Waits,
    /// Its name leads to another file: that one is read from its start.
    Replaced,
    /// It is shorter than what was read of it: it is read from its start.
    Cut,
    /// Its name leads nowhere. It may come back, and be another.
    Gone,
}

/// Of a file that was read up to `read`; `now` is the file that its name leads to, and its length.
pub(crate) fn of(open: Identity, read: u64, now: Option<(Identity, u64)>) -> Fate {
    match now {
        None => Fate::Gone,
        Some((other, _)) if other != open => Fate::Replaced,
        Some((_, length)) if length < read => Fate::Cut,
        Some(_) => Fate::Waits,
    }
}

/// The last octets that were read of a file: if others stand there when it is read on, it was written anew.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tail(Vec<u8>);

impl Tail {
    /// Octets that are kept.
    pub(crate) const MOST: usize = 256;

    pub(crate) fn octets(&self) -> &[u8] {
        &self.0
    }

    /// `octets` were read after it.
    pub(crate) fn add(&mut self, octets: &[u8]) {
        self.0.extend_from_slice(&octets[octets.len().saturating_sub(Self::MOST)..]);
        let surplus = self.0.len().saturating_sub(Self::MOST);
        self.0.drain(..surplus);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fate() {
        let file = |inode| Identity { device: 1, inode };
        assert_eq!(of(file(1), 10, Some((file(1), 10))), Fate::Waits);
        assert_eq!(of(file(1), 10, Some((file(1), 11))), Fate::Waits);
        assert_eq!(of(file(1), 10, Some((file(1), 9))), Fate::Cut);
        assert_eq!(of(file(1), 10, Some((file(2), 99))), Fate::Replaced);
        assert_eq!(of(file(1), 10, Some((Identity { device: 2, inode: 1 }, 99))), Fate::Replaced);
        assert_eq!(of(file(1), 10, None), Fate::Gone);
    }

    #[test]
    fn a_tail_is_the_last_octets_however_they_came() {
        let all: Vec<u8> = (0..=255).cycle().take(1_000).collect();
        for piece in [1, 7, 255, 256, 257, 1_000] {
            let mut tail = Tail::default();
            for octets in all.chunks(piece) {
                tail.add(octets);
            }
            assert_eq!(tail.octets(), &all[all.len() - Tail::MOST..], "in pieces of {piece}");
        }
    }
}
