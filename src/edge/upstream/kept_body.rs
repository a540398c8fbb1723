//! A request's body, kept while it goes up in case it must go up again.

use std::cell::{Cell, RefCell};

use crate::limits;

/// What is left of a request's body for a second attempt. Shared: the upload adds to it while others look.
pub(in crate::edge) struct KeptBody {
    octets: RefCell<Vec<u8>>,
    state: Cell<State>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// None was read yet.
    Unread,
    /// What was read so far is all here.
    Begun,
    /// All was read, and is here.
    Whole,
    /// Some was read and is not here.
    Lost,
}

impl KeptBody {
    pub(in crate::edge) fn new() -> KeptBody {
        KeptBody { octets: RefCell::default(), state: Cell::new(State::Unread) }
    }

    /// The body begins to go up. It is kept in `room`, if any is given.
    pub(super) fn begin(&self, room: Option<Vec<u8>>) {
        self.state.set(if room.is_some() { State::Begun } else { State::Lost });
        self.octets.replace(room.unwrap_or_default());
    }

    /// Octets as they go to the origin, framing and all.
    pub(in crate::edge) fn add(&self, octets: &[u8]) {
        if self.state.get() != State::Begun {
            return;
        }
        let mut kept = self.octets.borrow_mut();
        if kept.len() + octets.len() <= limits::REPEATABLE_BODY_OCTETS {
            kept.extend_from_slice(octets);
        } else {
            self.state.set(State::Lost);
            *kept = Vec::new();
        }
    }

    /// The body has gone up whole.
    pub(super) fn end(&self) {
        if self.state.get() == State::Begun {
            self.state.set(State::Whole);
        }
    }

    /// All of it can be sent again.
    pub(super) fn is_whole(&self) -> bool {
        matches!(self.state.get(), State::Unread | State::Whole)
    }

    /// The room given to [`begin`](Self::begin), for others to use; it may have been taken.
    pub(super) fn into_room(self) -> Vec<u8> {
        self.octets.into_inner()
    }

    /// The octets to send again; `None` if none were read yet. Not to be asked unless [`is_whole`](Self::is_whole).
    pub(super) fn take(&self) -> Option<Vec<u8>> {
        (self.state.get() == State::Whole).then(|| self.octets.take())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_kept_whole_or_not_at_all() {
        for (room, pieces, taken) in [
            (true, &[][..], Some(0)),
            (true, &[1, 2], Some(3)),
            (true, &[limits::REPEATABLE_BODY_OCTETS], Some(limits::REPEATABLE_BODY_OCTETS)),
            (true, &[limits::REPEATABLE_BODY_OCTETS, 1], None),
            (true, &[limits::REPEATABLE_BODY_OCTETS + 1, 1], None),
            (false, &[1], None),
        ] {
            let kept = KeptBody::new();
            assert!(kept.is_whole() && kept.take().is_none(), "nothing was read yet");
            kept.begin(room.then(Vec::new));
            for piece in pieces {
                kept.add(&vec![7; *piece]);
                assert!(!kept.is_whole(), "more may come");
            }
            kept.end();
            assert_eq!(kept.is_whole(), taken.is_some());
            assert_eq!(kept.take().map(|octets| octets.len()), taken);
        }
    }
}
