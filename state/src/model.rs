//! The state as one plain map: what the table must be equal to, whatever happened to it.

use std::collections::BTreeMap;

use crate::{
    digest::Digest,
    id::{HostName, Region, ServiceId},
    record::{Change, Endpoint, HostValue, Key, Record},
};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Model {
    values: BTreeMap<Key, Change>,
}

impl Model {
    /// Whether the change was applied; else it was stale.
    pub fn apply(&mut self, change: Change) -> bool {
        let key = change.record.key();
        let applied = self.values.get(&key).is_none_or(|stored| stored.version < change.version);
        if applied {
            self.values.insert(key, change);
        }
        applied
    }

    pub fn change(&self, key: &Key) -> Option<&Change> {
        self.values.get(key)
    }

    /// All stored values by key, graves included.
    pub fn changes(&self) -> impl Iterator<Item = &Change> {
        self.values.values()
    }

    pub fn host(&self, name: &HostName) -> Option<&HostValue> {
        match &self.values.get(&Key::Host(name.clone()))?.record {
            Record::Host(_, value) => value.as_ref(),
            _ => None,
        }
    }

    pub fn endpoints(&self, service: &ServiceId, region: &Region) -> &[Endpoint] {
        match self.values.get(&Key::Endpoints(service.clone(), region.clone())).map(|change| &change.record) {
            Some(Record::Endpoints(_, _, Some(set))) => set.as_slice(),
            _ => &[],
        }
    }

    pub fn is_known(&self, service: &ServiceId) -> bool {
        self.values.get(&Key::Service(service.clone())).is_some_and(|change| !change.record.is_grave())
    }

    pub fn digest(&self) -> Digest {
        let (mut digest, mut scratch) = (Digest::default(), Vec::new());
        self.values.values().for_each(|change| digest.add(change, &mut scratch));
        digest
    }
}
