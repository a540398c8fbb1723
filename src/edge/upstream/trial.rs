//! One attempt of a request: where it goes, and where the next may go when it fails.

use std::net::SocketAddr;
use std::rc::Rc;

use super::{KeptBody, Service};
use crate::config::ServiceSettings;
use crate::edge::core::Edge;
use crate::edge::log::Record;
use crate::edge::request::Scratch;
use crate::edge::route::{self, Wanted};
use crate::observe::Reason;
use crate::policy::{Again, Attempt, End, second_attempt};

/// An attempt under way.
#[derive(Clone, Copy)]
pub(super) struct Trial<'a> {
    pub(super) service: &'a Rc<Service>,
    pub(super) address: SocketAddr,
    /// What is left of the request's body.
    pub(super) kept: &'a KeptBody,
    /// Its service's.
    pub(super) settings: &'a ServiceSettings,
}

impl Trial<'_> {
    /// Where the request may be tried again when this attempt has ended so; `None` if nowhere.
    pub(super) fn again(
        &self,
        edge: &Edge,
        scratch: &Scratch,
        record: &Record,
        end: End,
    ) -> Option<SocketAddr> {
        let attempt = Attempt {
            number: record.attempts(),
            end,
            repeatable: scratch.is_repeatable(),
            whole: self.kept.is_whole(),
        };
        let wanted = match second_attempt(&attempt, self.settings.retry) {
            Again::No => return None,
            Again::Elsewhere => Wanted::Only(self.address),
            Again::Anywhere => Wanted::Rather(self.address),
        };
        route::again(edge, scratch, wanted).ok()
    }
}

/// How an exchange ended that failed for `reason`, on a connection that was `reused` or not.
pub(super) fn end_of(reason: Reason, record: &Record, reused: bool) -> End {
    match reason {
        _ if record.origin_spoke.get() => End::Other,
        Reason::OriginClosed | Reason::OriginReset => End::Closed { reused },
        Reason::OriginTimeout => End::TimedOut,
        _ => End::Other,
    }
}
