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
/// error says which octets of a file make no sense. `looked` is called once for each value of either.
pub fn diff<'a>(
    before: &'a Snapshot,
    after: &'a Snapshot,
    looked: &'a mut dyn FnMut(),
) -> impl Iterator<Item = Result<Difference, String>> + 'a {
    let changed_or_gone = before.changes().map(|old| Ok(changed_or_gone(old?, after)));
    let added = after.changes().map(|new| Ok(added(new?, before)));
    changed_or_gone.chain(added).inspect(|_| looked()).filter_map(Result::transpose)
}

fn changed_or_gone(old: Change, after: &Snapshot) -> Option<Difference> {
    let key = old.record.key();
    let new = after.change(&key);
    (new.as_ref() != Some(&old)).then_some(Difference { key, before: Some(old), after: new })
}

fn added(new: Change, before: &Snapshot) -> Option<Difference> {
    let key = new.record.key();
    (!before.has(&key)).then_some(Difference { key, before: None, after: Some(new) })
}
