//! What is known of an endpoint from how it served before: one that fails is left alone for a while, longer each time, and
//! comes back by one request at a time. Times count from any one moment.

use std::time::Duration;

/// How long an endpoint that fails is left alone.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    /// After the first failure; each further one doubles it.
    pub first: Duration,
    pub most: Duration,
}

/// An endpoint's standing. It is asked again by a connection without a request first, so that nobody waits for one that
/// swallows what it is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Standing {
    /// As far as is known, it serves.
    #[default]
    Good,
    /// It has failed so often in a row, and is left alone until then.
    Away { failures: u8, until: Duration },
    /// A connection to it is on its way.
    Probed { failures: u8 },
    /// It takes connections, and gets one request at a time until it has answered one.
    Trial { failures: u8 },
}

/// Whether a request may go to an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outlook {
    Good,
    /// Not now; somebody should probe it.
    Due,
    /// Only if there is no other.
    Bad,
}

impl Standing {
    /// What to do with a request now, of which the endpoint has `in_flight` others.
    pub fn outlook(self, now: Duration, in_flight: u32) -> Outlook {
        match self {
            Standing::Good => Outlook::Good,
            Standing::Away { until, .. } if until <= now => Outlook::Due,
            Standing::Trial { .. } if in_flight == 0 => Outlook::Good,
            Standing::Away { .. } | Standing::Probed { .. } | Standing::Trial { .. } => Outlook::Bad,
        }
    }

    /// It refused, broke off or swallowed a connection. `jitter` is uniform from 0 to 1, so that not all who were
    /// disappointed come back at once.
    #[must_use]
    pub fn failed(self, now: Duration, backoff: Backoff, jitter: f64) -> Standing {
        let failures = match self {
            Standing::Good => 1,
            // What was under way when it was found out tells nothing new.
            Standing::Away { until, .. } if now < until => return self,
            Standing::Away { failures, .. }
            | Standing::Probed { failures }
            | Standing::Trial { failures } => failures.saturating_add(1),
        };
        let doubled =
            1u32.checked_shl(u32::from(failures - 1)).and_then(|times| backoff.first.checked_mul(times));
        let most = doubled.unwrap_or(backoff.most).min(backoff.most);
        Standing::Away { failures, until: now + most.mul_f64(0.5 + jitter.clamp(0.0, 1.0) / 2.0) }
    }

    /// It has answered a request.
    #[must_use]
    pub fn answered(self) -> Standing {
        Standing::Good
    }

    /// Somebody probes it, as is [`Due`](Outlook::Due).
    #[must_use]
    pub fn probed(self) -> Standing {
        match self {
            Standing::Away { failures, .. } => Standing::Probed { failures },
            other => other,
        }
    }

    /// The probe has come about.
    #[must_use]
    pub fn connected(self) -> Standing {
        match self {
            Standing::Probed { failures } => Standing::Trial { failures },
            other => other,
        }
    }

    /// How often it has failed in a row, up to now.
    pub fn failures(self) -> u8 {
        match self {
            Standing::Good => 0,
            Standing::Away { failures, .. }
            | Standing::Probed { failures }
            | Standing::Trial { failures } => failures,
        }
    }

    /// How bad it is beside others that may not be asked either: less is better.
    pub fn badness(self, now: Duration) -> Duration {
        match self {
            Standing::Good | Standing::Probed { .. } | Standing::Trial { .. } => Duration::ZERO,
            Standing::Away { until, .. } => until.saturating_sub(now),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BACKOFF: Backoff = Backoff { first: ms(100), most: ms(10_000) };

    const fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn it_is_left_alone_for_longer_each_time() {
        let (mut now, mut standing) = (ms(0), Standing::default());
        for expected in [100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000] {
            standing = standing.failed(now, BACKOFF, 1.0);
            assert_eq!(standing.outlook(now + ms(expected - 1), 0), Outlook::Bad);
            now += ms(expected);
            assert_eq!(standing.outlook(now, 0), Outlook::Due);
            standing = standing.probed();
        }
        assert_eq!(standing.failed(now, BACKOFF, 0.0).badness(now), ms(5_000));
        for _ in 0..1_000 {
            standing = standing.failed(now, BACKOFF, 1.0);
            now += ms(10_000);
        }
        assert!(standing.badness(now) <= BACKOFF.most);
    }

    #[test]
    fn it_comes_back_by_one_request_at_a_time() {
        let now = ms(7);
        let away = Standing::Good.failed(now, BACKOFF, 1.0);
        assert_eq!(away.failed(now + ms(50), BACKOFF, 1.0), away, "failures that were under way count once");
        let probed = away.probed();
        assert_eq!(probed.outlook(now + ms(500), 0), Outlook::Bad, "one probe at a time");
        let trial = probed.connected();
        assert_eq!((trial.outlook(now, 0), trial.outlook(now, 1)), (Outlook::Good, Outlook::Bad));
        assert_eq!(trial.answered(), Standing::Good);
        let longer = trial.failed(now, BACKOFF, 1.0);
        assert_eq!(longer, Standing::Away { failures: 2, until: now + ms(200) });
    }

    proptest! {
        /// Whatever happens: it is never left alone for longer than the bound, never for ever, and an answer makes it good.
        #[test]
        fn it_always_comes_back(events in prop::collection::vec((0..4u8, 0..20_000u64, 0.0..1.0f64), 0..50)) {
            let (mut now, mut standing) = (ms(0), Standing::default());
            for (event, later, jitter) in events {
                now += ms(later);
                standing = match event {
                    0 => standing.failed(now, BACKOFF, jitter),
                    1 => standing.answered(),
                    2 if standing.outlook(now, 0) == Outlook::Due => standing.probed(),
                    _ => standing.connected(),
                };
                prop_assert!(standing.badness(now) <= BACKOFF.most);
                prop_assert!(event != 1 || standing == Standing::Good);
                if event == 0 {
                    prop_assert_eq!(standing.outlook(now, 0), Outlook::Bad);
                }
                if !matches!(standing, Standing::Probed { .. }) {
                    prop_assert_ne!(standing.outlook(now + BACKOFF.most, 0), Outlook::Bad);
                }
            }
        }
    }
}
