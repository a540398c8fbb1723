//! How long a start or a reload waits for the first answers: for as long as it pays. Pure.

use std::time::Duration;

use crate::limits;

const QUIET: Duration = Duration::from_millis(limits::NAMES_QUIET_MS);

/// Of one who waits.
#[derive(Debug)]
pub(super) struct Patience {
    begin: Duration,
    end: Duration,
    /// When anything was heard last of a name that was not asked for before.
    heard: Duration,
}

impl Patience {
    pub(super) fn new(most: Duration, now: Duration) -> Patience {
        Patience { begin: now, end: now + most, heard: now }
    }

    /// Whether there was any to begin with.
    pub(super) fn is_any(&self) -> bool {
        self.begin < self.end
    }

    /// A name that was not asked for before was answered, or has failed.
    pub(super) fn heard(&mut self, now: Duration) {
        self.heard = now;
    }

    /// When it is over, unless something is heard before. Servers that are there answer in much less than this: what is left
    /// then are names that nobody answers, and those that wait behind them.
    pub(super) fn ends(&self) -> Duration {
        self.end.min(self.heard + QUIET)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn it_lasts_while_names_come_in_and_not_for_ever() {
        let mut patience = Patience::new(ms(3_000), ms(500));
        assert_eq!(patience.ends(), ms(500) + QUIET);
        patience.heard(ms(1_200));
        assert_eq!(patience.ends(), ms(1_200) + QUIET);
        patience.heard(ms(3_400));
        assert_eq!(patience.ends(), ms(3_500));
        assert!(patience.is_any());
        let none = Patience::new(Duration::ZERO, ms(7));
        assert_eq!((none.ends(), none.is_any()), (ms(7), false));
    }
}
