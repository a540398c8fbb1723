//! The end of every case: the kernel turns calm, and everything must come right.

use super::super::driver::End;
use super::super::fake::Mood;
use super::super::kernel::Kind;
use super::super::slot::{Phase, flag};
use super::action::Use;
use super::waiter::Waiter;
use super::world::{Read, World};
use crate::limits;

/// Turns within which a calm kernel comes to rest.
const TURNS_MAX: usize = 5_000;
const WIDE: u64 = u64::MAX / 2;

impl World {
    pub(super) fn end(&mut self) {
        self.driver.kernel.mood = Mood::CALM;
        self.rest();
        self.nobody_sleeps();
        self.unhog();
        std::mem::take(&mut self.held).into_iter().for_each(|held| self.give_back(held));
        for _ in 0..3 {
            self.advance(limits::ACCEPT_PAUSE_TICKS);
            self.rest();
        }
        self.nobody_sleeps();
        self.read_all();
        self.let_go();
        self.nothing_is_left();
    }

    /// Turns until nothing moves any more.
    fn rest(&mut self) {
        let mut still = 0;
        for _ in 0..TURNS_MAX {
            self.driver.kernel.sockets.iter_mut().for_each(|socket| socket.window = WIDE);
            let before = self.driver.kernel.operations + self.driver.stats().completions;
            self.turn();
            let after = self.driver.kernel.operations + self.driver.stats().completions;
            still = if before == after { still + 1 } else { 0 };
            if still == 3 {
                assert!(self.driver.kernel.is_collected());
                return;
            }
        }
        panic!("the driver does not come to rest: {:?}", self.driver.kernel.left_flying());
    }

    /// With a kernel that has done all it can, whoever still waits has nothing to wait for.
    fn nobody_sleeps(&self) {
        for owner in &self.streams {
            let socket = &self.driver.kernel.sockets[owner.socket];
            let over = socket.peer_fin || socket.is_reset || !socket.told.is_empty() && !socket.connected;
            // A receive that found no buffer is not tried again before there is one, and then hears of FIN too.
            let available = self.driver.buffers.available();
            let starved = self.driver.slots[owner.slot as usize].has(flag::STARVED);
            let can_read = socket.supply > socket.delivered && available;
            let at_end = socket.supply == socket.delivered && over && (available || !starved);
            if let Some(reader) = owner.reader.as_ref().filter(|reader| !reader.is_woken()) {
                let sleeps = reader.what != Read::Broken && (can_read || at_end);
                assert!(!sleeps, "the reader of stream {} ({:?}) sleeps for ever", owner.socket, reader.what);
            }
            if let Some(writer) = owner.writer.as_ref().filter(|writer| !writer.is_woken()) {
                panic!("the writer of stream {} ({:?}) sleeps for ever", owner.socket, writer.what);
            }
        }
        for listener in &self.listeners {
            let backlog = self.driver.kernel.sockets[listener.socket].backlog;
            let asleep = listener.waiter.as_ref().is_some_and(|waiter| !waiter.is_woken());
            let may = self.driver.open + self.driver.accepted.len() < self.driver.accept_max();
            let paused = self.driver.slots[listener.slot as usize].has(flag::PAUSED);
            assert!(!(asleep && may && backlog > 0 && !paused), "an accept sleeps for ever");
        }
        let bell_asleep = self.bell.as_ref().is_some_and(|waiter| !waiter.is_woken());
        assert!(!(bell_asleep && self.bell_rung), "nobody hears the bell");
    }

    /// Every owner reads to the end, and gets all that its peer sent.
    fn read_all(&mut self) {
        let mut still = 0;
        while still < 3 {
            let mut progress = false;
            for stream in 0..self.streams.len() {
                let mut reads = 0;
                while self.recv(stream, Use::GiveBack) {
                    reads += 1;
                    assert!(reads < TURNS_MAX, "received octets do not end");
                }
                progress |= reads > 0;
            }
            self.rest();
            still = if progress { 0 } else { still + 1 };
        }
        for owner in &self.streams {
            let socket = &self.driver.kernel.sockets[owner.socket];
            assert!(
                owner.ended || owner.read == socket.supply,
                "stream {}: octets are missing",
                owner.socket
            );
            assert!(owner.ended || !socket.peer_fin, "stream {}: FIN is missing", owner.socket);
        }
    }

    fn let_go(&mut self) {
        while !self.streams.is_empty() {
            let end = if self.driver.kernel.rng.bool() { End::Finish } else { End::Reset };
            let last = self.streams.len() - 1;
            self.release(last, end);
        }
        while let Some(listener) = self.listeners.pop() {
            self.driver.stop_listening(listener.slot);
        }
        self.rest();
        for _ in 0..3 {
            self.advance(limits::CLOSE_RETRY_TICKS.max(limits::FINISH_TICKS));
            self.rest();
        }
    }

    fn nothing_is_left(&mut self) {
        let kernel = &self.driver.kernel;
        assert_eq!(kernel.left_flying(), Vec::<String>::new(), "operations never completed");
        assert_eq!(kernel.left_open(), 0, "descriptors are left open");
        assert!(self.driver.slots.iter().all(|s| s.phase == Phase::Free), "slots are left");
        let stats = self.driver.stats();
        assert_eq!((stats.open, stats.buffers_out), (0, 0), "descriptors or buffers are left");
        assert_eq!(stats.stale_completions, 0, "completions that nobody waited for");
        for socket in &kernel.sockets {
            assert!(socket.closed || socket.supply == 0, "never closed");
        }
        assert!(self.bell.as_ref().map(Waiter::is_woken) != Some(false) || !self.bell_rung);
        assert!(self.driver.slots.iter().all(|s| !s.is_flying(Kind::Close)));
    }
}
