//! The owner's steps: calls on the driver, each answer held against the model.

use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::task::Poll;

use super::super::driver::End;
use super::super::fake::pattern_at;
use super::super::fake::pattern_matches;
use super::super::slot::{NEVER, Phase};
use super::super::tx::Piece;
use super::action::{Action, Left, Use};
use super::line::Span;
use super::waiter::Waiter;
use super::world::{Held, ListenerOwner, Read, StreamOwner, World, Write};
use crate::limits;

impl World {
    pub(super) fn own(&mut self, action: Action) {
        match action {
            Action::Listen => self.listen(),
            Action::StopListening(number) => self.stop_listening(number),
            Action::Accept(number) => self.accept(number),
            Action::Connect => self.connect(),
            Action::HastenIdle(ticks) => self.hasten_idle(u32::from(ticks)),
            Action::AwaitBell => self.await_bell(),
            Action::GiveBack(number) if !self.held.is_empty() => {
                let held = self.held.swap_remove(usize::from(number) % self.held.len());
                self.give_back(held);
            }
            Action::AwaitConnected(number)
            | Action::Recv(number, _)
            | Action::Idle(number)
            | Action::Broken(number)
            | Action::Send(number, _)
            | Action::Sent(number, _)
            | Action::FinishSending(number)
            | Action::SetDeadline(number, _)
            | Action::ClearDeadline(number)
            | Action::Release(number, _) => {
                if let Some(stream) = self.pick(number) {
                    self.own_stream(stream, action);
                }
            }
            _ => {}
        }
    }

    fn own_stream(&mut self, stream: usize, action: Action) {
        let slot = self.streams[stream].slot;
        match action {
            Action::AwaitConnected(_) => self.await_connected(stream),
            Action::Recv(_, using) => drop(self.recv(stream, using)),
            Action::Idle(_) => self.idle(stream),
            Action::Broken(_) => self.broken(stream),
            Action::Send(_, octets) => self.send(stream, octets),
            Action::Sent(_, Left::None) => self.sent(stream, 0),
            Action::Sent(_, Left::Some(left)) => self.sent(stream, left as usize),
            Action::FinishSending(_) => self.finish_sending(stream),
            Action::SetDeadline(_, ticks) => {
                let deadline = self.driver.tick + u32::from(ticks);
                self.driver.set_deadline(slot, deadline);
                (self.streams[stream].deadline, self.streams[stream].due) = (Some(deadline), false);
            }
            Action::ClearDeadline(_) => {
                self.driver.set_deadline(slot, NEVER);
                (self.streams[stream].deadline, self.streams[stream].due) = (None, false);
            }
            Action::Release(_, reset) => self.release(stream, if reset { End::Reset } else { End::Finish }),
            _ => {}
        }
    }

    fn listen(&mut self) {
        if self.listeners.len() < 2 {
            let (descriptor, socket) = self.driver.kernel.new_socket();
            let slot = self.driver.listen(descriptor);
            self.listeners.push(ListenerOwner { slot, socket, waiter: None });
        }
    }

    fn stop_listening(&mut self, number: u8) {
        if !self.listeners.is_empty() {
            let listener = self.listeners.swap_remove(usize::from(number) % self.listeners.len());
            self.driver.stop_listening(listener.slot);
            assert!(
                listener.waiter.is_none_or(|waiter| waiter.is_woken()),
                "an accept outlives its listener"
            );
        }
    }

    pub(super) fn accept(&mut self, number: u8) {
        let count = self.listeners.len().max(1);
        let Some(listener) = self.listeners.get_mut(usize::from(number) % count) else { return };
        let waiter = Waiter::new(());
        match self.driver.poll_accept(listener.slot, &waiter.waker()) {
            Poll::Pending => listener.waiter = Some(waiter),
            Poll::Ready(descriptor) => {
                listener.waiter = None;
                let socket = self.driver.kernel.socket_of(descriptor.as_raw_fd());
                let slot = self.driver.adopt(descriptor);
                self.streams.push(StreamOwner::new(slot, socket));
            }
        }
    }

