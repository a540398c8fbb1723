//! Host names that have lost their service: what is open for them is cut, and the feed told when nothing is left (design
//! S6).

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ringway_state::id::HostName;

use super::core::Edge;
use crate::feed::Taken;
use crate::limits;

/// The host names that a core is to cut, in the order of their publications.
pub(super) struct Cuts {
    taken: Arc<Taken>,
    /// Of the last publication.
    sequence: Cell<u64>,
    /// At most those of the publications under way, which the feed bounds, or of a reload, which the main thread does.
    waiting: RefCell<Vec<Arc<[HostName]>>>,
    is_running: Cell<bool>,
}

impl Cuts {
    pub(super) fn new(taken: Arc<Taken>) -> Rc<Cuts> {
        let (sequence, waiting, is_running) = (Cell::new(0), RefCell::default(), Cell::new(false));
        Rc::new(Cuts { taken, sequence, waiting, is_running })
    }

    /// A publication is in place: no request from now on goes to the services that these host names had before. Those that
    /// do already are cut, beside what the core does otherwise.
    pub(super) fn add(self: &Rc<Self>, edge: &Rc<Edge>, sequence: u64, hosts: Option<Arc<[HostName]>>) {
        self.sequence.set(sequence);
        self.waiting.borrow_mut().extend(hosts);
        if self.is_running.get() {
            return;
        }
        if self.waiting.borrow().is_empty() {
            return self.taken.cut(sequence, Instant::now());
        }
        self.is_running.set(true);
        edge.core.spawn(run(Rc::clone(self), Rc::clone(edge)));
    }

    /// The same with a configuration that is in place.
    pub(super) fn add_more(self: &Rc<Self>, edge: &Rc<Edge>, hosts: Option<Arc<[HostName]>>) {
        if hosts.is_some() {
            self.add(edge, self.sequence.get(), hosts);
        }
    }
}

/// However many publications have come, those that wait are one sweep.
async fn run(cuts: Rc<Cuts>, edge: Rc<Edge>) {
    loop {
        let (sequence, waiting) = (cuts.sequence.get(), std::mem::take(&mut *cuts.waiting.borrow_mut()));
        if !waiting.is_empty() {
            sweep(&edge, &waiting).await;
        }
        cuts.taken.cut(sequence, Instant::now());
        if cuts.sequence.get() == sequence {
            break;
        }
    }
    cuts.is_running.set(false);
}

/// Severs what works for these host names, a slice at a time, and waits until its owners have let go.
async fn sweep(edge: &Edge, waiting: &[Arc<[HostName]>]) {
    let hosts = edge.asked.hosts(waiting.iter().flat_map(|hosts| hosts.iter()).map(HostName::as_str));
    let mut from = 0;
    // What is opened from now on asks the table as it is now.
    let end = edge.asked.len();
    while from < end {
        let severed = edge.asked.sever(&edge.core, from..from + limits::CUT_SLICE, &hosts);
        edge.metrics.host_cuts.add(severed as u64);
        from += limits::CUT_SLICE;
        edge.core.yield_now().await;
    }
    while edge.asked.ending() > 0 {
        edge.core.sleep_until(edge.core.now() + Duration::from_millis(limits::CUT_LOOK_MS)).await;
    }
}
