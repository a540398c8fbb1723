//! The provided buffers of one core: who holds which, and the memory itself.
//!
//! ```text
//!            top_up                 completion              pop_front              give_back
//!   Free ──────────────▶ Kernel ──────────────▶ Queued ──────────────▶ Lent ──────────────▶ Free
//! ```
//!
//! Only [`IN_RING`](limits::RECV_BUFFERS_IN_RING) buffers are with the kernel at a time. It takes them first in,
//! first out, so a full ring would walk through all the memory and find none of it in the cache; the rest
//! waits on a stack, the warmest on top.

#![allow(clippy::cast_possible_truncation)] // limits.rs asserts that a buffer's octets fit 16 bits
#![allow(unsafe_code)] // the kernel writes where we read; ownership is tracked per buffer, below

use crate::limits;

const OCTETS: usize = limits::RECV_BUFFER_OCTETS;
const COUNT: u16 = limits::RECV_BUFFERS;
const NONE: u16 = u16::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holder {
    Free,
    Kernel,
    Queued,
    Lent,
}

#[derive(Clone, Copy)]
struct Meta {
    holder: Holder,
    next: u16,
    octets: u16,
}

/// Received octets of one connection, oldest first, as a list threaded through the buffers: nothing allocated. Its size
/// counts buffers, not octets: a peer that sends an octet at a time would else hold a core's buffers with 4 KiB.
#[derive(Clone, Copy)]
pub(crate) struct Queue {
    head: u16,
    tail: u16,
    buffers: u16,
}

impl Queue {
    pub(crate) const EMPTY: Queue = Queue { head: NONE, tail: NONE, buffers: 0 };

    /// Memory that the queue holds, whatever its buffers' fill.
    pub(crate) fn held_octets(&self) -> usize {
        usize::from(self.buffers) * OCTETS
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.head == NONE
    }
}

pub(crate) struct Buffers {
    memory: Box<[std::cell::UnsafeCell<[u8; OCTETS]>]>,
    meta: Vec<Meta>,
    /// Stack of buffers in state Free.
    free: Vec<u16>,
    with_kernel: u16,
}

impl Buffers {
    pub(crate) fn new() -> Buffers {
        let memory = Box::<[std::cell::UnsafeCell<[u8; OCTETS]>]>::new_zeroed_slice(COUNT as usize);
        // SAFETY: all-zero octets are a valid [u8; N]. They come zeroed from the kernel, so a buffer that is
        // never used never costs a page.
        let memory = unsafe { memory.assume_init() };
        Buffers {
            memory,
            meta: vec![Meta { holder: Holder::Free, next: NONE, octets: 0 }; COUNT as usize],
            free: (0..COUNT).rev().collect(),
            with_kernel: 0,
        }
    }

    /// True when so many buffers are out that connections must stop holding them (see `Driver::arm`).
    pub(crate) fn pressed(&self) -> bool {
        self.free.len() + usize::from(self.with_kernel) < limits::RECV_BUFFERS_PRESSED
    }

    /// True if the kernel could be given a buffer, or still has some.
    pub(crate) fn available(&self) -> bool {
        !self.free.is_empty() || self.with_kernel > 0
    }

    /// Hands buffers to the kernel until it holds its share.
    pub(crate) fn top_up(&mut self, mut provide: impl FnMut(u16, *mut u8, u32)) {
        while self.with_kernel < limits::RECV_BUFFERS_IN_RING {
            let Some(buffer) = self.free.pop() else { return };
            self.move_to(buffer, Holder::Free, Holder::Kernel);
            self.with_kernel += 1;
            provide(buffer, self.memory[usize::from(buffer)].get().cast(), OCTETS as u32);
        }
    }

    /// The kernel handed `buffer` back with `octets` octets in it.
    pub(crate) fn taken(&mut self, buffer: u16, octets: u32) {
        self.move_to(buffer, Holder::Kernel, Holder::Lent);
        self.with_kernel -= 1;
        assert!(octets as usize <= OCTETS, "the kernel filled more than a buffer holds");
        self.meta[usize::from(buffer)].octets = octets as u16;
    }

