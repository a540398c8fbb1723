//! What tells two snapshots apart, key by key, without holding either in memory: each value of one is looked up in
//! the other.

use super::Snapshot;
use crate::record::{Change, Key};

/// A key whose stored values differ. At least one side has one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    pub key: Key,
    pub before: Option<Change>,
    pub after: Option<Change>,
}

impl Difference {
    /// Whether readers see it. To them a grave and nothing are the same, and a version is nothing.
    pub fn is_seen(&self) -> bool {
        let live = |side: &Option<Change>| {
            side.as_ref().map(|change| change.record.clone()).filter(|record| !record.is_grave())
        };
        live(&self.before) != live(&self.after)
    }
}

/// The differences: first of the keys of `before`, then of those that only `after` has, each in its file's order. An
/// error says which octets of a file make no sense.
pub fn diff<'a>(
    before: &'a Snapshot,
    after: &'a Snapshot,
) -> impl Iterator<Item = Result<Difference, String>> + 'a {
    let changed_or_gone = before.changes().filter_map(|old| {
        let old = match old {
            Ok(old) => old,
            Err(what) => return Some(Err(what)),
        };
        let key = old.record.key();
        let new = after.change(&key);
        (new.as_ref() != Some(&old)).then_some(Ok(Difference { key, before: Some(old), after: new }))
    });
    let added = after.changes().filter_map(|new| match new {
        Ok(new) => {
            let key = new.record.key();
            (!before.has(&key)).then_some(Ok(Difference { key, before: None, after: Some(new) }))
        }
        Err(what) => Some(Err(what)),
    });
    changed_or_gone.chain(added)
}
