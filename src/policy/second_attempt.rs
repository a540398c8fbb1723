//! Whether a request whose attempt has failed may be tried once more, and where (design S6; ).

/// Attempts of one request, the first included.
pub const ATTEMPTS_MAX: u8 = 2;

/// What a service lets be tried again: `retry.on`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryOn {
    pub connect_failure: bool,
    pub closed: bool,
    pub http_502: bool,
    pub http_503: bool,
    pub timeout: bool,
}

impl RetryOn {
    pub const NOTHING: RetryOn =
        RetryOn { connect_failure: false, closed: false, http_502: false, http_503: false, timeout: false };
}

impl Default for RetryOn {
    /// What is known not to have been served; never a timeout, after which the origin may still be at it.
    fn default() -> RetryOn {
        RetryOn { connect_failure: true, closed: true, http_503: true, ..RetryOn::NOTHING }
    }
}

/// An attempt that has come to nothing, or to an answer that might be better elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct Attempt {
    /// 1 for the first.
    pub number: u8,
    pub end: End,
    /// Doing it twice is as good as once: its method is idempotent (RFC 9110, 9.2.2), or it has an Idempotency-Key.
    pub repeatable: bool,
    /// There is no content, none of it was read yet, or all of it is kept.
    pub whole: bool,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// No connection came about, so nothing was sent.
    NotConnected,
    /// The connection ended before the first octet of a response. One that was `reused` may have been closing before the
    /// request left, which nobody here can tell (RFC 9112, 9.3.1).
    Closed { reused: bool },
    /// No response in time.
    TimedOut,
    /// A response with this status has come; nothing of it was passed on.
    Answered(u16),
    /// Anything else: it is told to the client as it is.
    Other,
}

/// What may be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    No,
    /// Another attempt, at another endpoint only.
    Elsewhere,
    /// Another attempt, at another endpoint where there is one.
    Anywhere,
}

/// Judges an attempt.
pub fn second_attempt(attempt: &Attempt, on: RetryOn) -> Again {
    if attempt.number >= ATTEMPTS_MAX || !attempt.whole {
        return Again::No;
    }
    let (wanted, again) = match attempt.end {
        // The request is still here, whatever its method.
        End::NotConnected => return if on.connect_failure { Again::Anywhere } else { Again::No },
        End::Closed { reused: true } => (on.closed, Again::Anywhere),
        End::Closed { reused: false } => (on.closed, Again::Elsewhere),
        End::TimedOut => (on.timeout, Again::Elsewhere),
        End::Answered(502) => (on.http_502, Again::Elsewhere),
        End::Answered(503) => (on.http_503, Again::Elsewhere),
        End::Answered(_) | End::Other => (false, Again::No),
    };
    if wanted && attempt.repeatable { again } else { Again::No }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ENDS: [End; 9] = [
        End::NotConnected,
        End::Closed { reused: true },
        End::Closed { reused: false },
        End::TimedOut,
        End::Answered(502),
        End::Answered(503),
        End::Answered(504),
        End::Answered(200),
        End::Other,
    ];

    /// What S6 says of a request that may be repeated, and of one that may not.
    #[test]
    fn verdicts() {
        use Again::{Anywhere, Elsewhere, No};
        let usual = RetryOn::default();
        let all = RetryOn { http_502: true, timeout: true, ..usual };
        let table = [
            (usual, true, [Anywhere, Anywhere, Elsewhere, No, No, Elsewhere, No, No, No]),
            (usual, false, [Anywhere, No, No, No, No, No, No, No, No]),
            (all, true, [Anywhere, Anywhere, Elsewhere, Elsewhere, Elsewhere, Elsewhere, No, No, No]),
            (all, false, [Anywhere, No, No, No, No, No, No, No, No]),
            (RetryOn::NOTHING, true, [No; 9]),
            (RetryOn::NOTHING, false, [No; 9]),
        ];
        for (on, repeatable, verdicts) in table {
            for (end, verdict) in ENDS.into_iter().zip(verdicts) {
                let attempt = Attempt { number: 1, end, repeatable, whole: true };
                assert_eq!(second_attempt(&attempt, on), verdict, "{attempt:?} {on:?}");
            }
        }
    }

    fn retry_on() -> impl Strategy<Value = RetryOn> {
        any::<[bool; 5]>().prop_map(|[connect_failure, closed, http_502, http_503, timeout]| RetryOn {
            connect_failure,
            closed,
            http_502,
            http_503,
            timeout,
        })
    }

    proptest! {
        /// I-10: whatever is asked for, nothing is tried that could do harm twice.
        #[test]
        fn no_second_attempt_does_harm(
            number in 1u8..5,
            end in prop::sample::select(&ENDS[..]),
            repeatable: bool,
            whole: bool,
            on in retry_on(),
        ) {
            let verdict = second_attempt(&Attempt { number, end, repeatable, whole }, on);
            if verdict != Again::No {
                prop_assert_eq!(number, 1, "more than two attempts");
                prop_assert!(whole, "a body that is not whole");
                prop_assert!(repeatable || end == End::NotConnected, "harm done twice");
            }
            // To the same endpoint only where it cannot have acted on it, or was about to close.
            let may_be_the_same = matches!(end, End::NotConnected | End::Closed { reused: true });
            prop_assert!(verdict != Again::Anywhere || may_be_the_same);
        }
    }
}
