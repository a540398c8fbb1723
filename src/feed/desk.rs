//! Between the feed's guards and whoever watches them: what they hold, and what is acknowledged.

use std::collections::BTreeSet;
use std::sync::{Mutex, OnceLock, PoisonError};

use super::guards::{Holding, Rule};
use crate::runtime::Waker;

/// Shown to the admin listener, and looked at by the feed.
#[derive(Default)]
pub struct GuardDesk {
    /// What they hold, and the octets that are to be read once more.
    shown: Mutex<(Vec<Holding>, u64)>,
    acknowledged: Mutex<BTreeSet<Rule>>,
    /// Of the feed; none if there is no feed to guard.
    waker: OnceLock<Waker>,
}

impl GuardDesk {
    /// What each rule held a moment ago; empty if nothing is guarded. And how many octets of the feed are to be read once
    /// more, since they had no room for what stands there.
    pub fn shown(&self) -> (Vec<Holding>, u64) {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What the rule holds is meant. False if nothing is guarded.
    pub fn acknowledge(&self, rule: Rule) -> bool {
        let Some(waker) = self.waker.get() else { return false };
        self.acknowledged.lock().unwrap_or_else(PoisonError::into_inner).insert(rule);
        waker.wake();
        true
    }

    pub(super) fn open(&self, waker: Waker) {
        // There is one feed.
        let _ = self.waker.set(waker);
    }

    pub(super) fn show(&self, holdings: Vec<Holding>, arrears: u64) {
        *self.shown.lock().unwrap_or_else(PoisonError::into_inner) = (holdings, arrears);
    }

    pub(super) fn take_acknowledged(&self) -> BTreeSet<Rule> {
        std::mem::take(&mut *self.acknowledged.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
