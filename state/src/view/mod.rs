//! The reader's table: what the request path asks. No call here locks, allocates or waits.

mod documents;
mod layers;
mod service;
mod wildcards;

use std::sync::Arc;

pub use self::{
    documents::DocumentRef,
    layers::{Layer, Stored},
    service::{Endpoints, ServiceRef},
};
use crate::{
    digest::Digest,
    filter::Filter,
    id::Region,
    overlay::{Keys, Overlay},
    record::Class,
    region::{RegionKey, StackNumber},
    snapshot::{HostEntry, Kind, Snapshot},
};

/// One state of the table, immutable. Cloning it costs a few reference counts: the writer publishes clones, a
/// core keeps the newest it was given.
///
/// Whoever drops the last clone frees what later states have replaced. So the writer keeps one until all cores
/// have taken the next.
#[derive(Clone)]
pub struct View {
    base: Option<Arc<Snapshot>>,
    /// Newest first.
    levels: Arc<[Arc<Snapshot>]>,
    /// Of the levels: beside each other, so that little is read before them.
    filters: Arc<[Filter]>,
    overlay: Overlay,
    keys: Keys,
    stack: StackNumber,
    local: RegionKey,
    /// Whether the base alone answers.
    is_bare: bool,
    /// Whether all files have the seed of the keys.
    is_one_seed: bool,
    has_wildcards: bool,
    /// Whether a file has any.
    has_wildcard_files: bool,
}

/// What a host name leads to.
#[derive(Clone, Copy)]
pub enum HostHit<'v> {
    Service(ServiceRef<'v>),
    /// Once mapped, now answers 404 whatever else is known.
    Tombstone {
        reason: &'v str,
    },
}

/// What answers for a host name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// A key that is the name.
    Name,
    /// One that stands for its first label.
    Wildcard,
}

/// A host name that will be looked up soon ([`View::expect`]).
#[derive(Debug, Clone, Copy)]
pub struct Expected {
    /// As the file has it that will most likely answer.
    hash: u64,
    /// Of the levels, newest first; the base behind them.
    file: usize,
}

impl View {
    pub(crate) fn new(
        base: Option<Arc<Snapshot>>,
        levels: Arc<[Arc<Snapshot>]>,
        overlay: Overlay,
        keys: Keys,
        local: &Region,
    ) -> Self {
        let stack = StackNumber::new();
        let local = RegionKey::new(local, &keys, stack, base.as_deref(), &levels);
        let has_wildcard_files = levels.iter().chain(&base).any(|file| file.header().counts.wildcards > 0);
        let filters = levels.iter().map(|level| level.filter().clone()).collect();
        let is_one_seed = levels.iter().chain(&base).all(|file| file.seed() == keys.seed);
        let (is_bare, has_wildcards) = (true, has_wildcard_files);
        let mut view = Self {
            base,
            levels,
            filters,
            overlay,
            keys,
            stack,
            local,
            is_bare,
            is_one_seed,
            has_wildcards,
            has_wildcard_files,
        };
        view.change_overlay(|_| ());
        view
    }

