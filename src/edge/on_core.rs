//! What runs on one core of the router: its listeners, and the orders that it gets from the main thread.

use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use ringway_state::View;

use super::core::{Door, Edge, EdgeParts};
use super::settings::Settings;
use crate::limits;
use crate::observe::CoreMetrics;
use crate::observe::access::LogSink;
use crate::proto::trace::IdSource;
use crate::runtime::{Core, Listener, Receiver};

/// What the main thread tells a core.
pub(super) enum Order {
    /// Accept no more, and finish what is open.
    Drain,
    /// End, whatever is open.
    Stop,
}

/// What a core is started with.
pub(super) struct CoreParts {
    pub(super) settings: Settings,
    pub(super) metrics: Arc<CoreMetrics>,
    pub(super) log: LogSink,
    pub(super) view: View,
    pub(super) ids: IdSource,
    pub(super) fronts: Vec<(OwnedFd, Door)>,
}

/// Serves until told to stop. `ready` is called once when all listeners accept, `idle` once when a drain has finished.
pub(super) async fn run(
    core: Core,
    mut orders: Receiver<Order>,
    parts: CoreParts,
    ready: impl FnOnce(),
    idle: impl FnOnce() + 'static,
) {
    let CoreParts { settings, metrics, log, view, ids, fronts } = parts;
    let edge = Edge::new(core.clone(), EdgeParts { settings, metrics, log, view, ids });
    let listeners: Vec<Rc<Listener>> = fronts
        .into_iter()
        .map(|(socket, door)| {
            let listener = Rc::new(core.listen(socket));
            core.spawn(super::accept_on(Rc::clone(&edge), Rc::clone(&listener), door));
            listener
        })
        .collect();
    core.spawn(Rc::clone(&edge).housekeep());
    ready();
    let mut idle = Some(idle);
    loop {
        match orders.recv(&core).await {
            Order::Drain => {
                listeners.iter().for_each(|listener| listener.stop());
                edge.drain();
                if let Some(idle) = idle.take() {
                    core.spawn(tell_when_idle(Rc::clone(&edge), idle));
                }
            }
            Order::Stop => return core.stop(),
        }
    }
}

async fn tell_when_idle(edge: Rc<Edge>, idle: impl FnOnce()) {
    while edge.connections() > 0 {
        edge.core.sleep_until(edge.core.now() + Duration::from_millis(limits::DRAIN_LOOK_MS)).await;
        // A connection may have become idle since, between two requests.
        edge.core.expire_idle();
    }
    idle();
}
