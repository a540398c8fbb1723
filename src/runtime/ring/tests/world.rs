//! A driver, the tasks that own its streams, and a plain model of what each of them may see.

use std::collections::HashSet;
use std::time::Duration;

use super::super::driver::{Driver, Fault};
use super::super::fake::{Fake, Mood};
use super::super::kernel::Wait;
use super::super::slot::{Phase, Slot, flag};
use super::action::Action;
use super::line::{Line, Span};
use super::waiter::Waiter;
use crate::limits;

/// Few enough that accepting pauses now and then.
const OPEN_MAX: usize = 20;

pub(super) struct World {
    pub(super) driver: Driver<Fake>,
    pub(super) listeners: Vec<ListenerOwner>,
    pub(super) streams: Vec<StreamOwner>,
    /// Sending directions, by socket.
    pub(super) lines: Vec<Line>,
    /// Received buffers in tasks' hands.
    pub(super) held: Vec<Held>,
    /// Buffers that the rest of the core has.
    pub(super) hogs: Vec<u16>,
    pub(super) bell: Option<Waiter<()>>,
    pub(super) bell_rung: bool,
    /// The kernel keeps to what the bound on received octets rests on.
    bounded: bool,
}

pub(super) struct ListenerOwner {
    pub(super) slot: u32,
    pub(super) socket: usize,
    pub(super) waiter: Option<Waiter<()>>,
}

pub(super) struct Held {
    pub(super) buffer: u16,
    pub(super) span: Span,
}