    /// Looks a host name up: lower case, without port or trailing dot. `None`: unknown or removed. A name that is no
    /// key falls to the wildcard that stands for its first label, if there is one (S6).
    #[inline]
    pub fn host(&self, name: &[u8]) -> Option<HostHit<'_>> {
        self.host_by(name).map(|(hit, _)| hit)
    }

    /// The same, and what kind of key answers.
    #[inline]
    pub fn host_by(&self, name: &[u8]) -> Option<(HostHit<'_>, By)> {
        if self.has_wildcards {
            self.host_or_wildcard(name)
        } else {
            self.exact_host(name).map(|hit| (hit, By::Name))
        }
    }

    #[inline]
    fn exact_host(&self, name: &[u8]) -> Option<HostHit<'_>> {
        if self.is_bare { self.base_host(name) } else { self.layered_host(name) }
    }

    /// Asks for the memory that [`View::host`] would first wait for, so that it comes while other work is done. Two steps,
    /// since the second place is known once the first has come: call [`View::expect_more`] a little later. Neither
    /// changes what a look-up finds.
    #[inline]
    pub fn expect(&self, name: &[u8]) -> Expected {
        if self.is_bare || !self.is_one_seed {
            let hash = self.base.as_deref().map_or(0, |base| base.fetch_line(name));
            return Expected { hash, file: self.levels.len() };
        }
        self.expect_in_layers(name)
    }

    /// Asks for what the look-up reads next. A view other than the one that was asked before is as good.
    #[inline]
    pub fn expect_more(&self, expected: Expected) {
        if let Some(file) = self.levels.get(expected.file).or(self.base.as_ref()) {
            file.fetch_entry(expected.hash);
        }
    }

    #[inline]
    fn base_host(&self, name: &[u8]) -> Option<HostHit<'_>> {
        self.base_hit(self.base.as_deref()?.host(name)?)
    }

    #[inline]
    fn base_hit<'v>(&'v self, entry: HostEntry<'v>) -> Option<HostHit<'v>> {
        if let Some((class, record)) = entry.service() {
            return Some(HostHit::Service(ServiceRef::of_base(self, class, record)));
        }
        self.rare_hit(&entry)
    }

    /// Apart from the path of mapped hosts, which is kept short.
    #[cold]
    fn rare_hit<'v>(&'v self, entry: &HostEntry<'v>) -> Option<HostHit<'v>> {
        let unbound = |class| Some(HostHit::Service(ServiceRef::of_id(self, class, entry.text()?)));
        match entry.kind()? {
            Kind::Platform | Kind::Custom | Kind::Grave => None,
            Kind::PlatformUnbound => unbound(Class::Platform),
            Kind::CustomUnbound => unbound(Class::Custom),
            Kind::Tombstone => Some(HostHit::Tombstone { reason: entry.text()? }),
        }
    }

    /// Keys and octets that the overlay holds.
    pub fn overlay_size(&self) -> (usize, usize) {
        let size = self.overlay.size();
        (size.keys, size.octets)
    }

    /// Mapped host names and tombstones of the base; 0 without one.
    pub fn base_hosts(&self) -> u64 {
        self.base.as_deref().map_or(0, |base| base.header().counts.hosts)
    }

    /// The region of the node, as given to the table.
    pub fn local(&self) -> &RegionKey {
        &self.local
    }

    /// Resolves a region's name; one that is nowhere used resolves too, and has no endpoints.
    pub fn region(&self, name: &Region) -> RegionKey {
        RegionKey::new(name, &self.keys, self.stack, self.base.as_deref(), &self.levels)
    }

    /// The snapshot underneath.
    pub fn base(&self) -> Option<&Arc<Snapshot>> {
        self.base.as_ref()
    }

    /// What was flushed since the base was made, newest first; at most [`crate::limits::LEVELS_MAX`].
    pub fn levels(&self) -> &[Arc<Snapshot>] {
        &self.levels
    }

    /// Of the state without the overlay.
    pub(crate) fn files_state(&self) -> Digest {
        let newest = self.levels.first().or(self.base.as_ref());
        newest.map_or_else(Digest::default, |file| file.header().state())
    }

    pub(crate) fn overlay(&self) -> &Overlay {
        &self.overlay
    }

    pub(crate) fn keys(&self) -> &Keys {
        &self.keys
    }

    /// Changes the overlay, for the writer.
    pub(crate) fn change_overlay<T>(&mut self, change: impl FnOnce(&mut Overlay) -> T) -> T {
        let result = change(&mut self.overlay);
        let size = self.overlay.size();
        self.is_bare = self.levels.is_empty() && size.keys == 0;
        self.has_wildcards = self.has_wildcard_files || size.wildcards > 0;
        result
    }
}
