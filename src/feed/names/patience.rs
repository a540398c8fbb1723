//! How long a start or a reload waits for the first answers: for as long as it pays. Pure.

use std::collections::BTreeSet;
use std::time::Duration;

use ringway_state::id::HostName;

use crate::limits;

const QUIET: Duration = Duration::from_millis(limits::NAMES_QUIET_MS);

/// Of one who waits.
#[derive(Debug)]
pub(super) struct Patience {
    /// Names that are wanted for the first time, and neither answered nor failed yet.
    left: BTreeSet<HostName>,
    /// When it is over whatever comes.
    end: Duration,
    /// When any of the names was heard of last.
    heard: Duration,
}

impl Patience {
    pub(super) fn new(names: BTreeSet<HostName>, most: Duration, now: Duration) -> Patience {
        Patience { left: names, end: now + most, heard: now }
    }

    /// The name was answered, or has failed.
    pub(super) fn heard(&mut self, name: &HostName, now: Duration) {
        if self.left.remove(name) {
            self.heard = now;
        }
    }

    pub(super) fn left(&self) -> &BTreeSet<HostName> {
        &self.left
    }

    /// When it is over, unless something is heard before. Servers that are there answer in much less than this: what is left
    /// then are names that nobody answers, and those that wait behind them.
    pub(super) fn ends(&self) -> Duration {
        match self.left.is_empty() {
            true => self.heard,
            false => self.end.min(self.heard + QUIET),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn name(text: &str) -> HostName {
        HostName::parse(text).unwrap()
    }

    #[test]
    fn it_lasts_while_names_come_in_and_not_for_ever() {
        let names = ["a.test", "b.test", "c.test"].map(name);
        let mut patience = Patience::new(names.clone().into(), ms(3_000), ms(500));
        assert_eq!(patience.ends(), ms(500) + QUIET);
        patience.heard(&names[0], ms(1_200));
        assert_eq!(patience.ends(), ms(1_200) + QUIET);
        // Another's, or the same again, is none that it waits for.
        patience.heard(&name("d.test"), ms(1_300));
        patience.heard(&names[0], ms(1_300));
        assert_eq!(patience.ends(), ms(1_200) + QUIET);
        patience.heard(&names[1], ms(3_400));
        assert_eq!((patience.ends(), patience.left().len()), (ms(3_500), 1));
        patience.heard(&names[2], ms(3_450));
        assert_eq!(patience.ends(), ms(3_450));
    }

    #[test]
    fn without_a_new_name_there_is_none() {
        assert_eq!(Patience::new(BTreeSet::new(), ms(3_000), ms(7)).ends(), ms(7));
    }
}
