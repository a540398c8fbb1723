//! The reader's table: what the request path asks. No call here locks, allocates or waits.

mod layers;
mod service;

use std::sync::Arc;

pub use self::{
    layers::{Layer, Stored},
    service::{Endpoints, ServiceRef},
};
use crate::{
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
    overlay: Overlay,
    keys: Keys,
    stack: StackNumber,
    local: RegionKey,
    /// Whether the base alone answers.
    is_bare: bool,
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

/// A host name that will be looked up soon ([`View::expect`]).
#[derive(Debug, Clone, Copy)]
pub struct Expected(u64);

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
        let is_bare = levels.is_empty() && overlay.keys() == 0;
        Self { base, levels, overlay, keys, stack, local, is_bare }
    }

    /// Looks an exact host name up: lower case, without port or trailing dot. `None`: unknown or removed.
    #[inline]
    pub fn host(&self, name: &[u8]) -> Option<HostHit<'_>> {
        if self.is_bare { self.base_host(name) } else { self.layered_host(name) }
    }

    /// Asks for the memory that [`View::host`] would first wait for, so that it comes while other work is done. Two steps,
    /// since the second place is known once the first has come: call [`View::expect_more`] a little later. Neither
    /// changes what a look-up finds.
    #[inline]
    pub fn expect(&self, name: &[u8]) -> Expected {
        Expected(self.base.as_deref().map_or(0, |base| base.fetch_line(name)))
    }

    /// Asks for what the look-up reads next. A view other than the one that was asked before is as good.
    #[inline]
    pub fn expect_more(&self, expected: Expected) {
        if let Some(base) = self.base.as_deref() {
            base.fetch_entry(expected.0);
        }
    }

    #[inline]
    fn base_host(&self, name: &[u8]) -> Option<HostHit<'_>> {
        let entry = self.base.as_deref()?.host(name)?;
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

    pub(crate) fn overlay(&self) -> &Overlay {
        &self.overlay
    }

    pub(crate) fn keys(&self) -> &Keys {
        &self.keys
    }

    /// Changes the overlay, for the writer.
    pub(crate) fn change_overlay(&mut self, change: impl FnOnce(&mut Overlay)) {
        change(&mut self.overlay);
        self.is_bare = self.levels.is_empty() && self.overlay.keys() == 0;
    }
}
