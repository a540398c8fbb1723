//! Changes that guards have let go of, until that is on record: then they are applied, in this order. Pure.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ringway_state::record::{Change, Key};

use crate::limits;

#[derive(Default)]
pub(super) struct Leaving {
    queue: VecDeque<Entry>,
    /// The newest of each key.
    newest: HashMap<Key, Arc<Change>>,
}

struct Entry {
    key: Key,
    change: Arc<Change>,
    /// Of [`Notes`](super::notes::Notes).
    token: u64,
    since: Instant,
}

/// A folder that takes nothing keeps back no change for longer.
const PATIENCE: Duration = Duration::from_millis(limits::GUARD_RECORDED_MS);

impl Leaving {
    pub(super) fn has_room(&self) -> bool {
        self.queue.len() < limits::GUARD_LEAVING
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    pub(super) fn newest(&self, key: &Key) -> Option<&Arc<Change>> {
        self.newest.get(key)
    }

    /// All of them, the first that was let go first.
    pub(super) fn changes(&self) -> impl Iterator<Item = &Arc<Change>> {
        self.queue.iter().map(|entry| &entry.change)
    }

    /// A change of a key is let go, newer than any of the key before; it leaves when its token is on record.
    pub(super) fn push(&mut self, key: Key, change: Arc<Change>, token: u64, now: Instant) {
        self.newest.insert(key.clone(), Arc::clone(&change));
        self.queue.push_back(Entry { key, change, token, since: now });
    }

    /// The first, if it may be applied, with so much on record.
    pub(super) fn take(&mut self, recorded: u64, now: Instant) -> Option<Arc<Change>> {
        let may_go =
            |entry: &Entry| entry.token <= recorded || now.saturating_duration_since(entry.since) >= PATIENCE;
        self.queue.front().filter(|entry| may_go(entry))?;
        let Entry { key, change, .. } = self.queue.pop_front()?;
        if self.newest.get(&key).is_some_and(|newest| newest.version <= change.version) {
            self.newest.remove(&key);
        }
        Some(change)
    }

    /// How long until the first is not kept back any longer.
    pub(super) fn patience(&self, now: Instant) -> Option<Duration> {
        let first = self.queue.front()?;
        Some(PATIENCE.saturating_sub(now.saturating_duration_since(first.since)))
    }
}

#[cfg(test)]
mod tests {
    use ringway_state::id::{Region, ServiceId};
    use ringway_state::record::{Record, Version};

    use super::*;

    fn change(service: &str, version: u64) -> Arc<Change> {
        let record =
            Record::Endpoints(ServiceId::parse(service).unwrap(), Region::parse("local").unwrap(), None);
        Arc::new(Change { version: Version::new(1, version), record })
    }

    #[test]
    fn they_leave_in_order_when_they_are_on_record_or_have_waited_for_too_long() {
        let (mut leaving, start) = (Leaving::default(), Instant::now());
        let all = [change("svc_a", 1), change("svc_b", 1), change("svc_a", 2)];
        for (token, change) in (1..).zip(&all) {
            leaving.push(change.record.key(), Arc::clone(change), token, start);
        }
        let a = all[0].record.key();
        assert_eq!((leaving.take(0, start), leaving.newest(&a)), (None, Some(&all[2])));
        assert_eq!(leaving.take(2, start).as_ref(), Some(&all[0]));
        assert_eq!((leaving.newest(&a), leaving.patience(start)), (Some(&all[2]), Some(PATIENCE)));
        assert_eq!(leaving.take(2, start).as_ref(), Some(&all[1]));
        assert_eq!(leaving.take(2, start), None);
        assert_eq!(leaving.take(2, start + PATIENCE).as_ref(), Some(&all[2]));
        assert_eq!((leaving.newest(&a), leaving.patience(start)), (None, None));
    }
}
