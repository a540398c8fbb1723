//! How much of what a snapshot holds, kind by kind.

use std::collections::BTreeMap;
use std::fmt;

use ringway_state::change;
use ringway_state::record::{Change, Class, EndpointState, HostValue, Kind, Record, Version};

/// Counts of values as they are met; shown as a table of the kinds that there are.
#[derive(Default)]
pub(super) struct Survey {
    kinds: BTreeMap<Kind, OfKind>,
    classes: BTreeMap<Class, u64>,
    /// Of the host names that are mapped or tombstones.
    wildcards: u64,
    endpoints: BTreeMap<EndpointState, u64>,
    most_endpoints: usize,
    line: Vec<u8>,
}

#[derive(Default)]
struct OfKind {
    live: u64,
    graves: u64,
    /// Of their lines, graves too.
    octets: usize,
    longest: usize,
    versions: Option<(Version, Version)>,
}

impl Survey {
    pub(super) fn count(&mut self, change: &Change) {
        self.line.clear();
        change::render(change, None, &mut self.line);
        self.kinds.entry(change.record.kind()).or_default().count(change, self.line.len());
        match &change.record {
            Record::Host(name, Some(value)) => {
                self.wildcards += u64::from(name.is_wildcard());
                if let HostValue::Mapped { class, .. } = value {
                    *self.classes.entry(*class).or_default() += 1;
                }
            }
            Record::Endpoints(_, _, Some(set)) => {
                self.most_endpoints = self.most_endpoints.max(set.as_slice().len());
                for endpoint in set.as_slice() {
                    *self.endpoints.entry(endpoint.state).or_default() += 1;
                }
            }
            Record::Host(_, None) | Record::Endpoints(_, _, None) => {}
            Record::Service(..) | Record::Document(..) => {}
        }
    }

    /// What there is to say of a kind's values beside their number.
    fn parts(&self, kind: Kind) -> Vec<String> {
        match kind {
            Kind::DomainMap => {
                let classes = self.classes.iter().map(|(class, count)| match class {
                    Class::Platform => format!("{count} platform"),
                    Class::Custom => format!("{count} custom"),
                });
                classes.chain([format!("{} wildcards, tombstones too", self.wildcards)]).collect()
            }
            Kind::EndpointSet => {
                let states = self.endpoints.iter().map(|(state, count)| match state {
                    EndpointState::Starting => format!("{count} starting"),
                    EndpointState::Healthy => format!("{count} healthy"),
                    EndpointState::Draining => format!("{count} draining"),
                    EndpointState::Dead => format!("{count} dead"),
                });
                states.chain([format!("at most {} in a set", self.most_endpoints)]).collect()
            }
            _ => Vec::new(),
        }
    }
}

impl OfKind {
    fn count(&mut self, change: &Change, octets: usize) {
        *(if change.record.is_grave() { &mut self.graves } else { &mut self.live }) += 1;
        self.octets += octets;
        self.longest = self.longest.max(octets);
        let (oldest, newest) = self.versions.unwrap_or((change.version, change.version));
        self.versions = Some((oldest.min(change.version), newest.max(change.version)));
    }
}

impl fmt::Display for Survey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.kinds.is_empty() {
            return Ok(());
        }
        let titles = ["kind", "live", "removed", "octets", "longest", "versions"];
        let [kind, live, removed, octets, longest, versions] = titles;
        writeln!(f, "\n{kind:14} {live:>10} {removed:>10} {octets:>12} {longest:>8}  {versions}")?;
        for (kind, OfKind { live, graves, octets, longest, versions }) in &self.kinds {
            let versions =
                versions.map(|(oldest, newest)| format!("{oldest} to {newest}")).unwrap_or_default();
            writeln!(f, "{:14} {live:>10} {graves:>10} {octets:>12} {longest:>8}  {versions}", kind.name())?;
            for part in self.parts(*kind) {
                writeln!(f, "{:14} {part}", "")?;
            }
        }
        Ok(())
    }
}
