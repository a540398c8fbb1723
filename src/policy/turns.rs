//! Who may be in flight, and who waits for a turn: first come, first served, both bounded.

use std::collections::VecDeque;

/// Names one who waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(u64);

/// `W` is how one who waits is woken. Bounds come with each call, since they may change.
#[derive(Debug)]
pub struct Turns<W> {
    in_flight: usize,
    next: u64,
    /// Oldest first.
    waiting: VecDeque<(Ticket, W)>,
}

impl<W> Default for Turns<W> {
    fn default() -> Self {
        Turns { in_flight: 0, next: 0, waiting: VecDeque::new() }
    }
}

impl<W> Turns<W> {
    /// Takes a turn at once, if fewer than `most` are in flight and nobody waits; false if it must wait.
    pub fn try_enter(&mut self, most: usize) -> bool {
        let enters = self.in_flight < most && self.waiting.is_empty();
        self.in_flight += usize::from(enters);
        enters
    }

    /// Waits behind all others; `None` if `most` wait already.
    pub fn wait(&mut self, waker: W, most: usize) -> Option<Ticket> {
        if self.waiting.len() >= most {
            return None;
        }
        let ticket = Ticket(self.next);
        self.next += 1;
        self.waiting.push_back((ticket, waker));
        Some(ticket)
    }

    /// True if the ticket has been called: its holder is in flight from then on. If not, `waker` is the way to wake it.
    pub fn is_called(&mut self, ticket: Ticket, waker: W) -> bool {
        match self.place_of(ticket) {
            Some(at) => {
                self.waiting[at].1 = waker;
                false
            }
            None => true,
        }
    }

    /// The holder waits no longer. If it had been called, it gives back its turn.
    pub fn give_up(&mut self, ticket: Ticket) {
        match self.place_of(ticket) {
            Some(at) => drop(self.waiting.remove(at)),
            None => self.leave(),
        }
    }

    /// One in flight has ended. [`call`](Self::call) says whose turn it is.
    pub fn leave(&mut self) {
        self.in_flight -= 1;
    }

    pub fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Calls the next, if fewer than `most` are in flight; to be asked until there is none.
    pub fn call(&mut self, most: usize) -> Option<W> {
        if self.in_flight >= most {
            return None;
        }
        let (_, waker) = self.waiting.pop_front()?;
        self.in_flight += 1;
        Some(waker)
    }

    fn place_of(&self, ticket: Ticket) -> Option<usize> {
        self.waiting.binary_search_by_key(&ticket, |(ticket, _)| *ticket).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// One who came, in the model: a plain list in the order of arrival.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Guest {
        InFlight,
        Waits(Ticket),
        Gone,
    }

    proptest! {
        /// Against a plain list: never more than the bounds, nobody overtakes, nobody is forgotten.
        #[test]
        fn turns_are_taken_in_order(
            most in 1usize..4,
            most_waiting in 0usize..4,
            events in prop::collection::vec((0..3u8, any::<prop::sample::Index>()), 0..60),
        ) {
            let (mut turns, mut guests) = (Turns::default(), Vec::<Guest>::new());
            for (event, which) in events {
                let in_flight = |guests: &[Guest]| guests.iter().filter(|g| **g == Guest::InFlight).count();
                let waiting = |guests: &[Guest]| guests.iter().filter(|g| matches!(g, Guest::Waits(_))).count();
                match event {
                    0 if turns.try_enter(most) => {
                        prop_assert!(in_flight(&guests) < most && waiting(&guests) == 0);
                        guests.push(Guest::InFlight);
                    }
                    0 => match turns.wait(guests.len(), most_waiting) {
                        Some(ticket) => guests.push(Guest::Waits(ticket)),
                        None => prop_assert_eq!(waiting(&guests), most_waiting),
                    },
                    _ if guests.is_empty() => {}
                    _ => {
                        let at = which.index(guests.len());
                        match guests[at] {
                            Guest::InFlight => turns.leave(),
                            Guest::Waits(ticket) => {
                                prop_assert!(!turns.is_called(ticket, at), "called behind the model's back");
                                turns.give_up(ticket);
                            }
                            Guest::Gone => continue,
                        }
                        guests[at] = Guest::Gone;
                    }
                }
                while let Some(called) = turns.call(most) {
                    let first = guests.iter().position(|g| matches!(g, Guest::Waits(_)));
                    prop_assert_eq!(first, Some(called), "somebody overtook");
                    guests[called] = Guest::InFlight;
                }
                prop_assert!(in_flight(&guests) <= most && waiting(&guests) <= most_waiting);
                prop_assert!(in_flight(&guests) == most || waiting(&guests) == 0, "a turn is left");
            }
        }
    }

    #[test]
    fn a_turn_that_was_called_and_is_not_wanted_goes_to_the_next() {
        let mut turns = Turns::default();
        assert!(turns.try_enter(1) && !turns.try_enter(1));
        let (first, second) = (turns.wait('a', 9).unwrap(), turns.wait('b', 9).unwrap());
        turns.leave();
        assert_eq!(turns.call(1), Some('a'));
        assert!(turns.is_called(first, 'a') && !turns.is_called(second, 'c'));
        turns.give_up(first);
        assert_eq!((turns.call(1), turns.call(1)), (Some('c'), None));
        assert!(turns.is_called(second, 'c'));
    }
}