    /// Appends a lent buffer to a connection's queue.
    pub(crate) fn push_back(&mut self, queue: &mut Queue, buffer: u16) {
        self.move_to(buffer, Holder::Lent, Holder::Queued);
        self.meta[usize::from(buffer)].next = NONE;
        match queue.tail {
            NONE => queue.head = buffer,
            tail => self.meta[usize::from(tail)].next = buffer,
        }
        queue.tail = buffer;
        queue.buffers += 1;
    }

    /// The oldest buffer of a queue and the octets in it.
    pub(crate) fn pop_front(&mut self, queue: &mut Queue) -> Option<(u16, u16)> {
        if queue.is_empty() {
            return None;
        }
        let buffer = queue.head;
        self.move_to(buffer, Holder::Queued, Holder::Lent);
        let Meta { next, octets, .. } = self.meta[usize::from(buffer)];
        queue.head = next;
        if next == NONE {
            queue.tail = NONE;
        }
        queue.buffers -= 1;
        Some((buffer, octets))
    }

    /// A lent buffer is no longer needed.
    pub(crate) fn give_back(&mut self, buffer: u16) {
        self.move_to(buffer, Holder::Lent, Holder::Free);
        self.free.push(buffer);
    }

    pub(crate) fn drain(&mut self, queue: &mut Queue) {
        while let Some((buffer, _)) = self.pop_front(queue) {
            self.give_back(buffer);
        }
    }

    /// The octets that the kernel put into a lent buffer.
    pub(crate) fn octets(&self, buffer: u16) -> &[u8] {
        let Meta { holder, octets, .. } = self.meta[usize::from(buffer)];
        assert_eq!(holder, Holder::Lent, "only the one a buffer is lent to may read it");
        // SAFETY: the buffer is Lent, so the kernel does not write to it until it is provided again, which
        // takes `give_back` by the one holder; the first `octets` octets were written by the kernel.
        unsafe {
            std::slice::from_raw_parts(self.memory[usize::from(buffer)].get().cast(), usize::from(octets))
        }
    }

    /// Buffers in anyone's hands but the stack's and the kernel's.
    pub(crate) fn out(&self) -> usize {
        usize::from(COUNT) - self.free.len() - usize::from(self.with_kernel)
    }

    /// Every buffer has one holder and every move is legal: a violation is a bug of ours (or the kernel's) that
    /// would mix two tenants' octets, so it stops the process even in release builds.
    fn move_to(&mut self, buffer: u16, from: Holder, to: Holder) {
        let meta = &mut self.meta[usize::from(buffer)];
        assert_eq!(meta.holder, from, "buffer {buffer} would go from {from:?} to {to:?}");
        meta.holder = to;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Buffers {
        /// Takes a free buffer, as if it had been received and lent.
        pub(in crate::runtime::ring) fn hog(&mut self) -> Option<u16> {
            let buffer = self.free.pop()?;
            self.move_to(buffer, Holder::Free, Holder::Lent);
            Some(buffer)
        }
    }

    #[test]
    fn a_buffer_goes_round() {
        let mut buffers = Buffers::new();
        let mut given = Vec::new();
        buffers.top_up(|buffer, at, _| given.push((buffer, at)));
        assert_eq!(given.len(), usize::from(limits::RECV_BUFFERS_IN_RING));
        let (mut queue, (first, at)) = (Queue::EMPTY, given[0]);
        // SAFETY: stands for the kernel, which owns the buffer at this point.
        unsafe { at.copy_from(b"abc".as_ptr(), 3) };
        buffers.taken(first, 3);
        buffers.push_back(&mut queue, first);
        assert_eq!((queue.held_octets(), buffers.out()), (OCTETS, 1));
        assert_eq!(buffers.pop_front(&mut queue), Some((first, 3)));
        assert_eq!(buffers.octets(first), b"abc");
        buffers.give_back(first);
        assert_eq!((queue.held_octets(), queue.is_empty(), buffers.out()), (0, true, 0));
    }

    #[test]
    #[should_panic(expected = "would go from")]
    fn a_buffer_cannot_be_given_back_twice() {
        let mut buffers = Buffers::new();
        let mut first = 0;
        buffers.top_up(|buffer, _, _| first = buffer);
        buffers.taken(first, 1);
        buffers.give_back(first);
        buffers.give_back(first);
    }
}
