//! What the fake kernel does with each kind of operation.

use std::os::fd::{IntoRawFd, RawFd};
use std::slice::from_raw_parts;

use super::socket::pattern_at;
use super::{Fake, Flight, Provided};
use crate::runtime::ring::kernel::{Completion, Kind, Op, Token};

/// What an operation completes with this time.
struct Outcome {
    result: i32,
    more: bool,
    buffer: Option<u16>,
    delivers: Option<(usize, u64)>,
}

impl Outcome {
    fn last(result: i32) -> Option<Outcome> {
        Some(Outcome { result, more: false, buffer: None, delivers: None })
    }
}

impl Fake {
    /// Takes one operation as far as it goes in this turn.
    pub(super) fn perform(&mut self, number: u64) {
        for _ in 0..self.mood.burst {
            let Some(flight) = self.flying.iter().find(|flight| flight.number == number).copied() else {
                return;
            };
            let Some(outcome) = self.attempt(flight) else { return };
            self.finish(flight, outcome);
        }
    }

    fn finish(&mut self, flight: Flight, outcome: Outcome) {
        let Outcome { result, more, buffer, delivers } = outcome;
        if !more {
            self.flying.retain(|other| other.number != flight.number);
        }
        self.arrive(Completion { token: flight.token.to_bits(), result, more, buffer }, delivers);
    }

    /// A send that may not wait, and tells only what went wrong.
    pub(super) fn send_silently(&mut self, flight: Flight) {
        let asked = match flight.op {
            Op::Send { octets, .. } => octets as usize,
            // SAFETY: the driver promised that message and vectors live until it knows how the send ended.
            Op::SendMsg { message, .. } => unsafe {
                from_raw_parts((*message).msg_iov, (*message).msg_iovlen).iter().map(|v| v.iov_len).sum()
            },
            _ => 0,
        };
        let outcome = self.attempt(flight).or_else(|| Outcome::last(-libc::EAGAIN));
        if let Some(outcome) = outcome.filter(|outcome| outcome.result != asked as i32) {
            self.finish(flight, outcome);
        }
    }

    /// `None` if the operation has to wait on.
    fn attempt(&mut self, flight: Flight) -> Option<Outcome> {
        match flight.op {
            Op::Accept { fd, multishot } => self.accept(fd, multishot),
            Op::Recv { fd, multishot } => self.receive(fd, multishot),
            Op::Send { fd, at, octets, .. } => self.send(fd, &[(at, octets as usize)]),
            Op::SendMsg { fd, message, .. } => {
                // SAFETY: the driver promised that message, vectors and octets live until we complete.
                let vectors = unsafe { from_raw_parts((*message).msg_iov, (*message).msg_iovlen) };
                let pieces: Vec<_> = vectors.iter().map(|v| (v.iov_base as *const u8, v.iov_len)).collect();
                self.send(fd, &pieces)
            }
            Op::Connect { fd, address, length } => self.connect(fd, address, length),
            Op::Shutdown { fd } => {
                let socket = self.socket_of(fd);
                let socket = &mut self.sockets[socket];
                assert!(socket.fin_at.is_none(), "FIN twice");
                socket.fin_at = Some(socket.taken_total);
                Outcome::last(if socket.is_reset { -libc::ENOTCONN } else { 0 })
            }
            Op::Cancel { target } => {
                let target = self.flying.iter().find(|other| other.token == target).copied();
                Outcome::last(target.map_or(-libc::ENOENT, |target| self.cancel(target)))
            }
            Op::CancelAll { fd } => self.cancel_all(fd),
            Op::Close { fd } => {
                let socket = self.socket_of(fd);
                let others = |other: &Flight| other.number != flight.number && self.concerns(other.op, fd);
                assert!(!self.flying.iter().any(others), "closed with operations in flight");
                self.open.remove(&fd);
                drop(self.sockets[socket].take_descriptor());
                Outcome::last(if self.chance(self.mood.trouble) { -libc::EINTR } else { 0 })
            }
            Op::Doorbell { into, .. } => (self.bell > 0).then(|| {
                // SAFETY: the driver promised that the value lives until we complete.
                unsafe { into.write(std::mem::take(&mut self.bell)) };
                Outcome { result: 8, more: false, buffer: None, delivers: None }
            }),
        }
    }

    fn concerns(&self, op: Op, on: RawFd) -> bool {
        match op {
            Op::Accept { fd, .. }
            | Op::Recv { fd, .. }
            | Op::Send { fd, .. }
            | Op::SendMsg { fd, .. }
            | Op::Connect { fd, .. }
            | Op::Shutdown { fd } => fd == on,
            Op::Cancel { .. } | Op::CancelAll { .. } | Op::Close { .. } | Op::Doorbell { .. } => false,
        }
    }

    fn accept(&mut self, listener: RawFd, multishot: bool) -> Option<Outcome> {
        let listener = self.socket_of(listener);
        if self.sockets[listener].backlog == 0 {
            return None;
        }
        if self.out_of_descriptors {
            return Outcome::last(-libc::EMFILE);
        }
        if self.chance(self.mood.trouble) {
            let errors = [libc::EMFILE, libc::ENFILE, libc::ENOBUFS, libc::ECONNABORTED, libc::EINTR];
            return Outcome::last(-self.rng.choice(errors)?);
        }
        self.sockets[listener].backlog -= 1;
        let (descriptor, accepted) = self.new_socket();
        self.sockets[accepted].connected = true;
        let more = multishot && !self.chance(self.mood.stop);
        Some(Outcome { result: descriptor.into_raw_fd(), more, buffer: None, delivers: None })
    }