    fn connect(&mut self) {
        let peer = SocketAddr::from(([127, 0, 0, 1], 9));
        if self.streams.len() < 30
            && let Ok(slot) = self.driver.connect(peer.into())
        {
            let socket = self.driver.kernel.socket_of(self.driver.descriptor(slot));
            self.streams.push(StreamOwner::new(slot, socket));
        }
    }

    fn await_connected(&mut self, stream: usize) {
        let waiter = Waiter::new(Write::Connected);
        let owner = &mut self.streams[stream];
        owner.writer = None;
        match self.driver.poll_connected(owner.slot, &waiter.waker()) {
            Poll::Pending => {
                assert!(!owner.due, "a timeout is lost");
                owner.writer = Some(waiter);
            }
            Poll::Ready(Ok(())) => assert!(self.driver.kernel.sockets[owner.socket].connected),
            Poll::Ready(Err(fault)) => self.told(stream, fault),
        }
    }

    /// Takes one buffer, if one is there; true if so.
    pub(super) fn recv(&mut self, stream: usize, using: Use) -> bool {
        let waiter = Waiter::new(Read::Recv);
        let (slot, index) = (self.streams[stream].slot, self.streams[stream].socket);
        self.streams[stream].reader = None;
        let polled = self.driver.poll_recv(slot, &waiter.waker());
        let socket = &self.driver.kernel.sockets[index];
        let owner = &mut self.streams[stream];
        match polled {
            Poll::Ready(Ok(Some((buffer, octets)))) => {
                let (salt, at) = (2 * index, owner.read);
                owner.read += u64::from(octets);
                assert!(owner.read <= socket.collected, "octets that never came");
                assert!(
                    pattern_matches(salt, at, self.driver.octets(buffer)),
                    "wrong octets from stream {index}"
                );
                let span = Span { salt, at, octets: octets.into() };
                self.use_buffer(Held { buffer, span }, using);
                return true;
            }
            Poll::Ready(Ok(None)) => {
                assert!(socket.peer_fin && owner.read == socket.supply, "not the end of stream {index}");
                owner.ended = true;
            }
            Poll::Ready(Err(fault)) => {
                assert_eq!(owner.read, socket.collected, "octets before a fault are lost");
                self.told(stream, fault);
            }
            Poll::Pending => {
                assert!(!owner.due, "a timeout is lost");
                assert_eq!(owner.read, socket.collected, "octets are kept back");
                owner.reader = Some(waiter);
            }
        }
        false
    }

    fn use_buffer(&mut self, held: Held, using: Use) {
        match using {
            Use::GiveBack => self.give_back(held),
            Use::Hold if self.held.len() < 32 => self.held.push(held),
            Use::Hold => self.give_back(held),
            Use::Forward(to, cut) => match self.pick(to) {
                Some(to) if self.may_send(to) => self.forward(held, to, cut),
                _ => self.give_back(held),
            },
        }
    }

    pub(super) fn give_back(&mut self, held: Held) {
        let octets = self.driver.octets(held.buffer);
        assert!(pattern_matches(held.span.salt, held.span.at, octets), "a held buffer has changed");
        self.driver.give_back(held.buffer);
    }

    fn may_send(&self, stream: usize) -> bool {
        let s = self.slot(stream);
        let finished =
            self.lines.get(self.streams[stream].socket).is_some_and(|line| line.fin_asked.is_some());
        s.phase == Phase::Open && !finished && s.queued_octets() <= limits::SEND_QUEUE_OCTETS
    }

    fn forward(&mut self, Held { buffer, span }: Held, stream: usize, cut: u8) {
        let from = u64::from(cut).min(span.octets);
        let sent = Span { salt: span.salt, at: span.at + from, octets: span.octets - from };
        let at = self.driver.octets(buffer).as_ptr();
        let piece = Piece::Lent { buffer, at, from: from as u16, to: span.octets as u16 };
        self.send_piece(stream, piece, sent);
    }

