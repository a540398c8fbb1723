//! The seam between the driver and the kernel: what can be asked, and what comes back.
//!
//! [`Driver`](super::driver::Driver) is sans-io and sees the kernel only through [`Kernel`]. The real one is
//! [`Uring`](super::uring::Uring); tests drive the same code with a fake that completes in any order, short,
//! failing, without F_MORE and out of buffers.

use std::io;
use std::os::fd::{OwnedFd, RawFd};
use std::time::{Duration, Instant};

/// Names one operation in flight: its kind, the slot that it belongs to, and that slot's generation.
///
/// Travels through the kernel as 64 bits of user data: generation in the high 32, slot in the next 24, kind in
/// the low 8. A completion whose generation is not the slot's own is from an earlier life and touches nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) slot: u32,
    pub(crate) generation: u32,
}

/// What an operation does; one bit of a slot's `in_flight` set each, so at most one of a kind flies per slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(crate) enum Kind {
    Accept = 0,
    Recv = 1,
    Send = 2,
    Connect = 3,
    Shutdown = 4,
    Cancel = 5,
    Close = 6,
    Doorbell = 7,
}

const KINDS: [Kind; 8] = [
    Kind::Accept,
    Kind::Recv,
    Kind::Send,
    Kind::Connect,
    Kind::Shutdown,
    Kind::Cancel,
    Kind::Close,
    Kind::Doorbell,
];

impl Kind {
    /// The kind whose bit alone is set, if there is one such.
    pub(crate) fn alone_in(bits: u8) -> Option<Kind> {
        if bits.is_power_of_two() { KINDS.get(bits.trailing_zeros() as usize).copied() } else { None }
    }
}

impl Token {
    pub(crate) const MAX_SLOT: u32 = (1 << 24) - 1;

    pub(crate) fn to_bits(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.slot) << 8 | self.kind as u64
    }

    /// `None` if no operation of ours has these bits.
    pub(crate) fn from_bits(bits: u64) -> Option<Token> {
        let [kind, s0, s1, s2, g0, g1, g2, g3] = bits.to_le_bytes();
        let kind = *KINDS.get(usize::from(kind))?;
        let slot = u32::from_le_bytes([s0, s1, s2, 0]);
        Some(Token { kind, slot, generation: u32::from_le_bytes([g0, g1, g2, g3]) })
    }
}

/// One request to the kernel. Pointers stay valid, and what they point at unmoved, until the operation's last
/// completion: that is the driver's promise, and the reason why it keeps what it sends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    /// Accept; each completion carries a descriptor. `multishot` until a completion lacks F_MORE, else once.
    Accept {
        fd: RawFd,
        multishot: bool,
    },
    /// Receive into provided buffers; `multishot` until a completion lacks F_MORE, else once.
    Recv {
        fd: RawFd,
        multishot: bool,
    },
    /// A `silent` send waits for no room and completes only if not all was taken; once the kernel is
    /// [`settled`](Kernel::settled), one that has not completed was taken whole. Others wait, and complete.
    Send {
        fd: RawFd,
        at: *const u8,
        octets: u32,
        silent: bool,
    },
    SendMsg {
        fd: RawFd,
        message: *const libc::msghdr,
        silent: bool,
    },
    Connect {
        fd: RawFd,
        address: *const libc::sockaddr,
        length: libc::socklen_t,
    },
    /// Ends our direction of the stream (FIN).
    Shutdown {
        fd: RawFd,
    },
    /// Cancels the operation with that token.
    Cancel {
        target: Token,
    },
    /// Cancels all operations on a descriptor. The kernel looks at every operation of the ring to find them.
    CancelAll {
        fd: RawFd,
    },
    Close {
        fd: RawFd,
    },
    /// Reads the eventfd that other threads ring.
    Doorbell {
        fd: RawFd,
        into: *mut u64,
    },
}

/// What became of an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Completion {
    pub(crate) token: u64,
    /// A count, a descriptor, or minus an errno.
    pub(crate) result: i32,
    /// The operation goes on and will complete again.
    pub(crate) more: bool,
    /// The provided buffer that the octets are in.
    pub(crate) buffer: Option<u16>,
}

/// How long [`Kernel::enter`] may stay away.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Wait {
    /// Submit, collect what is there, return.
    No,
    /// Poll without sleeping for at most that long, then return.
    Spin(Duration),
    /// Sleep until a completion or that instant.
    Until(Instant),
}

/// How often the kernel was entered, and found its completion queue overflowing, so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Entries {
    pub(crate) enters: u64,
    pub(crate) overflows: u64,
}

pub(crate) trait Kernel {
    /// Queues an operation; it reaches the kernel with the next [`enter`](Self::enter) at the latest.
    fn push(&mut self, op: Op, token: Token);
    /// Gives a buffer to the kernel, to be handed back by a receive's completion.
    fn provide(&mut self, buffer: u16, at: *mut u8, octets: u32);
    /// Submits what was queued and provided, and waits as told.
    ///
    /// # Errors
    /// What `io_uring_enter` reports, EINTR and ETIME excepted.
    fn enter(&mut self, wait: Wait) -> io::Result<()>;
    /// The next completion that has arrived, if any. Does not wait.
    fn completion(&mut self) -> Option<Completion>;
    /// True if the last [`enter`](Self::enter) took everything that was queued before it, and what failed at once
    /// has been told by [`completion`](Self::completion), which has no more.
    fn settled(&mut self) -> bool;
    /// A new stream socket of that family; nodelay is set on those of TCP.
    ///
    /// # Errors
    /// EMFILE and the like.
    fn socket(&mut self, family: socket2::Domain) -> io::Result<OwnedFd>;
    /// Makes the next close of `fd` a reset, so that a cut message cannot look complete.
    fn reset_on_close(&mut self, fd: RawFd);
    fn entries(&self) -> Entries;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_survives_the_kernel() {
        for kind in KINDS {
            for (slot, generation) in [(0, 0), (1, 2), (Token::MAX_SLOT, u32::MAX)] {
                let token = Token { kind, slot, generation };
                assert_eq!(Token::from_bits(token.to_bits()), Some(token));
            }
        }
        assert_eq!(Token::from_bits(0xff), None);
    }

    #[test]
    fn a_kind_alone_is_known() {
        for kind in KINDS {
            assert_eq!(Kind::alone_in(1 << kind as u8), Some(kind));
        }
        assert_eq!((Kind::alone_in(0), Kind::alone_in(3), Kind::alone_in(0x90)), (None, None, None));
    }
}
