//! What lately happened, in bounded memory.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use ringway_state::record::Key;

use super::Effect;
use crate::limits;

const MINUTE: Duration = Duration::from_secs(60);
const WINDOW: Duration = Duration::from_millis(limits::GUARD_WINDOW_MS);

/// Sets that lost their last healthy endpoint, second by second.
pub(super) struct Emptied {
    seconds: VecDeque<(Instant, u64)>,
    /// Sets that have one.
    sets: u64,
}

impl Emptied {
    pub(super) fn new(sets: u64) -> Emptied {
        Emptied { seconds: VecDeque::new(), sets }
    }

    pub(super) fn has_room(&self, now: Instant) -> bool {
        let lately = self.seconds.iter().filter(|(at, _)| now.saturating_duration_since(*at) < MINUTE);
        lately.map(|(_, count)| count).sum::<u64>() < self.share()
    }

    /// So many may be emptied in a minute.
    pub(super) fn share(&self) -> u64 {
        (self.sets / limits::GUARD_EMPTIED_PART).max(limits::GUARD_EMPTIED_LEAST)
    }

    /// A set has lost its last healthy endpoint or got its first, whenever that was.
    pub(super) fn moved(&mut self, effect: Effect) {
        match effect {
            Effect { before: 0, after: 1.. } => self.sets += 1,
            Effect { before: 1.., after: 0 } => self.sets = self.sets.saturating_sub(1),
            _ => {}
        }
    }

    pub(super) fn applied(&mut self, effect: Effect, now: Instant) {
        self.moved(effect);
        let Effect { before: 1.., after: 0 } = effect else { return };
        match self.seconds.back_mut() {
            Some((at, count)) if now.saturating_duration_since(*at) < Duration::from_secs(1) => *count += 1,
            _ => self.seconds.push_back((now, 1)),
        }
        while self.seconds.front().is_some_and(|(at, _)| now.saturating_duration_since(*at) >= MINUTE) {
            self.seconds.pop_front();
        }
    }
}

/// All healthy endpoints, and the most that there lately were: each as more than when they were counted.
#[derive(Default)]
pub(super) struct Fleet {
    /// As they were counted, before any came or went; none as long as nobody has.
    counted: Option<u64>,
    /// What came and went since.
    moved: i64,
    /// The most in each minute of the window, the oldest first.
    most: VecDeque<(Instant, i64)>,
}

impl Fleet {
    /// So many there were before the first of what was applied.
    pub(super) fn counted(&mut self, healthy: u64) {
        self.counted = Some(healthy);
    }

    /// From now on nothing is compared with what was.
    pub(super) fn begin_anew(&mut self, now: Instant) {
        self.most.clear();
        self.note(now);
    }

    /// As long as nobody has counted, the fleet is taken for the smallest that is guarded at all: what takes more waits for
    /// the count.
    pub(super) fn would_fall(&self, effect: Effect, now: Instant) -> bool {
        let lately = self.most.iter().filter(|(at, _)| now.saturating_duration_since(*at) < WINDOW + MINUTE);
        let most = lately.map(|(_, most)| *most).max().unwrap_or(self.moved).max(self.moved);
        let lost = most.abs_diff(self.moved) + effect.before - effect.after;
        let most = match self.counted {
            Some(counted) => counted.saturating_add_signed(most),
            None => limits::GUARD_FLEET_LEAST,
        };
        most >= limits::GUARD_FLEET_LEAST && lost * 2 > most
    }

    pub(super) fn applied(&mut self, effect: Effect, now: Instant) {
        self.moved = self.moved.saturating_add_unsigned(effect.after).saturating_sub_unsigned(effect.before);
        self.note(now);
    }

    /// What was lost by it is meant.
    pub(super) fn forgive(&mut self, effect: Effect) {
        for (_, most) in &mut self.most {
            *most = most.saturating_sub_unsigned(effect.before.saturating_sub(effect.after)).max(self.moved);
        }
    }

    fn note(&mut self, now: Instant) {
        match self.most.back_mut() {
            Some((at, most)) if now.saturating_duration_since(*at) < MINUTE => {
                *most = (*most).max(self.moved)
            }
            _ => self.most.push_back((now, self.moved)),
        }
        while self.most.front().is_some_and(|(at, _)| now.saturating_duration_since(*at) >= WINDOW + MINUTE) {
            self.most.pop_front();
        }
    }
}

/// Large sets that lately fell, and from where.
#[derive(Default)]
pub(super) struct Services(HashMap<Key, (Instant, u64)>);

impl Services {
    pub(super) fn would_fall(&self, key: &Key, effect: Effect, now: Instant) -> bool {
        let lately = self.0.get(key).filter(|(at, _)| now.saturating_duration_since(*at) < WINDOW);
        let most = lately.map_or(effect.before, |(_, most)| (*most).max(effect.before));
        most >= limits::GUARD_SERVICE_LEAST && effect.after * 2 < most
    }

    pub(super) fn applied(&mut self, key: &Key, effect: Effect, now: Instant) {
        if effect.after >= effect.before
            || effect.before < limits::GUARD_SERVICE_LEAST && !self.0.contains_key(key)
        {
            return;
        }
        if self.0.len() >= limits::GUARD_SERVICES {
            self.0.retain(|_, (at, _)| now.saturating_duration_since(*at) < WINDOW);
        }
        if self.0.len() < limits::GUARD_SERVICES || self.0.contains_key(key) {
            let fall = self.0.entry(key.clone()).or_insert((now, effect.before));
            if now.saturating_duration_since(fall.0) >= WINDOW {
                *fall = (now, effect.before);
            }
        }
    }

    pub(super) fn forgive(&mut self, key: &Key) {
        self.0.remove(key);
    }

    /// What was lost is meant.
    pub(super) fn forget(&mut self) {
        self.0.clear();
    }
}