    fn send(&mut self, stream: usize, octets: u32) {
        if self.may_send(stream) {
            let (salt, at) =
                (2 * self.streams[stream].socket + 1, self.line(self.streams[stream].socket).sent);
            let piece = Piece::Owned { octets: pattern_at(salt, at, octets as usize), from: 0 };
            self.send_piece(stream, piece, Span { salt, at, octets: octets.into() });
        }
    }

    fn send_piece(&mut self, stream: usize, piece: Piece, span: Span) {
        let broken = self.slot(stream).errno != 0;
        let line = self.line(self.streams[stream].socket);
        match broken {
            true => line.refused = true,
            false if span.octets > 0 => line.send(span),
            false => {}
        }
        self.driver.send(self.streams[stream].slot, piece);
    }

    fn sent(&mut self, stream: usize, left: usize) {
        let waiter = Waiter::new(Write::Sent(left));
        let owner = &mut self.streams[stream];
        owner.writer = None;
        match self.driver.poll_sent(owner.slot, left, &waiter.waker()) {
            Poll::Pending => {
                assert!(!owner.due, "a timeout is lost");
                owner.writer = Some(waiter);
            }
            Poll::Ready(Ok(())) => {
                let (line, socket) =
                    (self.lines.get(owner.socket), &self.driver.kernel.sockets[owner.socket]);
                let unsent = line.map_or(0, |line| line.sent) - socket.taken_total;
                assert!(unsent <= left as u64, "{unsent} octets unsent, not {left}");
            }
            Poll::Ready(Err(fault)) => self.told(stream, fault),
        }
    }

    fn finish_sending(&mut self, stream: usize) {
        let s = self.slot(stream);
        if s.phase == Phase::Open && s.errno == 0 {
            let line = self.line(self.streams[stream].socket);
            let sent = line.sent;
            line.fin_asked.get_or_insert(sent);
        }
        self.driver.finish_sending(self.streams[stream].slot);
    }

    fn idle(&mut self, stream: usize) {
        let waiter = Waiter::new(Read::Idle);
        let owner = &mut self.streams[stream];
        (owner.reader, owner.idle) = (None, false);
        let polled = self.driver.poll_idle(owner.slot, &waiter.waker());
        let socket = &self.driver.kernel.sockets[owner.socket];
        match polled {
            Poll::Ready(Ok(true)) => assert!(owner.read < socket.collected, "nothing has come"),
            Poll::Ready(Ok(false)) => assert!(socket.peer_fin && owner.read == socket.supply, "not the end"),
            Poll::Ready(Err(fault)) => self.told(stream, fault),
            Poll::Pending => {
                assert!(!owner.due, "a timeout is lost");
                (owner.reader, owner.idle) = (Some(waiter), true);
            }
        }
    }

    fn broken(&mut self, stream: usize) {
        let waiter = Waiter::new(Read::Broken);
        let owner = &mut self.streams[stream];
        match self.driver.poll_broken(owner.slot, &waiter.waker()) {
            Poll::Pending => owner.reader = Some(waiter),
            Poll::Ready(fault) => self.told(stream, fault),
        }
    }

    fn hasten_idle(&mut self, ticks: u32) {
        let tick = self.driver.tick + ticks;
        self.driver.hasten_idle(tick);
        for owner in self.streams.iter_mut().filter(|owner| owner.idle && !owner.due) {
            if self.driver.slots[owner.slot as usize].phase == Phase::Open {
                owner.deadline = Some(owner.deadline.map_or(tick, |deadline| deadline.min(tick)));
            }
        }
    }

    fn await_bell(&mut self) {
        let waiter = Waiter::new(());
        match self.driver.poll_doorbell(&waiter.waker()) {
            Poll::Pending => self.bell = Some(waiter),
            Poll::Ready(()) => {
                assert!(std::mem::take(&mut self.bell_rung), "nobody rang");
                self.bell = None;
                self.bell_rung = self.driver.kernel.is_bell_under_way();
            }
        }
    }

    pub(super) fn release(&mut self, stream: usize, end: End) {
        let open = self.slot(stream).phase == Phase::Open;
        let owner = self.streams.swap_remove(stream);
        self.line(owner.socket).reset_asked = open && end == End::Reset;
        self.driver.release(owner.slot, end);
    }
}
