//! A core's handle: what a task may ask of the thread that it runs on.

use std::any::type_name;
use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use pin_project_lite::pin_project;

use super::idle::{Idle, IdlePolicy};
use super::lag::{Lag, LagStats, Stall};
use super::mailbox::Doorbell;
use super::ring::driver::Driver;
use super::ring::kernel::Wait;
use super::ring::uring::Uring;
use super::ring::{NEVER, RingStats, Severed};
use super::stream::{Listener, Stream};
use crate::limits;

/// Cheap to clone; lives on its own thread only. Tasks of a core are woken through it and nothing else: the
/// core sleeps in its ring, so it must know of every task that could run.
#[derive(Clone)]
pub struct Core(Rc<Inner>);

struct Inner {
    index: usize,
    driver: RefCell<Driver<Uring>>,
    doorbell: Arc<Doorbell>,
    /// Of its ticks: later than its own by the pauses that were skipped.
    start: Cell<Instant>,
    now: Cell<Instant>,
    /// A task was spawned or woken outside the ring since the last turn.
    busy: Cell<bool>,
    stopped: Cell<bool>,
    sleepers: RefCell<Vec<(Instant, Waker)>>,
    panics: Cell<u64>,
    lag: RefCell<Lag>,
}

impl Core {
    pub(super) fn new(index: usize, doorbell: Arc<Doorbell>, open_max: usize) -> io::Result<Core> {
        let driver = Driver::new(Uring::new()?, doorbell.fd(), open_max);
        let now = Instant::now();
        Ok(Core(Rc::new(Inner {
            index,
            driver: RefCell::new(driver),
            doorbell,
            start: Cell::new(now),
            now: Cell::new(now),
            busy: Cell::new(true),
            stopped: Cell::new(false),
            sleepers: RefCell::default(),
            panics: Cell::new(0),
            lag: RefCell::default(),
        })))
    }

    /// 0 for the first core, and so on.
    pub fn index(&self) -> usize {
        self.0.index
    }

    /// [`index`](Self::index) as logs and ids carry it.
    pub fn number(&self) -> u16 {
        super::number(self.0.index)
    }

    /// Descriptors that it may hold.
    pub fn open_max(&self) -> usize {
        self.0.driver.borrow().open_max
    }

    /// The time at which the current batch of completions was taken: one clock reading serves them all.
    pub fn now(&self) -> Instant {
        self.0.now.get()
    }

    pub fn stats(&self) -> RingStats {
        self.0.driver.borrow().stats()
    }

    /// Tasks that panicked so far. Each ended alone; its streams are closed.
    pub fn panics(&self) -> u64 {
        self.0.panics.get()
    }

    /// How long the turns took so far.
    pub fn lag(&self) -> LagStats {
        self.0.lag.borrow().stats
    }

    /// The turns since this was asked last that took far too long; of many only the first.
    pub fn take_stalls(&self) -> Vec<Stall> {
        self.0.lag.borrow_mut().take_stalls()
    }

