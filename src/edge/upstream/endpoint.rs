//! One endpoint as one core knows it: requests in flight, connections under way and kept, and how it stands.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::link::Link;
use crate::config::Reuse;
use crate::limits;
use crate::pick::{Backoff, Outlook, Standing};
use crate::proto::http1::Version;

const BACKOFF: Backoff = Backoff {
    first: Duration::from_millis(limits::BACKOFF_FIRST_MS),
    most: Duration::from_millis(limits::BACKOFF_MOST_MS),
};

/// A connect that takes longer makes its endpoint suspect: others are preferred until it has come about.
const SUSPECT: Duration = Duration::from_millis(limits::CONNECT_SUSPECT_MS);

const HTTP10: Duration = Duration::from_millis(limits::HTTP10_MS);

pub(super) struct Endpoint {
    /// Of this service.
    in_flight: Cell<u32>,
    /// From here its times count.
    born: Instant,
    standing: Cell<Standing>,
    /// Connects under way, and since when none of them has come about.
    connecting: Cell<(u32, Duration)>,
    /// When it last answered in HTTP/1.0, if that was its last answer.
    http10: Cell<Option<Duration>>,
    pub(super) reuse: Reuse,
    /// This service's, or what all services share there, as `reuse` says.
    pub(super) link: Rc<Link>,
}

impl Endpoint {
    pub(super) fn new(now: Instant, reuse: Reuse, link: Rc<Link>) -> Endpoint {
        Endpoint {
            in_flight: Cell::new(0),
            standing: Cell::default(),
            born: now,
            connecting: Cell::new((0, Duration::ZERO)),
            http10: Cell::new(None),
            reuse,
            link,
        }
    }

    pub(super) fn outlook(&self, now: Instant) -> Outlook {
        let standing = self.standing.get();
        // As nearly always; what the time is does not matter then.
        if standing == Standing::Good && self.connecting.get().0 == 0 {
            return Outlook::Good;
        }
        let age = self.age(now);
        match standing.outlook(age, self.in_flight.get()) {
            Outlook::Good if self.is_suspect(age) => Outlook::Bad,
            outlook => outlook,
        }
    }

    fn is_suspect(&self, age: Duration) -> bool {
        let (connecting, since) = self.connecting.get();
        connecting > 0 && age.saturating_sub(since) >= SUSPECT
    }

    fn age(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.born)
    }

    pub(super) fn badness(&self, now: Instant) -> Duration {
        self.standing.get().badness(self.age(now))
    }

    pub(super) fn figures(&self, now: Instant) -> Figures {
        Figures {
            outlook: self.outlook(now),
            in_flight: self.in_flight.get(),
            kept: self.link.len(),
            failures: self.standing.get().failures(),
            left_alone: self.badness(now),
        }
    }

    /// What this service alone keeps there.
    pub(super) fn own_link(&self) -> Option<&Link> {
        (self.reuse == Reuse::Service).then_some(&*self.link)
    }

    /// Nobody uses it, and nothing of it is worth remembering.
    pub(super) fn is_vacant(&self) -> bool {
        self.in_flight.get() == 0
            && self.own_link().is_none_or(Link::is_empty)
            && self.standing.get() == Standing::Good
            && self.http10.get().is_none()
    }

    /// It is known to speak HTTP/1.0 (RFC 9112, 6.1: the version of a prior response).
    pub(super) fn speaks_http10(&self, now: Instant) -> bool {
        self.http10.get().is_some_and(|since| self.age(now) < since + HTTP10)
    }

    /// The same, as of now: what it failed by is forgotten some day.
    pub(super) fn may_be_forgotten(&self, now: Instant) -> bool {
        self.in_flight.get() == 0 && self.own_link().is_none_or(Link::is_empty) && !self.is_remembered(now)
    }

    fn is_remembered(&self, now: Instant) -> bool {
        if self.speaks_http10(now) {
            return true;
        }
        match self.standing.get() {
            Standing::Good => false,
            Standing::Away { until, .. } => self.age(now) < until + BACKOFF.most,
            Standing::Probed { .. } | Standing::Trial { .. } => true,
        }
    }
}

/// How an endpoint stands, for people.
#[derive(Clone, Copy, Debug)]
pub(in crate::edge) struct Figures {
    pub(in crate::edge) outlook: Outlook,
    /// Of this service.
    pub(in crate::edge) in_flight: u32,
    pub(in crate::edge) kept: usize,
    /// In a row, up to now.
    pub(in crate::edge) failures: u8,
    pub(in crate::edge) left_alone: Duration,
}

impl Figures {
    /// Of one that has not been met.
    pub(super) const UNKNOWN: Figures =
        Figures { outlook: Outlook::Good, in_flight: 0, kept: 0, failures: 0, left_alone: Duration::ZERO };
}

/// A request in flight at an endpoint.
pub(in crate::edge) struct Lease(Rc<Endpoint>);

impl Lease {
    pub(super) fn new(endpoint: Rc<Endpoint>) -> Lease {
        endpoint.in_flight.set(endpoint.in_flight.get() + 1);
        endpoint.link.in_flight.set(endpoint.link.in_flight.get() + 1);
        Lease(endpoint)
    }

    pub(super) fn endpoint(&self) -> &Endpoint {
        &self.0
    }

    /// The endpoint has answered in that version.
    pub(in crate::edge) fn answered(&self, version: Version, now: Instant) {
        self.0.standing.set(self.0.standing.get().answered());
        self.0.http10.set((version == Version::Http10).then(|| self.0.age(now)));
    }

    /// The endpoint has failed; true if it is left alone from now on and was not before.
    pub(in crate::edge) fn failed(&self, now: Instant) -> bool {
        let before = self.0.standing.get();
        self.0.standing.set(before.failed(self.0.age(now), BACKOFF, fastrand::f64()));
        self.0.standing.get() != before
    }

    /// The endpoint is being probed.
    pub(super) fn probed(&self) {
        self.0.standing.set(self.0.standing.get().probed());
    }

    /// A connect begins; its endpoint becomes suspect if it takes long.
    pub(super) fn connecting(&self, now: Instant) -> Connecting<'_> {
        let (count, since) = self.0.connecting.get();
        self.0.connecting.set((count + 1, if count == 0 { self.0.age(now) } else { since }));
        Connecting(&self.0)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.0.in_flight.set(self.0.in_flight.get() - 1);
        self.0.link.in_flight.set(self.0.link.in_flight.get() - 1);
    }
}

/// A connect under way.
pub(super) struct Connecting<'a>(&'a Endpoint);

impl Connecting<'_> {
    /// It has come about.
    pub(super) fn connected(&self, now: Instant) {
        self.0.connecting.set((self.0.connecting.get().0, self.0.age(now)));
        self.0.standing.set(self.0.standing.get().connected());
    }
}

impl Drop for Connecting<'_> {
    fn drop(&mut self) {
        let (count, since) = self.0.connecting.get();
        self.0.connecting.set((count - 1, since));
    }
}
