//! What a core does when it has nothing to do (design S2): sleep, poll, or whichever pays.

use std::time::{Duration, Instant};

use super::ring::kernel::Wait;
use crate::limits;

/// The policy as configured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IdlePolicy {
    /// Sleep in the kernel at once: least CPU, tens of µs more latency.
    Park,
    /// Never sleep: least latency, a whole core.
    Spin,
    /// Poll on after the last completion while recent gaps were short enough to make it pay, then sleep.
    #[default]
    Adaptive,
}

const BUDGET: Duration = Duration::from_micros(limits::SPIN_BUDGET_US);
/// A gap slept through looks longer than it was, by the time that waking took.
const PAYS_WHEN_SLEPT: Duration = Duration::from_micros(2 * limits::SPIN_BUDGET_US);
const SCORE_MAX: i8 = 16;
const SCORE_SPINS: i8 = 8;
/// Polling is tried once in so many sleeps, to notice that traffic has come back.
const TRY_EVERY: u8 = 16;

/// Decides each wait of one core from the gaps it has seen. Pure: takes the time, returns the wait.
pub(crate) struct Idle {
    policy: IdlePolicy,
    /// When the core ran out of work, if it has.
    since: Option<Instant>,
    spun: bool,
    /// Whether polling paid lately, 0 to [`SCORE_MAX`].
    score: i8,
    slept: u8,
}

impl Idle {
    pub(crate) fn new(policy: IdlePolicy) -> Idle {
        Idle { policy, since: None, spun: false, score: SCORE_MAX, slept: 0 }
    }

    /// The next wait of a core that has nothing to do and must be back at `wake`.
    pub(crate) fn wait(&mut self, now: Instant, wake: Instant) -> Wait {
        self.since.get_or_insert(now);
        let left = wake.saturating_duration_since(now);
        let policy = self.policy;
        match policy {
            IdlePolicy::Park => Wait::Until(wake),
            IdlePolicy::Spin => Wait::Spin(left),
            IdlePolicy::Adaptive if self.spun || !self.spinning_pays() => Wait::Until(wake),
            IdlePolicy::Adaptive => {
                self.spun = true;
                Wait::Spin(BUDGET.min(left))
            }
        }
    }

    fn spinning_pays(&mut self) -> bool {
        self.slept = (self.slept + 1) % TRY_EVERY;
        self.score >= SCORE_SPINS || self.slept == 0
    }

    /// Work has come. Learns from the gap, if the core had been idle.
    pub(crate) fn woken(&mut self, now: Instant) {
        let Some(since) = self.since.take() else { return };
        let gap = now.saturating_duration_since(since);
        let spun = std::mem::take(&mut self.spun);
        self.score += match (spun, gap) {
            (true, gap) if gap <= BUDGET => 2,
            (true, _) => -2,
            (false, gap) if gap <= PAYS_WHEN_SLEPT => 1,
            (false, _) => -1,
        };
        self.score = self.score.clamp(0, SCORE_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plays gaps of `gap` for `rounds`; returns the share of time spent polling.
    fn play(policy: IdlePolicy, gap: Duration, rounds: u32) -> f64 {
        let (mut idle, mut now) = (Idle::new(policy), Instant::now());
        let (mut polled, start) = (Duration::ZERO, now);
        for _ in 0..rounds {
            let next = now + gap;
            while now < next {
                now = match idle.wait(now, now + Duration::from_millis(500)) {
                    Wait::Spin(budget) => {
                        let end = (now + budget).min(next);
                        polled += end - now;
                        end
                    }
                    _ => next,
                };
            }
            idle.woken(now);
        }
        polled.as_secs_f64() / (now - start).as_secs_f64()
    }

    #[test]
    fn adaptive_polls_through_short_gaps_only() {
        assert!(play(IdlePolicy::Adaptive, Duration::from_micros(20), 1000) > 0.99);
        assert!(play(IdlePolicy::Adaptive, Duration::from_millis(10), 1000) < 0.01);
        assert!(play(IdlePolicy::Adaptive, Duration::from_millis(500), 100) < 0.01);
    }

    #[test]
    fn adaptive_comes_back_when_traffic_does() {
        let mut idle = Idle::new(IdlePolicy::Adaptive);
        let mut now = Instant::now();
        let far = Duration::from_millis(500);
        let mut gap = |idle: &mut Idle, gap| {
            let wait = idle.wait(now, now + far);
            now += gap;
            idle.woken(now);
            wait
        };
        for _ in 0..50 {
            gap(&mut idle, Duration::from_millis(20));
        }
        assert!(matches!(gap(&mut idle, Duration::from_micros(90)), Wait::Until(_) | Wait::Spin(_)));
        let spins =
            (0..50).filter(|_| matches!(gap(&mut idle, Duration::from_micros(90)), Wait::Spin(_))).count();
        assert!(spins > 35, "{spins} of 50");
    }

    #[test]
    fn park_and_spin_do_as_told() {
        assert_eq!(play(IdlePolicy::Park, Duration::from_micros(20), 10), 0.0);
        assert_eq!(play(IdlePolicy::Spin, Duration::from_millis(20), 10), 1.0);
    }
}
