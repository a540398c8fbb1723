//! Between the feed's guards and whoever watches them: what they hold, and what is acknowledged.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use ringway_state::id::ServiceId;

use super::guards::{Holding, Meant};
use crate::limits;
use crate::runtime::Waker;

/// Shown to the admin listener, and looked at by the feed.
#[derive(Default)]
pub struct GuardDesk {
    /// What they hold, and the octets that are to be read once more.
    shown: Mutex<(Vec<Holding>, u64)>,
    /// Not yet taken, and how often something was acknowledged so far.
    acknowledged: Mutex<(u64, BTreeSet<Meant>)>,
    /// Services that were acknowledged last, and of which the feed knew nothing.
    unknown: Mutex<BTreeSet<ServiceId>>,
    /// So many of these are on record.
    on_record: AtomicU64,
    /// Of the feed; none if there is no feed to guard.
    waker: OnceLock<Waker>,
}

/// Why nothing can be acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeskError {
    #[error("changes come from no feed, so nothing is guarded")]
    NoFeed,
    #[error("the feed has not taken up what was acknowledged before; try again")]
    TooMany,
}

impl GuardDesk {
    /// What each rule held a moment ago; empty if nothing is guarded. And how many octets of the feed are to be read once
    /// more, since they had no room for what stands there.
    pub fn shown(&self) -> (Vec<Holding>, u64) {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Something that is held is meant. The feed takes it up at once; [`has_on_record`](Self::has_on_record) tells when a
    /// restart keeps it.
    ///
    /// # Errors
    /// As [`DeskError`]; nothing has changed.
    pub fn acknowledge(&self, meant: Meant) -> Result<u64, DeskError> {
        let waker = self.waker.get().ok_or(DeskError::NoFeed)?;
        let mut acknowledged = self.acknowledged.lock().unwrap_or_else(PoisonError::into_inner);
        let (count, all) = &mut *acknowledged;
        if all.len() >= limits::GUARD_MEANT {
            return Err(DeskError::TooMany);
        }
        all.insert(meant);
        *count += 1;
        let ticket = *count;
        drop(acknowledged);
        waker.wake();
        Ok(ticket)
    }

    /// Whether what was acknowledged with this ticket is on record.
    pub fn has_on_record(&self, ticket: u64) -> bool {
        self.on_record.load(Ordering::Acquire) >= ticket
    }

    /// Whether the feed found something by this service's name when it was acknowledged last. Told once that is on record.
    pub fn knows(&self, service: &ServiceId) -> bool {
        !self.unknown.lock().unwrap_or_else(PoisonError::into_inner).contains(service)
    }

    /// A service was acknowledged, and this is whether anything is known of it.
    pub(super) fn is_known(&self, service: &ServiceId, is_known: bool) {
        let mut unknown = self.unknown.lock().unwrap_or_else(PoisonError::into_inner);
        if is_known {
            unknown.remove(service);
            return;
        }
        if unknown.len() >= limits::GUARD_MEANT {
            unknown.pop_first();
        }
        unknown.insert(service.clone());
    }

    pub(super) fn is_on_record(&self, ticket: u64) {
        self.on_record.store(ticket, Ordering::Release);
    }

    pub(super) fn open(&self, waker: Waker) {
        // There is one feed.
        let _ = self.waker.set(waker);
    }

    pub(super) fn show(&self, holdings: Vec<Holding>, arrears: u64) {
        *self.shown.lock().unwrap_or_else(PoisonError::into_inner) = (holdings, arrears);
    }

    /// What was acknowledged, and the last ticket of it.
    pub(super) fn take_acknowledged(&self) -> (u64, BTreeSet<Meant>) {
        let (count, all) = &mut *self.acknowledged.lock().unwrap_or_else(PoisonError::into_inner);
        (*count, std::mem::take(all))
    }
}
