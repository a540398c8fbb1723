//! A fake socket: what its peer has sent, what it has taken, and how it ended.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixDatagram;

/// Octets are told apart by where they stand, with a period that no multiple of a buffer's size divides.
const PERIOD: usize = 65_521;

fn table() -> &'static [u8; PERIOD] {
    static TABLE: std::sync::OnceLock<Box<[u8; PERIOD]>> = std::sync::OnceLock::new();
    TABLE.get_or_init(|| {
        let mut table = Box::new([0; PERIOD]);
        fastrand::Rng::with_seed(9112).fill(table.as_mut_slice());
        table
    })
}

/// Pieces of the table that make up octets `at..` of stream `salt`.
fn spans(salt: usize, at: u64, mut length: usize) -> impl Iterator<Item = &'static [u8]> {
    let mut from = (at as usize + salt * 7919) % PERIOD;
    std::iter::from_fn(move || {
        let span = &table()[from..PERIOD.min(from + length)];
        length -= span.len();
        from = 0;
        (!span.is_empty()).then_some(span)
    })
}

/// Octets `at..at + length` of stream `salt`.
pub(in crate::runtime::ring) fn pattern_at(salt: usize, at: u64, length: usize) -> Vec<u8> {
    spans(salt, at, length).flatten().copied().collect()
}

pub(in crate::runtime::ring) fn pattern_matches(salt: usize, at: u64, octets: &[u8]) -> bool {
    let mut rest = octets;
    spans(salt, at, octets.len()).all(|span| {
        let (head, tail) = rest.split_at(span.len());
        rest = tail;
        head == span
    })
}

pub(in crate::runtime::ring) struct Socket {
    pub(super) fd: RawFd,
    /// Tells this socket from a later one with the same number.
    inode: u64,
    /// Octets that the peer has sent, so far.
    pub(in crate::runtime::ring) supply: u64,
    /// Of these, written into buffers.
    pub(in crate::runtime::ring) delivered: u64,
    /// Of these, told to the driver.
    pub(in crate::runtime::ring) collected: u64,
    pub(in crate::runtime::ring) peer_fin: bool,
    /// The connection is gone; nothing moves any more.
    pub(in crate::runtime::ring) is_reset: bool,
    /// The error that the next operation is told, once.
    pub(super) error: Option<i32>,
    /// Errors that operations were told.
    pub(in crate::runtime::ring) told: Vec<i32>,
    /// Octets that the peer still takes.
    pub(in crate::runtime::ring) window: u64,
    /// Octets that the peer took and nobody has checked yet.
    pub(in crate::runtime::ring) taken: Vec<u8>,
    pub(in crate::runtime::ring) taken_total: u64,
    /// Where our FIN went out.
    pub(in crate::runtime::ring) fin_at: Option<u64>,
    pub(in crate::runtime::ring) reset_on_close: bool,
    pub(in crate::runtime::ring) closed: bool,
    pub(in crate::runtime::ring) connected: bool,
    /// Peers that wait to be accepted.
    pub(in crate::runtime::ring) backlog: u32,
}

impl Socket {
    pub(super) fn new() -> io::Result<(OwnedFd, Socket)> {
        let descriptor = OwnedFd::from(UnixDatagram::unbound()?);
        let fd = descriptor.as_raw_fd();
        let socket = Socket {
            fd,
            inode: inode(fd).ok_or_else(io::Error::last_os_error)?,
            supply: 0,
            delivered: 0,
            collected: 0,
            peer_fin: false,
            is_reset: false,
            error: None,
            told: Vec::new(),
            window: 0,
            taken: Vec::new(),
            taken_total: 0,
            fin_at: None,
            reset_on_close: false,
            closed: false,
            connected: false,
            backlog: 0,
        };
        Ok((descriptor, socket))
    }

    /// True if the descriptor is open and still ours.
    pub(super) fn is_open(&self) -> bool {
        !self.closed && inode(self.fd) == Some(self.inode)
    }

    /// The descriptor, to be closed. It is open and nobody else will close it.
    pub(super) fn take_descriptor(&mut self) -> OwnedFd {
        self.closed = true;
        // SAFETY: the driver made it a raw number to have it closed by an operation, which is what calls this.
        unsafe { OwnedFd::from_raw_fd(self.fd) }
    }

    /// The peer resets the connection.
    pub(in crate::runtime::ring) fn reset(&mut self, errno: i32) {
        if !self.is_reset {
            self.is_reset = true;
            self.error = Some(errno);
        }
    }

    pub(super) fn take_error(&mut self) -> Option<i32> {
        self.error.take()
    }

    pub(super) fn tell(&mut self, errno: i32) -> i32 {
        self.told.push(errno);
        -errno
    }
}

fn inode(fd: RawFd) -> Option<u64> {
    // SAFETY: fstat writes one stat, which is plain data, and takes any number for a descriptor.
    unsafe {
        let mut stat: libc::stat = std::mem::zeroed();
        (libc::fstat(fd, &raw mut stat) == 0).then_some(stat.st_ino)
    }
}