pub(super) struct StreamOwner {
    pub(super) slot: u32,
    pub(super) socket: usize,
    /// Octets read so far.
    pub(super) read: u64,
    pub(super) reader: Option<Waiter<Read>>,
    pub(super) writer: Option<Waiter<Write>>,
    pub(super) deadline: Option<u32>,
    /// The deadline passed and the owner has not been told.
    pub(super) due: bool,
    pub(super) idle: bool,
    /// FIN or an error was told.
    pub(super) ended: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Read {
    Recv,
    Idle,
    Broken,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Write {
    Connected,
    Sent(usize),
}

impl StreamOwner {
    pub(super) fn new(slot: u32, socket: usize) -> StreamOwner {
        StreamOwner {
            slot,
            socket,
            read: 0,
            reader: None,
            writer: None,
            deadline: None,
            due: false,
            idle: false,
            ended: false,
        }
    }

    /// True if whoever waits could go on, by what the driver knows.
    fn could_go_on(&self, s: &Slot) -> (bool, bool) {
        let broken = s.errno != 0;
        let told = broken || s.has(flag::TIMED_OUT);
        let reader = self.reader.as_ref().is_some_and(|waiter| match waiter.what {
            Read::Recv | Read::Idle => told || !s.received.is_empty() || s.has(flag::EOF),
            Read::Broken => broken,
        });
        let writer = self.writer.as_ref().is_some_and(|waiter| match waiter.what {
            Write::Connected => told || s.phase == Phase::Open,
            Write::Sent(left) => told || s.queued_octets() <= left,
        });
        (reader, writer)
    }
}

impl World {
    pub(super) fn new(seed: u64, mood: Mood) -> World {
        let mut driver = Driver::new(Fake::new(seed, mood), 0, OPEN_MAX);
        // Multishot while few are open, one at a time after that.
        driver.accept_burst = OPEN_MAX / 2;
        World {
            driver,
            listeners: Vec::new(),
            streams: Vec::new(),
            lines: Vec::new(),
            held: Vec::new(),
            hogs: Vec::new(),
            bell: None,
            bell_rung: false,
            bounded: mood.prompt,
        }
    }

    /// The stream that a number picks, if there are any.
    pub(super) fn pick(&self, number: u8) -> Option<usize> {
        (!self.streams.is_empty()).then(|| usize::from(number) % self.streams.len())
    }

    pub(super) fn slot(&self, stream: usize) -> &Slot {
        &self.driver.slots[self.streams[stream].slot as usize]
    }

    pub(super) fn line(&mut self, socket: usize) -> &mut Line {
        if self.lines.len() <= socket {
            self.lines.resize_with(socket + 1, Line::default);
        }
        &mut self.lines[socket]
    }

    pub(super) fn step(&mut self, action: Action) {
        match action {
            Action::Turn(turns) => (0..turns).for_each(|_| self.turn()),
            Action::Advance(ticks) => self.advance(ticks.into()),
            Action::Hog(level) => self.hog(level.into()),
            Action::Unhog => self.unhog(),
            Action::Ring => {
                self.driver.kernel.bell += 1;
                self.bell_rung = true;
            }
            Action::PeerConnects(..)
            | Action::PeerSends(..)
            | Action::PeerTakes(..)
            | Action::PeerFinishes(_)
            | Action::PeerResets(_) => self.peer(action),
            _ => self.own(action),
        }
    }

    fn peer(&mut self, action: Action) {
        if let Action::PeerConnects(listener, peers) = action {
            let count = self.listeners.len().max(1);
            if let Some(listener) = self.listeners.get(usize::from(listener) % count) {
                self.driver.kernel.sockets[listener.socket].backlog += u32::from(peers);
            }
            return;
        }
        let (Action::PeerSends(number, _)
        | Action::PeerTakes(number, _)
        | Action::PeerFinishes(number)
        | Action::PeerResets(number)) = action
        else {
            return;
        };
        let Some(stream) = self.pick(number) else { return };
        let socket = &mut self.driver.kernel.sockets[self.streams[stream].socket];
        match action {
            _ if !socket.connected || socket.is_reset => {}
            Action::PeerSends(_, octets) if !socket.peer_fin => socket.supply += u64::from(octets),
            Action::PeerTakes(_, octets) => socket.window += u64::from(octets),
            Action::PeerFinishes(_) => socket.peer_fin = true,
            Action::PeerResets(_) => socket.reset(libc::ECONNRESET),
            _ => {}
        }
    }

    /// One turn of the ring, and everything that must hold after it.
    pub(super) fn turn(&mut self) {
        // Slept or not, the fake does the same; the driver asserts that nobody is left waiting by a sleep.
        let sleeps = self.driver.kernel.rng.bool();
        let wait = if sleeps { Wait::Spin(Duration::ZERO) } else { Wait::No };
        self.driver.turn(wait).expect("the fake ring does not break");
        self.check();
    }

    pub(super) fn advance(&mut self, ticks: u32) {
        let now = self.driver.tick + ticks;
        self.driver.advance(now);
        for owner in &mut self.streams {
            if owner.deadline.is_some_and(|deadline| deadline <= now) {
                owner.deadline = None;
                owner.due = true;
            }
        }
        self.check();
    }

    fn hog(&mut self, leave: usize) {
        while usize::from(limits::RECV_BUFFERS) - self.driver.buffers.out() > leave {
            let free = self.driver.buffers.hog();
            let Some(buffer) = free.or_else(|| {
                let buffer = self.driver.kernel.use_up_buffer()?;
                self.driver.buffers.taken(buffer, 0);
                Some(buffer)
            }) else {
                return; // the rest is in completions under way
            };
            self.hogs.push(buffer);
        }
    }

    pub(super) fn unhog(&mut self) {
        self.hogs.drain(..).for_each(|buffer| self.driver.give_back(buffer));
    }

    pub(super) fn check(&mut self) {
        let sockets = self.driver.kernel.sockets.len();
        if sockets > 0 {
            self.line(sockets - 1);
        }
        for (name, (line, socket)) in self.lines.iter_mut().zip(&mut self.driver.kernel.sockets).enumerate() {
            line.check(socket, name);
        }
        for owner in &self.streams {
            let s = &self.driver.slots[owner.slot as usize];
            let (reader, writer) = owner.could_go_on(s);
            let asleep = |is_woken: Option<bool>| is_woken == Some(false);
            assert!(!(reader && asleep(owner.reader.as_ref().map(Waiter::is_woken))), "a reader sleeps on");
            assert!(!(writer && asleep(owner.writer.as_ref().map(Waiter::is_woken))), "a writer sleeps on");
            if self.bounded {
                let most = limits::RECV_QUEUE_OCTETS + 32 * limits::RECV_BUFFER_OCTETS;
                assert!(
                    s.received.held_octets() <= most,
                    "{} octets wait to be read",
                    s.received.held_octets()
                );
            }
        }
        for listener in &self.listeners {
            let waits = self.driver.accepted.iter().any(|(slot, _)| *slot == listener.slot);
            let asleep = listener.waiter.as_ref().is_some_and(|waiter| !waiter.is_woken());
            assert!(!(waits && asleep), "an accept sleeps on");
        }
        let starts: HashSet<u32> = self.streams.iter().map(|owner| owner.slot).collect();
        assert_eq!(starts.len(), self.streams.len(), "two streams in one slot");
    }

    /// The driver told an owner of a fault; it must have happened.
    pub(super) fn told(&mut self, stream: usize, fault: Fault) {
        let owner = &mut self.streams[stream];
        match fault {
            Fault::TimedOut => {
                assert!(owner.due, "a timeout too early, or told twice");
                owner.due = false;
            }
            Fault::Os(errno) => {
                let passing = [libc::EINTR, libc::EAGAIN, libc::ECANCELED];
                assert!(!passing.contains(&errno), "errno {errno} is no fault");
                let socket = &self.driver.kernel.sockets[owner.socket];
                assert!(socket.told.contains(&errno), "errno {errno} out of the blue");
                owner.ended = true;
            }
        }
    }
}

impl Drop for World {
    /// Before the fake closes what is left, in a case that failed.
    fn drop(&mut self) {
        self.driver.accepted.clear();
    }
}
