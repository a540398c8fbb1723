//! What the guards' judgement has come to and is not on record yet. Pure: [`Recorder`](super::store::Recorder) writes it.

use std::collections::VecDeque;

use super::store::Fact;
use crate::limits;

/// In the order in which it came.
#[derive(Default)]
pub(super) struct Notes {
    queue: VecDeque<Fact>,
    /// So many were taken down, and of them so many, the first, are on record.
    taken: u64,
    recorded: u64,
    /// Somebody waits for one of them.
    is_urgent: bool,
}

impl Notes {
    /// Takes down what somebody waits for; it is on record when [`recorded`](Self::recorded) has come so far.
    pub(super) fn ahead(&mut self, fact: Fact) -> u64 {
        self.is_urgent = true;
        self.queue.push_back(fact);
        self.taken += 1;
        self.taken
    }

    /// Takes down what nobody waits for, if there is room.
    pub(super) fn behind(&mut self, fact: Fact) {
        if self.queue.len() < limits::GUARD_NOTES {
            self.queue.push_back(fact);
            self.taken += 1;
        }
    }

    /// Everything that was taken down so far.
    pub(super) fn taken(&self) -> u64 {
        self.taken
    }

    pub(super) fn recorded(&self) -> u64 {
        self.recorded
    }

    /// What is to be written next, and whether somebody waits for it.
    pub(super) fn next(&mut self) -> (Vec<Fact>, bool) {
        (self.queue.drain(..).collect(), std::mem::take(&mut self.is_urgent))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    pub(super) fn is_urgent(&self) -> bool {
        self.is_urgent
    }

    /// So many that were taken to be written are on record.
    pub(super) fn written(&mut self, count: usize) {
        self.recorded += count as u64;
    }

    /// They are not, and come first again.
    pub(super) fn again(&mut self, facts: Vec<Fact>, is_urgent: bool) {
        facts.into_iter().rev().for_each(|fact| self.queue.push_front(fact));
        self.is_urgent |= is_urgent;
    }
}
