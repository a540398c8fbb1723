//! The state as one plain map: what the table must be equal to, whatever happened to it.

use std::collections::BTreeMap;

use crate::{
    digest::Digest,
    id::{HostName, Region, ServiceId},
    record::{Change, Document, DocumentKey, Endpoint, HostValue, Key, Record},
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

    /// Forgets a key altogether, as a new base does with an old grave.
    pub fn forget(&mut self, key: &Key) {
        self.values.remove(key);
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

    /// What a request for `name` leads to: its own value, else that of the wildcard for its first label.
    pub fn answer(&self, name: &str) -> Option<&HostValue> {
        let value = |key: &str| self.host(&HostName::parse_pattern(key).ok()?);
        match value(name).filter(|_| !name.starts_with('*')) {
            Some(own) => Some(own),
            None => {
                let (_, parent) =
                    name.split_once('.').filter(|(label, _)| !label.is_empty() && *label != "*")?;
                value(&format!("*.{parent}"))
            }
        }
    }

    pub fn document(&self, key: &DocumentKey) -> Option<&Document> {
        match &self.values.get(&Key::Document(key.clone()))?.record {
            Record::Document(_, value) => value.as_ref(),
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