    /// Runs a task on this core. A panic in it is counted and ends that task only.
    pub fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        self.0.busy.set(true);
        glommio::spawn_local(Contained { core: self.clone(), task }).detach();
    }

    /// Starts connecting; [`Stream::connected`] waits for the outcome.
    ///
    /// # Errors
    /// No descriptor left, or the address family is not supported.
    pub fn connect(&self, peer: SocketAddr) -> io::Result<Stream> {
        let slot = self.driver(|d| d.connect(peer.into()))?;
        Ok(Stream::new(self.clone(), slot))
    }

    /// The same to a Unix socket.
    ///
    /// # Errors
    /// No descriptor left, or the path is longer than a socket's can be.
    pub fn connect_unix(&self, path: &Path) -> io::Result<Stream> {
        let peer = socket2::SockAddr::unix(path)?;
        let slot = self.driver(|d| d.connect(peer))?;
        Ok(Stream::new(self.clone(), slot))
    }

    /// From now on about `open_max` descriptors may be held; more that are open already stay.
    pub fn set_open_max(&self, open_max: usize) {
        self.driver(|d| d.set_open_max(open_max));
    }

    /// Starts accepting on a socket made by [`super::listener::bind`].
    pub fn listen(&self, socket: std::os::fd::OwnedFd) -> Listener {
        let slot = self.driver(|d| d.listen(socket));
        Listener::new(self.clone(), slot)
    }

    /// An empty, reused buffer for a head or a small message; sending it gives it back.
    pub fn head_buffer(&self) -> Vec<u8> {
        self.driver(Driver::head_buffer)
    }

    /// Gives back a head buffer that was not sent.
    pub fn keep_head_buffer(&self, buffer: Vec<u8>) {
        self.driver(|d| d.keep_head_buffer(buffer));
    }

    /// Lets the other tasks run, and the ring turn, before going on.
    pub async fn yield_now(&self) {
        self.0.busy.set(true);
        glommio::executor().yield_now().await;
    }

    /// Keeps the core from sleeping before a task has run that was just woken by its bare waker: the ring does not
    /// know of such a wake.
    pub fn stay_awake(&self) {
        self.0.busy.set(true);
    }

    /// Sleeps until an instant, to within the kernel's timer slack. For the few tasks that pace something;
    /// connections have [`Stream::set_timeout`], which is cheaper and coarser.
    pub async fn sleep_until(&self, until: Instant) {
        poll_fn(|cx| {
            if self.now() >= until {
                return Poll::Ready(());
            }
            let mut sleepers = self.0.sleepers.borrow_mut();
            // Polled again without being due, as happens beside another future: one entry is enough.
            if !sleepers.iter().any(|(at, waker)| *at == until && waker.will_wake(cx.waker())) {
                sleepers.push((until, cx.waker().clone()));
            }
            Poll::Pending
        })
        .await;
    }

    /// Lets no stream that waits in [`Stream::idle`] wait on for longer than `within`.
    pub fn hasten_idle(&self, within: Duration) {
        self.driver(|d| d.hasten_idle(d.tick_after(within)));
    }

    /// Breaks the stream that had a place in one of its lives, whatever its owner waits for: each wait ends with
    /// [`Fault::SEVERED`], and the stream closes with a reset once it is dropped. One that was dropped and still sends what
    /// is queued closes at once.
    ///
    /// [`Fault::SEVERED`]: super::Fault::SEVERED
    pub fn sever(&self, place: u32, life: u32) -> Severed {
        self.0.busy.set(true);
        self.driver(|d| d.sever(place, life))
    }

    /// Ends the core's thread after the current turn; what is still open is closed by the process's end.
    pub fn stop(&self) {
        self.0.stopped.set(true);
        self.0.busy.set(true);
    }

    /// Ready when the core's doorbell rang. One task may wait at a time.
    pub(super) async fn doorbell(&self) {
        poll_fn(|cx| self.driver(|d| d.poll_doorbell(cx.waker()))).await;
        self.0.doorbell.answered();
    }

    /// Lets `f` use the driver. A panic in there is a broken invariant of all connections, not of one: it ends the
    /// process.
    pub(super) fn driver<T>(&self, f: impl FnOnce(&mut Driver<Uring>) -> T) -> T {
        let bomb = AbortOnPanic;
        let value = f(&mut self.0.driver.borrow_mut());
        std::mem::forget(bomb);
        value
    }

    fn tick_at(&self, at: Instant) -> u32 {
        let ms = super::millis(at.saturating_duration_since(self.0.start.get()));
        u32::try_from(ms / limits::TICK_MS).unwrap_or(NEVER - 1)
    }

    /// The driver task: turns the ring for as long as the core lives.
    ///
    /// # Errors
    /// The ring broke, which ends the process.
    pub(super) async fn drive(&self, policy: IdlePolicy) -> io::Result<()> {
        let mut idle = Idle::new(policy);
        // Tasks ran since `now`.
        let mut ran = false;
        while !self.0.stopped.get() {
            let busy = self.0.busy.replace(false);
            // When this turn should end at the latest.
            let due = if busy { self.now() } else { self.next_wake() };
            let wait = if busy {
                Wait::No
            } else {
                let done = Instant::now();
                if std::mem::take(&mut ran) {
                    self.turned(done);
                }
                idle.wait(done, due)
            };
            let completions = self.driver(|d| d.turn(wait))?;
            let now = Instant::now();
            if ran {
                self.turned(now);
            }
            self.skip_pause(due, now);
            self.0.now.set(now);
            if completions > 0 {
                idle.woken(now);
            }
            let fired = self.driver(|d| d.advance(self.tick_at(now))) + self.wake_sleepers(now);
            ran = busy || completions > 0 || fired > 0;
            if ran {
                glommio::executor().yield_now().await;
            }
        }
        Ok(())
    }

    /// Lets no deadline see a time in which nothing could run, as when the process or its machine is stopped: who would have been
    /// in time is not to be told that it was late. `from` is when it should have been looked at the latest.
    fn skip_pause(&self, from: Instant, now: Instant) {
        let pause = now.saturating_duration_since(from);
        if pause >= Duration::from_millis(limits::PAUSE_MS) {
            self.0.start.set(self.0.start.get() + pause + Duration::from_millis(limits::PAUSE_GRACE_MS));
        }
    }

    fn turned(&self, at: Instant) {
        self.0.lag.borrow_mut().turned(at, at.saturating_duration_since(self.now()));
    }

    /// When the core must look after its timers again.
    fn next_wake(&self) -> Instant {
        let timer = self.0.driver.borrow().next_timer().map(|tick| self.instant_of(tick));
        let sleeper = self.0.sleepers.borrow().iter().map(|(at, _)| *at).min();
        let limit = self.now() + Duration::from_millis(limits::SLEEP_MAX_MS);
        [timer, sleeper].into_iter().flatten().fold(limit, Instant::min)
    }

    fn instant_of(&self, tick: u32) -> Instant {
        self.0.start.get() + Duration::from_millis(u64::from(tick) * limits::TICK_MS)
    }

    fn wake_sleepers(&self, now: Instant) -> usize {
        let mut sleepers = self.0.sleepers.borrow_mut();
        let before = sleepers.len();
        sleepers.retain(|(at, waker)| {
            let due = *at <= now;
            if due {
                waker.wake_by_ref();
            }
            !due
        });
        before - sleepers.len()
    }
}

pin_project! {
    /// A task that ends when it panics. Written out, since an async block would hold the task twice, and there is one for
    /// every idle connection.
    struct Contained<F> {
        core: Core,
        #[pin]
        task: F,
    }
}

impl<F: Future<Output = ()>> Future for Contained<F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        this.core.0.lag.borrow_mut().ran(type_name::<F>());
        catch_unwind(AssertUnwindSafe(|| this.task.poll(cx))).unwrap_or_else(|_| {
            this.core.0.panics.set(this.core.0.panics.get() + 1);
            Poll::Ready(())
        })
    }
}

static BEFORE_ABORT: OnceLock<fn()> = OnceLock::new();

/// From now on `last` is called before a panic in a ring driver ends the process, so that what it said is seen. The first one
/// named is.
pub fn before_abort(last: fn()) {
    let _ = BEFORE_ABORT.set(last);
}

/// Ends the process if it is dropped, as it is when a panic unwinds past it.
struct AbortOnPanic;

impl Drop for AbortOnPanic {
    fn drop(&mut self) {
        if let Some(last) = BEFORE_ABORT.get() {
            last();
        }
        std::process::abort();
    }
}
