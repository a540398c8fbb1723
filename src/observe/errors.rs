//! Requests that went wrong, by whose fault and by service. There are far more services than series that anybody
//! could look at: those with most errors of late have series of their own, the rest share one.

use super::cell::Counter;
use super::reason::{Fault, Reason};
use crate::limits::{SERVICE_ERRORS_AGE_MS, SERVICE_ERRORS_PENDING, SERVICE_ERRORS_SERIES};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

/// Whose fault an error was, and who answered: a 5xx of the origin's own passes through, all others are made here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    Client,
    Gateway,
    Origin,
    /// The origin answered with a 5xx itself.
    OriginsOwn,
}

impl ErrorKind {
    pub(super) const ALL: [ErrorKind; 4] =
        [ErrorKind::Client, ErrorKind::Gateway, ErrorKind::Origin, ErrorKind::OriginsOwn];

    /// Of a request that ended with `status` (0 for none) and for `reason`; `None` if nothing went wrong.
    #[inline]
    #[must_use]
    pub fn of(status: u16, reason: Option<Reason>) -> Option<ErrorKind> {
        match reason.map(Reason::fault) {
            Some(Fault::Client) => Some(ErrorKind::Client),
            Some(Fault::Gateway) => Some(ErrorKind::Gateway),
            Some(Fault::Origin) => Some(ErrorKind::Origin),
            None if status >= 500 => Some(ErrorKind::OriginsOwn),
            None => None,
        }
    }

    pub(super) fn labels(self) -> [(&'static str, &'static str); 2] {
        let (fault, by) = match self {
            ErrorKind::Client => (Fault::Client, "ringway"),
            ErrorKind::Gateway => (Fault::Gateway, "ringway"),
            ErrorKind::Origin => (Fault::Origin, "ringway"),
            ErrorKind::OriginsOwn => (Fault::Origin, "origin"),
        };
        [("fault", fault.as_str()), ("by", by)]
    }
}

/// Errors of one core by kind and by class of their status.
#[derive(Debug, Default)]
pub struct ErrorCounters([[Counter; 3]; ErrorKind::ALL.len()]);

impl ErrorCounters {
    /// The last is of requests that got no answer.
    pub(super) const STATUS: [&str; 3] = ["4xx", "5xx", "none"];

    #[inline]
    pub fn count(&self, kind: ErrorKind, status: u16) {
        let class = match status / 100 {
            4 => 0,
            5.. => 1,
            _ => 2,
        };
        self.0[kind as usize][class].inc();
    }

    pub(super) fn get(&self, kind: ErrorKind, class: usize) -> u64 {
        self.0[kind as usize][class].get()
    }
}

/// Errors by [`ErrorKind`].
type Kinds = [u64; ErrorKind::ALL.len()];

fn add(sum: &mut Kinds, more: &Kinds) {
    sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
}

/// What one core has counted and not yet handed over.
#[derive(Debug, Default)]
pub struct PendingErrors {
    services: HashMap<String, Kinds>,
    others: Kinds,
}

impl PendingErrors {
    /// Counts one; an empty id stands for requests that reached no service.
    pub fn count(&mut self, service: &str, kind: ErrorKind) {
        let has_room = self.services.len() < SERVICE_ERRORS_PENDING;
        let kinds = match self.services.get_mut(service) {
            Some(known) => known,
            None if has_room => self.services.entry(service.to_owned()).or_default(),
            None => &mut self.others,
        };
        kinds[kind as usize] += 1;
    }

    fn is_empty(&self) -> bool {
        self.services.is_empty() && self.others == Kinds::default()
    }
}

/// The errors of all cores. Cores hand over what they have from time to time, and never wait for it.
#[derive(Debug, Default)]
pub struct ServiceErrors(Mutex<Top>);

#[derive(Debug, Default)]
pub(super) struct Top {
    services: HashMap<String, Ranked>,
    pub(super) others: Kinds,
    /// Services whose series had to make room.
    pub(super) displaced: u64,
    aged: Option<Instant>,
}

#[derive(Debug, Default)]
struct Ranked {
    kinds: Kinds,
    /// Errors of late: halved as time goes by.
    recent: u64,
}

