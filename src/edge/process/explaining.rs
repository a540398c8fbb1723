//! Requests that are being explained: every core is asked, and the last to tell completes the answer.

use std::collections::VecDeque;

use crate::edge::explain::Explanation;
use crate::limits;

/// Takes what is told of a request.
pub(super) type TellExplained = Box<dyn FnOnce(Explanation) + Send>;

#[derive(Default)]
pub(super) struct Explaining {
    asked: u64,
    open: VecDeque<Open>,
}

struct Open {
    number: u64,
    /// Cores that have not told yet.
    waits_for: usize,
    told: Option<Explanation>,
    tell: TellExplained,
}

impl Explaining {
    /// Begins to collect what so many cores tell, under the number that is returned. There are no more askers than the admin
    /// listener has connections: with so many open already, the first has nobody who waits for it.
    pub(super) fn begin(&mut self, cores: usize, tell: TellExplained) -> u64 {
        if self.open.len() >= limits::ADMIN_CONNECTIONS_MAX {
            self.open.pop_front();
        }
        self.asked += 1;
        self.open.push_back(Open { number: self.asked, waits_for: cores, told: None, tell });
        self.asked
    }

    /// Adds what a core tells; all of it if this was the last, and who waits for it.
    pub(super) fn add(&mut self, number: u64, told: Explanation) -> Option<(Explanation, TellExplained)> {
        let at = self.open.iter().position(|open| open.number == number)?;
        let open = &mut self.open[at];
        open.waits_for -= 1;
        match &mut open.told {
            Some(all) => all.add(told),
            none => *none = Some(told),
        }
        if open.waits_for > 0 {
            return None;
        }
        let Open { told, tell, .. } = self.open.remove(at)?;
        told.map(|told| (told, tell))
    }
}
