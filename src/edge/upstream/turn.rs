//! A request's turn: a service has so many in flight on a core, and so many that wait for theirs.

use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

use super::connect::share;
use super::service::Service;
use crate::config::{ServiceSettings, UpstreamLimits};
use crate::edge::core::Edge;
use crate::edge::failure::Failure;
use crate::observe::Reason;
use crate::policy::Ticket;
use crate::runtime::{Core, Fault, Stream};

/// A request's leave to be in flight. When it ends, the next that waits gets it.
pub(super) struct Turn<'a>(Counter<'a>);

/// Where a service's turns are counted on this core.
#[derive(Clone)]
struct Counter<'a> {
    edge: &'a Edge,
    service: Rc<Service>,
}

impl<'a> Turn<'a> {
    /// A turn, if there is one and nobody waits.
    pub(super) fn at_once(
        edge: &'a Edge,
        service: &Rc<Service>,
        settings: &ServiceSettings,
    ) -> Option<Turn<'a>> {
        let enters = service.turns.borrow_mut().try_enter(most_in_flight(&edge.core, &settings.upstream));
        enters.then(|| Turn(Counter { edge, service: Rc::clone(service) }))
    }

    /// Waits for a turn behind those that wait already.
    ///
    /// # Errors
    /// Too many wait; it waited too long; or the client is gone.
    pub(super) async fn wait(
        edge: &'a Edge,
        service: &Rc<Service>,
        settings: &ServiceSettings,
        client: &Stream,
    ) -> Result<Turn<'a>, Failure> {
        let most_waiting = share(&edge.core, settings.upstream.waiting);
        let ticket = service.turns.borrow_mut().wait(Waker::noop().clone(), most_waiting);
        let ticket = ticket.ok_or(Reason::ServiceFull)?;
        let waiting = Waiting::new(Counter { edge, service: Rc::clone(service) }, ticket);
        client.set_timeout(settings.timeouts.upstream_wait);
        poll_fn(|cx| {
            if service.turns.borrow_mut().is_called(ticket, cx.waker().clone()) {
                return Poll::Ready(Ok(()));
            }
            client.poll_fault(cx).map(|fault| match fault {
                Fault::TimedOut => Err(Reason::TurnTimeout),
                Fault::Os(_) => Err(Reason::ClientGone),
            })
        })
        .await?;
        Ok(waiting.called())
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.service.turns.borrow_mut().leave();
        self.0.call();
    }
}

/// How many requests of a service may be in flight.
pub(in crate::edge) fn most_in_flight(core: &Core, upstream: &UpstreamLimits) -> usize {
    // A request in flight has a connection.
    share(core, upstream.requests.min(upstream.connections))
}

impl Counter<'_> {
    /// Calls those whose turn it is by what the settings say now: a limit that is raised is raised for those who wait, too.
    fn call(&self) {
        while self.service.turns.borrow().has_waiting() {
            let settings = self.edge.settings().of_service(&self.service.id);
            let most = most_in_flight(&self.edge.core, &settings.upstream);
            let called = self.service.turns.borrow_mut().call(most);
            let Some(waker) = called else { return };
            // The ring knows nothing of this wake.
            self.edge.core.stay_awake();
            waker.wake();
        }
    }
}

/// A request that waits, until it is called or gives up.
struct Waiting<'a> {
    counter: Counter<'a>,
    ticket: Option<Ticket>,
}

impl<'a> Waiting<'a> {
    fn new(counter: Counter<'a>, ticket: Ticket) -> Waiting<'a> {
        counter.edge.metrics.upstream_waits.inc();
        counter.edge.metrics.upstream_waiting.inc();
        Waiting { counter, ticket: Some(ticket) }
    }

    fn called(mut self) -> Turn<'a> {
        self.ticket = None;
        Turn(self.counter.clone())
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.counter.edge.metrics.upstream_waiting.dec();
        if let Some(ticket) = self.ticket {
            self.counter.service.turns.borrow_mut().give_up(ticket);
            self.counter.call();
        }
    }
}
