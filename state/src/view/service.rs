//! A service that a host name has led to, and its endpoints.

use super::View;
use crate::{
    record::{Class, Endpoint},
    region::RegionKey,
    snapshot::{PackedSet, ServiceRecord},
};

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
    /// The host name stands above the base, or the base has no record.
    Id(&'v str),
}

impl<'v> ServiceRef<'v> {
    #[inline]
    pub(super) fn of_base(view: &'v View, class: Class, record: ServiceRecord<'v>) -> Self {
        Self { view, class, found: Found::Base(record) }
    }

    pub(super) fn of_id(view: &'v View, class: Class, id: &'v str) -> Self {
        Self { view, class, found: Found::Id(id) }
    }

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
        let above = self.view.service_above_base(self.id());
        above.unwrap_or_else(|| {
            let record = self.record().or_else(|| self.view.base.as_deref()?.service(self.id()));
            record.is_some_and(|record| record.service().is_live())
        })
    }

    /// The endpoints in `region`, in every state; empty where there are none.
    #[inline]
    pub fn endpoints(&self, region: &RegionKey) -> Endpoints<'v> {
        if self.view.is_bare && region.stack == self.view.stack {
            return Endpoints::of_base(self.record(), region.numbers.base);
        }
        self.view.layered_endpoints(self.id(), self.record(), region)
    }

    /// The base's, if the host name has led there.
    #[inline]
    fn record(&self) -> Option<ServiceRecord<'v>> {
        match self.found {
            Found::Base(record) => Some(record),
            Found::Id(_) => None,
        }
    }
}

/// Endpoints of one service in one region, ascending by address: length, any by index, or one after the
/// other.
#[derive(Debug, Clone, Copy)]
pub struct Endpoints<'v>(Set<'v>);

#[derive(Debug, Clone, Copy)]
enum Set<'v> {
    Slice(&'v [Endpoint]),
    Packed(PackedSet<'v>),
}

impl<'v> Endpoints<'v> {
    pub(super) const NONE: Self = Self(Set::Slice(&[]));

    pub(super) fn of_slice(endpoints: &'v [Endpoint]) -> Self {
        Self(Set::Slice(endpoints))
    }

    #[inline]
    pub(super) fn of_packed(set: PackedSet<'v>) -> Self {
        Self(Set::Packed(set))
    }

    #[inline]
    pub(super) fn of_base(record: Option<ServiceRecord<'v>>, region: Option<u64>) -> Self {
        match (record, region) {
            (Some(record), Some(number)) => {
                record.endpoints(number).live().map_or(Self::NONE, Self::of_packed)
            }
            _ => Self::NONE,
        }
    }

    pub fn len(&self) -> usize {
        match self.0 {
            Set::Slice(endpoints) => endpoints.len(),
            Set::Packed(set) => set.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The endpoint at `index`; `None` from [`Endpoints::len`] on.
    pub fn get(&self, index: usize) -> Option<Endpoint> {
        match self.0 {
            Set::Slice(endpoints) => endpoints.get(index).copied(),
            Set::Packed(set) => set.get(index),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = Endpoint> + use<'v> {
        let endpoints = *self;
        (0..self.len()).filter_map(move |index| endpoints.get(index))
    }
}
