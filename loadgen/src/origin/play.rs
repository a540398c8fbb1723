//! A script as it is played: counts time from the first request, draws answers, keeps listeners away while they refuse.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::time::Instant;

use ringway::runtime::{Core, Listener, listener};

use super::script::{Does, Script, Trouble, Window};
use super::serve::{self, Site};

pub(super) struct Play {
    script: Script,
    rng: RefCell<fastrand::Rng>,
    /// When the first request came.
    began: Cell<Option<Instant>>,
    stage: Rc<Stage>,
}

/// What listens, so that it can be taken away.
pub(super) struct Stage {
    addresses: Vec<SocketAddr>,
    listeners: RefCell<Vec<Rc<Listener>>>,
    /// How many windows keep listeners away now.
    refusing: Cell<usize>,
    /// Told when an address cannot be listened on again.
    failed: Box<dyn Fn(String)>,
}

/// An answer, drawn.
pub(super) struct Acting {
    pub(super) status: u16,
    /// `None` for the fixed body.
    pub(super) octets: Option<u64>,
    pub(super) does: Does,
}

impl Play {
    pub(super) fn new(script: Script, seed: u64, stage: Rc<Stage>) -> Self {
        let rng = RefCell::new(fastrand::Rng::with_seed(seed));
        Self { script, rng, began: Cell::new(None), stage }
    }

    /// The next answer, when it is time for it.
    pub(super) async fn next(&self, site: &Rc<Site>) -> Acting {
        let now = site.core.now();
        let began = self.began.get().unwrap_or_else(|| self.begin(now, site));
        let (acting, latency) = self.draw();
        let at = self.script.answer_at(now.saturating_duration_since(began), latency);
        site.alarm.sleep_until(began + at).await;
        acting
    }

    fn begin(&self, now: Instant, site: &Rc<Site>) -> Instant {
        self.began.set(Some(now));
        for window in self.script.times.iter().filter(|window| window.does == Trouble::Refuse) {
            site.core.spawn(refuse(*window, now, Rc::clone(&self.stage), Rc::clone(site)));
        }
        now
    }

    fn draw(&self) -> (Acting, std::time::Duration) {
        let rng = &mut *self.rng.borrow_mut();
        let act = &self.script.answers[self.script.answers.draw(rng)];
        let octets = act.size.as_ref().map(|sizes| sizes.octets(rng));
        (Acting { status: act.status, octets, does: act.does }, act.latency.draw(rng))
    }
}

impl Stage {
    pub(super) fn new(addresses: Vec<SocketAddr>, failed: Box<dyn Fn(String)>) -> Rc<Self> {
        Rc::new(Self { addresses, listeners: RefCell::default(), refusing: Cell::new(0), failed })
    }

    /// Listens on the sockets, one for each address in order.
    pub(super) fn listen(&self, core: &Core, site: &Rc<Site>, sockets: Vec<OwnedFd>) {
        for (socket, address) in sockets.into_iter().zip(&self.addresses) {
            let listener = Rc::new(core.listen(socket));
            self.listeners.borrow_mut().push(Rc::clone(&listener));
            core.spawn(serve::accept(listener, *address, Rc::clone(site)));
        }
    }

    fn close(&self) {
        self.refusing.set(self.refusing.get() + 1);
        self.listeners.take().iter().for_each(|listener| listener.stop());
    }

    fn open(&self, core: &Core, site: &Rc<Site>) {
        self.refusing.set(self.refusing.get() - 1);
        if self.refusing.get() > 0 {
            return;
        }
        let again = |address: &SocketAddr| {
            listener::bind(*address).map_err(|e| format!("{address} cannot be listened on again: {e}"))
        };
        match self.addresses.iter().map(again).collect() {
            Ok(sockets) => self.listen(core, site, sockets),
            Err(why) => (self.failed)(why),
        }
    }
}

/// Closes the listeners each time that the window comes, and opens them at its end.
async fn refuse(window: Window, began: Instant, stage: Rc<Stage>, site: Rc<Site>) {
    for (begin, end) in (0..).map_while(|count| window.nth(count)) {
        site.alarm.sleep_until(began + begin).await;
        stage.close();
        site.alarm.sleep_until(began + end).await;
        stage.open(&site.core, &site);
    }
}
