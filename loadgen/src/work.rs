//! Hands connections the intended starts of their requests.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};
use std::time::Instant;

use ringway::runtime::Core;

use crate::arrivals::Arrivals;
use crate::limits;
use crate::plan::Load;

/// What is left to do in a turn; shared by its connections.
pub struct Work {
    core: Core,
    until: Instant,
    state: RefCell<State>,
}

struct State {
    /// Requests that may still start; `None` for as many as the time allows.
    left: Option<u64>,
    /// Arrivals that wait for a connection; `None` in a closed loop, where requests start as connections ask.
    waiting: Option<VecDeque<Instant>>,
    /// Connections that wait for an arrival; the one that has waited longest is next, so that all are used.
    parked: VecDeque<Waker>,
    over: bool,
}

impl Work {
    /// Starts before `until`, at most `left` of them.
    #[must_use]
    pub fn new(core: &Core, load: &Load, left: Option<u64>, until: Instant) -> Rc<Self> {
        let waiting = matches!(load, Load::Open { .. }).then(VecDeque::new);
        let state = State { left, waiting, parked: VecDeque::new(), over: false };
        Rc::new(Self { core: core.clone(), until, state: RefCell::new(state) })
    }

    /// No request starts from then on.
    #[must_use]
    pub fn until(&self) -> Instant {
        self.until
    }

    /// The intended start of the caller's next request; `None` when the turn is over.
    pub async fn next(&self) -> Option<Instant> {
        poll_fn(|cx| {
            let state = &mut *self.state.borrow_mut();
            let next = match &mut state.waiting {
                None => closed(&mut state.left, self.core.now(), self.until),
                Some(waiting) => waiting.pop_front(),
            };
            match next {
                Some(start) => Poll::Ready(Some(start)),
                None if state.over || state.waiting.is_none() => Poll::Ready(None),
                None => {
                    state.parked.push_back(cx.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await
    }

    /// Lets the arrivals of an open loop come when they are due; `drop` is told of those that too many wait
    /// before.
    pub async fn pace(&self, start: Instant, arrivals: Arrivals, mut drop: impl FnMut(Instant)) {
        for (count, offset) in arrivals.enumerate() {
            let at = start + offset;
            if at >= self.until || self.take_one().is_none() {
                break;
            }
            self.core.sleep_until(at).await;
            if count % limits::ARRIVALS_PER_TURN == limits::ARRIVALS_PER_TURN - 1 {
                self.core.yield_now().await;
            }
            if !self.arrive(at) {
                drop(at);
            }
        }
        self.end();
    }

    fn take_one(&self) -> Option<()> {
        match &mut self.state.borrow_mut().left {
            Some(0) => None,
            Some(left) => {
                *left -= 1;
                Some(())
            }
            None => Some(()),
        }
    }

    /// False if too many wait already.
    fn arrive(&self, at: Instant) -> bool {
        let state = &mut *self.state.borrow_mut();
        let Some(waiting) = &mut state.waiting else { return false };
        if waiting.len() >= limits::WAITING_MAX {
            return false;
        }
        waiting.push_back(at);
        if let Some(connection) = state.parked.pop_front() {
            connection.wake();
            self.core.stay_awake();
        }
        true
    }

    /// No arrival follows; those that wait are still handed out.
    fn end(&self) {
        let state = &mut *self.state.borrow_mut();
        state.over = true;
        state.parked.drain(..).for_each(Waker::wake);
        self.core.stay_awake();
    }
}

/// A closed loop's next start is now, while it may.
fn closed(left: &mut Option<u64>, now: Instant, until: Instant) -> Option<Instant> {
    match left {
        Some(0) => None,
        Some(left) => {
            *left -= 1;
            Some(now)
        }
        None => (now < until).then_some(now),
    }
}
