//! What runs on one core of the router: its listeners, and the orders that it gets from the main thread.

use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ringway_state::View;
use ringway_state::id::HostName;

use super::accept;
use super::core::{Edge, EdgeParts};
use super::cut::Cuts;
use super::door::{Door, Trust};
use super::explain::{self, Ask, Explanation};
use super::settings::Settings;
use crate::config::ListenAddress;
use crate::feed::{Publication, Taken};
use crate::limits;
use crate::observe::access::LogSink;
use crate::observe::top::TopSink;
use crate::observe::{CoreMetrics, ServiceErrors};
use crate::proto::trace::IdSource;
use crate::runtime::{Core, Listener, Receiver, machine};

/// What the main thread tells a core.
pub(super) enum Order {
    /// Serve so from now on.
    Configure(Box<Configuration>),
    /// Accept from now on, on what the first configuration says. What connects before waits.
    Open,
    /// Route so from now on.
    Publish(View),
    /// The same, by the feed, which is told.
    Take(Publication),
    /// Take the feed's orders, too.
    Hear(Receiver<Order>),
    /// Tell what becomes of such a request.
    Explain(Box<Ask>, Box<dyn FnOnce(Explanation) + Send>),
    /// Accept no more, and finish what is open.
    Drain,
    /// End, whatever is open.
    Stop,
}

/// What the configuration is to a core.
pub(super) struct Configuration {
    pub(super) settings: Settings,
    /// None if another thread publishes it.
    pub(super) view: Option<View>,
    /// Host names that it has taken from their service.
    pub(super) cut: Option<Arc<[HostName]>>,
    /// Descriptors that the core may hold.
    pub(super) open_max: usize,
    /// Every listener that is to be. One that accepts already is known by its address, a new one brings its socket, as does
    /// one whose address is to be listened on anew.
    pub(super) fronts: Vec<(ListenAddress, Trust, Option<OwnedFd>)>,
}

/// What a core is started with.
pub(super) struct CoreParts {
    pub(super) metrics: Arc<CoreMetrics>,
    pub(super) log: LogSink,
    pub(super) top: TopSink,
    pub(super) errors: Arc<ServiceErrors>,
    pub(super) ids: IdSource,
    pub(super) taken: Arc<Taken>,
    /// To begin with.
    pub(super) view: View,
    pub(super) configuration: Configuration,
}

/// A listener that accepts.
struct Front {
    address: ListenAddress,
    listener: Rc<Listener>,
    door: Rc<Door>,
}

/// Serves until told to stop. `settled` is called each time a configuration has taken effect, the first one too, and `idle`
/// once when a drain has finished.
pub(super) async fn run(
    core: Core,
    mut orders: Receiver<Order>,
    parts: CoreParts,
    settled: impl Fn() + Clone + 'static,
    idle: impl FnOnce() + 'static,
) {
    let CoreParts { metrics, log, top, errors, ids, taken, view, configuration } = parts;
    let Configuration { settings, fronts: wanted, .. } = configuration;
    let mut waiting = Some(wanted);
    let edge = Edge::new(core.clone(), EdgeParts { settings, metrics, log, top, errors, view, ids });
    let mut fronts = Vec::new();
    core.spawn(Rc::clone(&edge).housekeep());
    settled();
    let cuts = Cuts::new(Arc::clone(&taken));
    let mut idle = Some(idle);
    loop {
        match orders.recv(&core).await {
            Order::Configure(configuration) => {
                let cut = configuration.cut.clone();
                let closed = configure(&edge, &mut fronts, *configuration);
                cuts.add_more(&edge, cut);
                core.spawn(close(core.clone(), closed, settled.clone()));
            }
            Order::Open => open(&edge, &mut fronts, waiting.take().unwrap_or_default()),
            Order::Publish(view) => edge.publish(view),
            Order::Take(publication) => take(&edge, publication, &taken, &cuts),
            Order::Hear(more) => orders.join(more),
            Order::Explain(ask, tell) => tell(explain::on_core(&edge, &ask)),
            Order::Drain => {
                edge.drain();
                let closed = std::mem::take(&mut fronts);
                if let Some(idle) = idle.take() {
                    core.spawn(drain(Rc::clone(&edge), closed, idle));
                }
            }
            Order::Stop => return core.stop(),
        }
    }
}

/// Routes by what the feed has published, tells it so, and has cut what must not go on.
fn take(edge: &Rc<Edge>, publication: Publication, taken: &Taken, cuts: &Rc<Cuts>) {
    let Publication { sequence, view, cut } = publication;
    let before = machine::thread_cpu();
    edge.publish(view);
    taken.take(sequence, Instant::now());
    edge.metrics.table_publication.set(sequence);
    edge.metrics.switched(machine::thread_cpu().saturating_sub(before));
    cuts.add(edge, sequence, cut);
}

/// Puts a configuration in place of the one before and returns the listeners that are to close. Between two turns of the
/// ring, so that no request sees a half of either.
fn configure(edge: &Rc<Edge>, fronts: &mut Vec<Front>, configuration: Configuration) -> Vec<Front> {
    let Configuration { settings, view, open_max, fronts: wanted, .. } = configuration;
    edge.core.set_open_max(open_max);
    edge.configure(settings, view);
    let stays = |front: &mut Front| {
        wanted.iter().any(|(address, _, socket)| *address == front.address && socket.is_none())
    };
    let closed = fronts.extract_if(.., |front| !stays(front)).collect();
    open(edge, fronts, wanted);
    closed
}

fn open(edge: &Rc<Edge>, fronts: &mut Vec<Front>, wanted: Vec<(ListenAddress, Trust, Option<OwnedFd>)>) {
    for (address, trust, socket) in wanted {
        if let Some(front) = fronts.iter().find(|front| front.address == address) {
            front.door.set(trust);
        } else if let Some(socket) = socket {
            let (listener, door) =
                (Rc::new(edge.core.listen(socket)), Rc::new(Door::new(trust, address.is_unix())));
            edge.core.spawn(accept::run(Rc::clone(edge), Rc::clone(&listener), Rc::clone(&door)));
            fronts.push(Front { address, listener, door });
        }
    }
}

/// Closes listeners so that no client is cut off that has connected already: new ones are kept out for a moment first, in
/// which those in the kernel's queue are taken up. Connections go on until their next answer, which is their last.
async fn close(core: Core, closed: Vec<Front>, settled: impl Fn()) {
    let mut refuse = false;
    for front in &closed {
        front.door.close();
        // To a Unix socket whose file has gone nobody comes any more.
        refuse |= front.listener.refuse_new() || front.door.is_unix;
    }
    if refuse {
        core.sleep_until(core.now() + Duration::from_millis(limits::LISTENER_CLOSE_MS)).await;
    }
    closed.iter().for_each(|front| front.listener.stop());
    settled();
}

/// Ends what this core serves, without a loss to anybody who has connected, and tells when nothing is left.
async fn drain(edge: Rc<Edge>, closed: Vec<Front>, idle: impl FnOnce()) {
    close(edge.core.clone(), closed, || ()).await;
    tell_when_idle(edge, idle).await;
}

async fn tell_when_idle(edge: Rc<Edge>, idle: impl FnOnce()) {
    while edge.connections() > 0 {
        edge.core.sleep_until(edge.core.now() + Duration::from_millis(limits::DRAIN_LOOK_MS)).await;
    }
    idle();
}
