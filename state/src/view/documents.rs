//! Documents, found by key.

use super::View;
use crate::{
    filter::Probe,
    record::{DocumentKey, Kind, Record, Version},
};

/// A document where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DocumentRef<'v> {
    pub kind: Kind,
    pub version: Version,
    /// A JSON object, in the form that [`crate::record::Document`] tells.
    pub text: &'v str,
}

impl View {
    /// `None`: unknown or removed. Allocates nothing; takes time in proportion to the text.
    pub fn document(&self, key: &DocumentKey) -> Option<DocumentRef<'_>> {
        let name = key.name().as_bytes();
        let hash = self.keys.hasher.hash(name);
        let is_it = |record: &Record| matches!(record, Record::Document(known, _) if known == key);
        if let Some(change) = self.overlay.find(self.keys.of_document(hash, key.subject()), is_it) {
            let Record::Document(_, Some(document)) = &change.record else { return None };
            return Some(DocumentRef {
                kind: document.kind(),
                version: change.version,
                text: document.as_str(),
            });
        }
        let stored = self.levels.iter().chain(&self.base).find_map(|file| {
            let hash = file.hash(name);
            if file.may_have(Probe::new(hash)) { file.document(hash, key) } else { None }
        })?;
        stored.text.map(|text| DocumentRef { kind: stored.kind, version: stored.version, text })
    }
}
