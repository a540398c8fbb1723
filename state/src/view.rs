//! The reader's table: what the request path asks. No call here locks, allocates or waits.

use std::sync::Arc;

use crate::{
    id::Region,
    overlay::{Overlay, Seeds},
    record::{Change, Class, Endpoint, HostValue, Key, Record},
    region::RegionKey,
    snapshot::{HostEntry, Kind, PackedSet, ServiceRecord, Snapshot},
};

/// One state of the table, immutable. Cloning it costs a few reference counts: the writer publishes clones, a
/// core keeps the newest it was given.
#[derive(Clone)]
pub struct View {
    pub(crate) base: Option<Arc<Snapshot>>,
    pub(crate) overlay: Overlay,
    pub(crate) seeds: Seeds,
    pub(crate) local: RegionKey,
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

/// A service as one view knows it.
#[derive(Clone, Copy)]
pub struct ServiceRef<'v> {
    view: &'v View,
    class: Class,
    found: Found<'v>,
}

/// A service's id stands in its record, if the base has one.
#[derive(Clone, Copy)]
enum Found<'v> {
    Base(ServiceRecord<'v>),
    Id(&'v str),
}

impl View {
    /// Looks an exact host name up: lower case, without port or trailing dot. `None`: unknown or removed.
    #[inline]
    pub fn host(&self, name: &[u8]) -> Option<HostHit<'_>> {
        if self.overlay.keys() > 0
            && let Some(change) = self.overlay_host(name)
        {
            return self.overlay_hit(change);
        }
        self.base_host(name)
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
            return Some(HostHit::Service(ServiceRef { view: self, class, found: Found::Base(record) }));
        }
        self.rare_hit(&entry)
    }

    /// Apart from the path of mapped hosts, which is kept short.
    #[cold]
    fn rare_hit<'v>(&'v self, entry: &HostEntry<'v>) -> Option<HostHit<'v>> {
        let unbound =
            |class| Some(HostHit::Service(ServiceRef { view: self, class, found: Found::Id(entry.text()?) }));
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
        RegionKey::new(name, &self.seeds, self.base.as_deref())
    }

    /// The snapshot underneath.
    pub fn base(&self) -> Option<&Arc<Snapshot>> {
        self.base.as_ref()
    }

    /// The stored value of `key`, graves included. Allocates: for the writer, explain and export.
    pub fn change(&self, key: &Key) -> Option<Change> {
        self.overlay_change(key).cloned().or_else(|| self.base.as_deref()?.change(key))
    }

    /// All stored values, graves included, in no particular order: what a new snapshot is built from.
    /// Allocates. An error says which octets of the base make no sense.
    pub fn changes(&self) -> impl Iterator<Item = Result<Change, String>> {
        let base = self.base.iter().flat_map(|base| base.changes());
        let standing = base.filter(|change| match change {
            Ok(change) => self.overlay_change(&change.record.key()).is_none(),
            Err(_) => true,
        });
        standing.chain(self.overlay.changes().cloned().map(Ok))
    }

    #[inline(never)]
    fn overlay_host(&self, name: &[u8]) -> Option<&Change> {
        let hash = self.seeds.host.hash(name);
        self.overlay.find(
            hash,
            |record| matches!(record, Record::Host(known, _) if known.as_str().as_bytes() == name),
        )
    }

    fn overlay_change(&self, key: &Key) -> Option<&Change> {
        match key {
            Key::Host(name) => self.overlay_host(name.as_str().as_bytes()),
            Key::Service(id) => self.overlay_service(id.as_str()),
            Key::Endpoints(id, region) => self.overlay_endpoints(id.as_str(), &self.region(region)),
        }
    }

    fn overlay_service(&self, id: &str) -> Option<&Change> {
        let hash = self.seeds.service.hash(id.as_bytes());
        self.overlay.find(hash, |record| matches!(record, Record::Service(known, _) if known.as_str() == id))
    }

    #[inline]
    fn overlay_endpoints(&self, id: &str, region: &RegionKey) -> Option<&Change> {
        let hash = region.hasher.hash(id.as_bytes());
        self.overlay.find(hash, |record| {
            matches!(record, Record::Endpoints(known, at, _) if known.as_str() == id && *at == region.name)
        })
    }

    fn overlay_hit<'v>(&'v self, change: &'v Change) -> Option<HostHit<'v>> {
        let Record::Host(_, value) = &change.record else { return None };
        match value.as_ref()? {
            HostValue::Mapped { service, class } => {
                let record = self.base.as_deref().and_then(|base| base.service(service.as_str()));
                let found = record.map_or(Found::Id(service.as_str()), Found::Base);
                Some(HostHit::Service(ServiceRef { view: self, class: *class, found }))
            }
            HostValue::Tombstone { reason } => Some(HostHit::Tombstone { reason: reason.as_str() }),
        }
    }
}

impl<'v> ServiceRef<'v> {
    #[inline]
    pub fn id(&self) -> &'v str {
        match self.found {
            Found::Base(record) => record.id(),
            Found::Id(id) => id,
        }
    }

    /// Of the host name that led here: a custom domain's owner may change (S6).
    pub fn class(&self) -> Class {
        self.class
    }

    /// Whether a service record stands behind the id. Subjects have no order among each other, so a host name
    /// may be mapped before its service is known, and stay mapped after it is removed.
    pub fn is_known(&self) -> bool {
        match (self.view.overlay_service(self.id()), self.found) {
            (Some(change), _) => !change.record.is_grave(),
            (None, Found::Base(record)) => record.is_known(),
            (None, Found::Id(_)) => false,
        }
    }

    /// The endpoints in `region`, in every state; empty where there are none.
    #[inline]
    pub fn endpoints(&self, region: &RegionKey) -> Endpoints<'v> {
        if self.view.overlay.keys() > 0
            && let Some(change) = self.view.overlay_endpoints(self.id(), region)
        {
            return match &change.record {
                Record::Endpoints(_, _, Some(set)) => Endpoints(Stored::Slice(set.as_slice())),
                _ => Endpoints::NONE,
            };
        }
        match (self.found, region.number) {
            (Found::Base(record), Some(number)) => {
                record.endpoints(number).map_or(Endpoints::NONE, |set| Endpoints(Stored::Packed(set)))
            }
            _ => Endpoints::NONE,
        }
    }
}

/// Endpoints of one service in one region, ascending by address: length, any by index, or one after the
/// other.
#[derive(Debug, Clone, Copy)]
pub struct Endpoints<'v>(Stored<'v>);

#[derive(Debug, Clone, Copy)]
enum Stored<'v> {
    Slice(&'v [Endpoint]),
    Packed(PackedSet<'v>),
}

impl<'v> Endpoints<'v> {
    const NONE: Self = Self(Stored::Slice(&[]));

    pub fn len(&self) -> usize {
        match self.0 {
            Stored::Slice(endpoints) => endpoints.len(),
            Stored::Packed(set) => set.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The endpoint at `index`; `None` from [`Endpoints::len`] on.
    pub fn get(&self, index: usize) -> Option<Endpoint> {
        match self.0 {
            Stored::Slice(endpoints) => endpoints.get(index).copied(),
            Stored::Packed(set) => set.get(index),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = Endpoint> + use<'v> {
        let endpoints = *self;
        (0..self.len()).filter_map(move |index| endpoints.get(index))
    }
}