    fn receive(&mut self, fd: RawFd, multishot: bool) -> Option<Outcome> {
        let index = self.socket_of(fd);
        if self.chance(self.mood.trouble) {
            let errors = [libc::EINTR, libc::EAGAIN, libc::ENOBUFS, libc::ECONNRESET, libc::ENOMEM];
            let errno = self.rng.choice(errors)?;
            if errno == libc::ECONNRESET {
                self.sockets[index].reset(errno);
                self.sockets[index].take_error();
            }
            return Outcome::last(self.sockets[index].tell(errno));
        }
        let waiting = self.sockets[index].supply - self.sockets[index].delivered;
        if waiting == 0 {
            let socket = &mut self.sockets[index];
            return match socket.take_error() {
                Some(errno) => Outcome::last(socket.tell(errno)),
                None if socket.peer_fin || socket.is_reset => Outcome::last(0),
                None => None,
            };
        }
        let Some(Provided { buffer, at, octets }) = self.provided.pop_front() else {
            return Outcome::last(-libc::ENOBUFS);
        };
        let octets = self.some_of(waiting.min(u64::from(octets)));
        let data = pattern_at(2 * index, self.sockets[index].delivered, octets as usize);
        // SAFETY: the driver provided this buffer and has not got it back.
        unsafe { at.copy_from_nonoverlapping(data.as_ptr(), data.len()) };
        self.sockets[index].delivered += octets;
        let more = multishot && !self.chance(self.mood.stop);
        Some(Outcome { result: octets as i32, more, buffer: Some(buffer), delivers: Some((index, octets)) })
    }

    fn send(&mut self, fd: RawFd, pieces: &[(*const u8, usize)]) -> Option<Outcome> {
        let index = self.socket_of(fd);
        if self.chance(self.mood.trouble) {
            let errors = [libc::EINTR, libc::EAGAIN, libc::ENOBUFS, libc::EPIPE];
            let errno = self.rng.choice(errors)?;
            return Outcome::last(self.sockets[index].tell(errno));
        }
        let socket = &mut self.sockets[index];
        assert!(socket.fin_at.is_none(), "octets after FIN");
        if socket.is_reset {
            let errno = socket.take_error().unwrap_or(libc::EPIPE);
            return Outcome::last(socket.tell(errno));
        }
        let asked: usize = pieces.iter().map(|(_, octets)| octets).sum();
        assert!(asked > 0, "nothing to send");
        let possible = socket.window.min(asked as u64);
        if possible == 0 {
            return None;
        }
        let taken = self.some_of(possible);
        let mut left = taken as usize;
        for (at, octets) in pieces {
            let part = left.min(*octets);
            // SAFETY: the driver promised that what it sends lives until we complete.
            self.sockets[index].taken.extend_from_slice(unsafe { from_raw_parts(*at, part) });
            left -= part;
        }
        self.sockets[index].taken_total += taken;
        self.sockets[index].window -= taken;
        Outcome::last(taken as i32)
    }

    /// All of `octets`, or fewer: at least one.
    fn some_of(&mut self, octets: u64) -> u64 {
        if self.chance(self.mood.short) { self.rng.u64(1..=octets) } else { octets }
    }

    fn connect(&mut self, fd: RawFd, at: *const libc::sockaddr, length: libc::socklen_t) -> Option<Outcome> {
        let index = self.socket_of(fd);
        // SAFETY: the driver promised that the address lives until we complete.
        let address = unsafe { from_raw_parts(at.cast::<u8>(), length as usize) };
        let family = u16::from_ne_bytes([address[0], address[1]]);
        assert!([libc::AF_INET as u16, libc::AF_INET6 as u16].contains(&family), "not an address");
        if self.chance(self.mood.trouble) {
            let errno = self.rng.choice([libc::ECONNREFUSED, libc::ETIMEDOUT, libc::EHOSTUNREACH])?;
            return Outcome::last(self.sockets[index].tell(errno));
        }
        self.sockets[index].connected = true;
        Outcome::last(0)
    }

    /// Cancels one operation, if the cancel does not miss; the cancel's own result.
    fn cancel(&mut self, target: Flight) -> i32 {
        if self.chance(self.mood.miss) {
            return if self.rng.bool() { -libc::EALREADY } else { -libc::ENOENT };
        }
        // A send that has moved octets tells so instead; ours move at completion only.
        self.flying.retain(|other| other.number != target.number);
        let token = target.token.to_bits();
        self.arrive(Completion { token, result: -libc::ECANCELED, more: false, buffer: None }, None);
        0
    }

    fn cancel_all(&mut self, fd: RawFd) -> Option<Outcome> {
        let targets: Vec<Flight> = self.flying.iter().filter(|f| self.concerns(f.op, fd)).copied().collect();
        let cancelled = targets.into_iter().filter(|target| self.cancel(*target) == 0).count();
        Outcome::last(if cancelled == 0 { -libc::ENOENT } else { cancelled as i32 })
    }

    /// A completion that no operation asked for.
    pub(in crate::runtime::ring) fn forge(&mut self, kind: Kind, slot: u32, generation: u32, result: i32) {
        let buffer = (kind == Kind::Recv).then(|| self.provided.pop_front().map(|p| p.buffer)).flatten();
        let token = Token { kind, slot, generation }.to_bits();
        self.arrive(Completion { token, result, more: false, buffer }, None);
    }
}