impl ServiceErrors {
    /// Takes what is pending, unless somebody is looking; then it stays for the next time.
    pub fn take(&self, pending: &mut PendingErrors, now: Instant) {
        if pending.is_empty() {
            return;
        }
        let mut top = match self.0.try_lock() {
            Ok(top) => top,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        top.age(now);
        for (service, kinds) in pending.services.drain() {
            top.add(service, &kinds);
        }
        add(&mut top.others, &std::mem::take(&mut pending.others));
    }

    /// For a scrape.
    pub(super) fn top(&self) -> MutexGuard<'_, Top> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Top {
    fn add(&mut self, service: String, kinds: &Kinds) {
        let errors: u64 = kinds.iter().sum();
        if !self.services.contains_key(&service)
            && self.services.len() >= SERVICE_ERRORS_SERIES
            && !self.make_room_for(errors)
        {
            return add(&mut self.others, kinds);
        }
        let ranked = self.services.entry(service).or_default();
        add(&mut ranked.kinds, kinds);
        ranked.recent += errors;
    }

    /// Moves the service with the fewest errors of late to the others, if it has fewer than `errors`.
    fn make_room_for(&mut self, errors: u64) -> bool {
        let least = self.services.iter().min_by_key(|(_, ranked)| ranked.recent);
        let Some(service) = least.filter(|(_, ranked)| ranked.recent < errors).map(|(name, _)| name.clone())
        else {
            return false;
        };
        if let Some(displaced) = self.services.remove(&service) {
            add(&mut self.others, &displaced.kinds);
            self.displaced += 1;
        }
        true
    }

    fn age(&mut self, now: Instant) {
        let since = *self.aged.get_or_insert(now);
        if now.saturating_duration_since(since) >= Duration::from_millis(SERVICE_ERRORS_AGE_MS) {
            self.services.values_mut().for_each(|ranked| ranked.recent /= 2);
            self.aged = Some(now);
        }
    }

    /// By service, in order of their ids.
    pub(super) fn services(&self) -> Vec<(&str, &Kinds)> {
        let mut services: Vec<_> =
            self.services.iter().map(|(name, ranked)| (&**name, &ranked.kinds)).collect();
        services.sort_unstable();
        services
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn whose_fault_and_who_answered() {
        assert_eq!(ErrorKind::of(200, None), None);
        assert_eq!(ErrorKind::of(404, None), None, "an origin's own 404 is its answer");
        assert_eq!(ErrorKind::of(404, Some(Reason::UnknownHost)), Some(ErrorKind::Client));
        assert_eq!(ErrorKind::of(503, Some(Reason::Overloaded)), Some(ErrorKind::Gateway));
        assert_eq!(ErrorKind::of(502, Some(Reason::ConnectRefused)), Some(ErrorKind::Origin));
        assert_eq!(ErrorKind::of(500, None), Some(ErrorKind::OriginsOwn));
    }

    fn total(top: &Top) -> u64 {
        top.services().iter().flat_map(|(_, kinds)| *kinds).chain(&top.others).sum()
    }

    proptest! {
        /// Whatever comes in whatever order: nothing is lost or counted twice, and series are bounded.
        #[test]
        fn every_error_is_counted_once(
            rounds in prop::collection::vec(prop::collection::vec((0_usize..3 * SERVICE_ERRORS_SERIES, 0_usize..4), 0..400), 1..20)
        ) {
            let (all, start) = (ServiceErrors::default(), Instant::now());
            let mut counted = 0;
            for (round, errors) in rounds.into_iter().enumerate() {
                let mut pending = PendingErrors::default();
                for (service, kind) in errors {
                    pending.count(&format!("svc_{service}"), ErrorKind::ALL[kind]);
                    counted += 1;
                }
                prop_assert!(pending.services.len() <= SERVICE_ERRORS_PENDING);
                all.take(&mut pending, start + Duration::from_secs(20) * round as u32);
                prop_assert!(pending.is_empty());
                let top = all.top();
                prop_assert!(top.services.len() <= SERVICE_ERRORS_SERIES);
                prop_assert_eq!(total(&top), counted);
            }
        }
    }

    #[test]
    fn a_service_in_trouble_displaces_one_that_is_well_again() {
        let (all, start) = (ServiceErrors::default(), Instant::now());
        let errors = |service: &str, count: usize, at| {
            let mut pending = PendingErrors::default();
            (0..count).for_each(|_| pending.count(service, ErrorKind::Origin));
            all.take(&mut pending, start + Duration::from_millis(at));
        };
        (0..SERVICE_ERRORS_SERIES).for_each(|n| errors(&format!("svc_{n}"), 8, 0));
        errors("svc_new", 3, 0);
        assert!(all.top().services().iter().all(|(name, _)| *name != "svc_new"));
        errors("svc_0", 8, SERVICE_ERRORS_AGE_MS);
        errors("svc_0", 8, 2 * SERVICE_ERRORS_AGE_MS);
        errors("svc_new", 3, 2 * SERVICE_ERRORS_AGE_MS);
        let top = all.top();
        let names: Vec<&str> = top.services().iter().map(|(name, _)| *name).collect();
        assert!(names.contains(&"svc_new") && names.contains(&"svc_0"), "{names:?}");
        assert_eq!((top.displaced, names.len()), (1, SERVICE_ERRORS_SERIES));
    }

    #[test]
    fn a_scrape_makes_nobody_wait() {
        let all = ServiceErrors::default();
        let mut pending = PendingErrors::default();
        pending.count("", ErrorKind::Client);
        let looking = all.top();
        all.take(&mut pending, Instant::now());
        assert!(!pending.is_empty(), "kept for the next time");
        drop(looking);
        all.take(&mut pending, Instant::now());
        assert_eq!(total(&all.top()), 1);
    }
}
