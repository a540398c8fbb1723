//! The real kernel behind the seam: one io_uring, used by the thread that made it.

#![allow(clippy::cast_possible_truncation)] // sizes of limits.rs, all far below 32 bits
#![allow(unsafe_code)] // raw ring access

use std::io;
use std::os::fd::{OwnedFd, RawFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use io_uring::types::{BufRingEntry, CancelBuilder, Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode, squeue};

use super::kernel::{Completion, Entries, Kernel, Op, Token, Wait};
use crate::limits;

/// One receive buffer, as the kernel wants it told.
pub(in crate::runtime) const BUFFER_OCTETS: u32 = limits::RECV_BUFFER_OCTETS as u32;
const GROUP: u16 = 0;
/// With MSG_WAITALL the kernel goes on after a short send, and counts one that it may not go on with as failed.
const SEND_FLAGS: i32 = libc::MSG_NOSIGNAL | libc::MSG_WAITALL;
const GETEVENTS: u32 = 1;
/// Looks at the ring between two readings of the clock.
const LOOKS: u32 = 32;

pub(crate) struct Uring {
    ring: IoUring,
    provided: ProvidedRing,
    entries: Entries,
    /// What went wrong between two enters; the next one reports it.
    broken: Option<io::Error>,
    /// The last enter left nothing in the submission queue.
    all_taken: bool,
}

impl Uring {
    /// # Errors
    /// The kernel lacks a feature, or refuses io_uring; [`crate::runtime::probe`] says which.
    pub(crate) fn new() -> io::Result<Uring> {
        let mut ring: IoUring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_coop_taskrun()
            .setup_taskrun_flag()
            .setup_submit_all()
            .setup_cqsize(limits::RING_COMPLETIONS)
            .build(limits::RING_SUBMISSIONS)?;
        let provided = ProvidedRing::register(&mut ring)?;
        Ok(Uring { ring, provided, entries: Entries::default(), broken: None, all_taken: true })
    }

    fn entry(op: Op) -> squeue::Entry {
        match op {
            Op::Accept { fd, multishot: true } => {
                opcode::AcceptMulti::new(Fd(fd)).flags(libc::SOCK_CLOEXEC).build()
            }
            Op::Accept { fd, multishot: false } => {
                opcode::Accept::new(Fd(fd), std::ptr::null_mut(), std::ptr::null_mut())
                    .flags(libc::SOCK_CLOEXEC)
                    .build()
            }
            Op::Recv { fd, multishot: true } => opcode::RecvMulti::new(Fd(fd), GROUP).build(),
            Op::Recv { fd, multishot: false } => {
                opcode::Recv::new(Fd(fd), std::ptr::null_mut(), BUFFER_OCTETS)
                    .buf_group(GROUP)
                    .build()
                    .flags(squeue::Flags::BUFFER_SELECT)
            }
            Op::Send { fd, at, octets, silent } => {
                let (message_flags, entry_flags) = send_flags(silent);
                opcode::Send::new(Fd(fd), at, octets).flags(message_flags).build().flags(entry_flags)
            }
            Op::SendMsg { fd, message, silent } => {
                let (message_flags, entry_flags) = send_flags(silent);
                opcode::SendMsg::new(Fd(fd), message).flags(message_flags as u32).build().flags(entry_flags)
            }
            Op::Connect { fd, address, length } => opcode::Connect::new(Fd(fd), address, length).build(),
            Op::Shutdown { fd } => opcode::Shutdown::new(Fd(fd), libc::SHUT_WR).build(),
            Op::Cancel { target } => {
                opcode::AsyncCancel2::new(CancelBuilder::user_data(target.to_bits())).build()
            }
            Op::CancelAll { fd } => opcode::AsyncCancel2::new(CancelBuilder::fd(Fd(fd)).all()).build(),
            Op::Close { fd } => opcode::Close::new(Fd(fd)).build(),
            Op::Doorbell { fd, into } => opcode::Read::new(Fd(fd), into.cast(), 8).build(),
        }
    }

    /// Enters the kernel; interruption and an elapsed timeout are not errors.
    fn enter_for(&mut self, completions: usize, sleep: Option<Duration>) -> io::Result<()> {
        self.entries.enters += 1;
        if self.ring.submission().cq_overflow() {
            self.entries.overflows += 1;
        }
        let submit = self.ring.submission().len() as u32;
        let result = match sleep {
            Some(sleep) => {
                let time = Timespec::from(sleep);
                self.ring.submitter().submit_with_args(completions, &SubmitArgs::new().timespec(&time))
            }
            // SAFETY: no argument is passed, so there is none to be valid.
            None => unsafe { self.ring.submitter().enter::<libc::sigset_t>(submit, 0, GETEVENTS, None) },
        };
        match result {
            Ok(_) => Ok(()),
            // EBUSY: completions must be taken before more is accepted, which is what comes next.
            Err(e)
                if matches!(
                    e.raw_os_error(),
                    Some(libc::EINTR | libc::ETIME | libc::EBUSY | libc::EAGAIN)
                ) =>
            {
                Ok(())
            }
            Err(e) => Err(e),
        }
    }

    fn enter_as_told(&mut self, wait: Wait) -> io::Result<()> {
        match wait {
            Wait::Until(until) => {
                let sleep = until.saturating_duration_since(Instant::now());
                return self.enter_for(1, Some(sleep));
            }
            Wait::No if self.ring.submission().is_empty() && !self.has_news() => return Ok(()),
            Wait::No => return self.enter_for(0, None),
            Wait::Spin(_) if !self.ring.submission().is_empty() || self.has_news() => {
                self.enter_for(0, None)?;
            }
            Wait::Spin(_) => {}
        }
        let Wait::Spin(budget) = wait else { return Ok(()) };
        let start = Instant::now();
        while self.ring.completion().is_empty() && start.elapsed() < budget {
            if (0..LOOKS).any(|_| {
                std::hint::spin_loop();
                self.has_news()
            }) {
                return self.enter_for(0, None);
            }
        }
        Ok(())
    }

    /// True if completions wait, or the kernel has work that makes some, or some that did not fit.
    fn has_news(&mut self) -> bool {
        if !self.ring.completion().is_empty() {
            return true;
        }
        let submission = self.ring.submission();
        submission.taskrun() || submission.cq_overflow()
    }
}

fn send_flags(silent: bool) -> (i32, squeue::Flags) {
    match silent {
        true => (SEND_FLAGS | libc::MSG_DONTWAIT, squeue::Flags::SKIP_SUCCESS),
        false => (SEND_FLAGS, squeue::Flags::empty()),
    }
}

impl Kernel for Uring {
    fn push(&mut self, op: Op, token: Token) {
        let entry = Self::entry(op).user_data(token.to_bits());
        // SAFETY: what `op` points at lives until its completion (promise of the driver).
        while unsafe { self.ring.submission().push(&entry) }.is_err() {
            // The queue is full: hand it over now. A ring that fails takes nothing, now or later.
            if let Err(error) = self.enter_for(0, None) {
                self.broken.get_or_insert(error);
                return;
            }
        }
    }

    fn provide(&mut self, buffer: u16, at: *mut u8, octets: u32) {
        self.provided.put(buffer, at, octets);
    }

    fn enter(&mut self, wait: Wait) -> io::Result<()> {
        if let Some(error) = self.broken.take() {
            return Err(error);
        }
        self.provided.publish();
        let result = self.enter_as_told(wait);
        self.all_taken = self.ring.submission().is_empty();
        result
    }

    fn settled(&mut self) -> bool {
        self.all_taken && !self.ring.submission().cq_overflow()
    }
    fn completion(&mut self) -> Option<Completion> {
        let entry = self.ring.completion().next()?;
        Some(Completion {
            token: entry.user_data(),
            result: entry.result(),
            more: cqueue::more(entry.flags()),
            buffer: cqueue::buffer_select(entry.flags()),
        })
    }

    fn socket(&mut self, family: socket2::Domain) -> io::Result<OwnedFd> {
        let socket = socket2::Socket::new(family, socket2::Type::STREAM, None)?;
        if family != socket2::Domain::UNIX {
            socket.set_tcp_nodelay(true)?;
            socket.set_tcp_notsent_lowat(limits::KERNEL_UNSENT_OCTETS)?;
        }
        Ok(socket.into())
    }

    fn reset_on_close(&mut self, fd: RawFd) {
        // SAFETY: the driver owns `fd` and closes it only later.
        let socket = unsafe { std::os::fd::BorrowedFd::borrow_raw(fd) };
        // A socket that cannot linger is gone already; its close is then as good.
        let _ = socket2::SockRef::from(&socket).set_linger(Some(Duration::ZERO));
    }

    fn entries(&self) -> Entries {
        self.entries
    }
}

/// The ring through which provided buffers reach the kernel: its tail is ours, its head the kernel's.
struct ProvidedRing {
    entries: NonNull<BufRingEntry>,
    tail: u16,
}

const RING_OCTETS: usize = limits::RECV_BUFFERS as usize * size_of::<BufRingEntry>();

impl ProvidedRing {
    fn register(ring: &mut IoUring) -> io::Result<ProvidedRing> {
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a fresh anonymous mapping touches nothing that exists.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), RING_OCTETS, protection, flags, -1, 0) };
        let entries = match NonNull::new(at.cast()) {
            Some(entries) if at != libc::MAP_FAILED => entries,
            _ => return Err(io::Error::last_os_error()),
        };
        // SAFETY: the mapping is page aligned, has RECV_BUFFERS entries, and is never unmapped: a core's ring lives
        // as long as the process.
        unsafe { ring.submitter().register_buf_ring_with_flags(at as u64, limits::RECV_BUFFERS, GROUP, 0)? };
        Ok(ProvidedRing { entries, tail: 0 })
    }

    fn put(&mut self, buffer: u16, at: *mut u8, octets: u32) {
        let index = usize::from(self.tail & (limits::RECV_BUFFERS - 1));
        // SAFETY: `index` is within the mapping, and this entry is not the kernel's: at most RECV_BUFFERS_IN_RING
        // entries, fewer than the ring has, lie between its head and our tail.
        let entry = unsafe { &mut *self.entries.as_ptr().add(index) };
        entry.set_addr(at as u64);
        entry.set_len(octets);
        entry.set_bid(buffer);
        self.tail = self.tail.wrapping_add(1);
    }

    fn publish(&mut self) {
        // SAFETY: the tail lies in the first entry's reserved field, inside the mapping; the kernel only reads it.
        let tail = unsafe { &*BufRingEntry::tail(self.entries.as_ptr()).cast::<AtomicU16>() };
        tail.store(self.tail, Ordering::Release);
    }
}
