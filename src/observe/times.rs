//! Where a request's time went.

use std::time::Duration;

/// What a request waits for after its head has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The router itself: the service is found, an endpoint is picked.
    Route,
    /// Its turn, where the service has as many requests in flight as it may.
    Queue,
    /// A connection to the endpoint.
    Connect,
    /// The head of the origin's answer, while the request's body goes up.
    Wait,
    /// The body of the answer, as the origin sends it and the client takes it.
    Body,
}

impl Stage {
    pub const ALL: [Stage; Stage::COUNT] =
        [Stage::Route, Stage::Queue, Stage::Connect, Stage::Wait, Stage::Body];
    pub const COUNT: usize = 5;

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Stage::Route => "route",
            Stage::Queue => "queue",
            Stage::Connect => "connect",
            Stage::Wait => "wait",
            Stage::Body => "body",
        }
    }
}

/// A request's times, each to the turn of the ring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// From its first octet to the end of its head.
    pub head: Duration,
    /// From then on, by stage and in the order of [`Stage`]; over all attempts.
    pub stages: [Duration; Stage::COUNT],
}

impl Times {
    /// So long in all, and so much of it waiting for the origin.
    #[cfg(test)]
    pub(super) fn split(whole: Duration, origin: Duration) -> Times {
        Times {
            head: Duration::ZERO,
            stages: [whole - origin, Duration::ZERO, Duration::ZERO, origin, Duration::ZERO],
        }
    }

    #[inline]
    #[must_use]
    pub fn of(&self, stage: Stage) -> Duration {
        self.stages[stage as usize]
    }

    /// From the end of the head to the last octet of the answer.
    #[inline]
    #[must_use]
    pub fn whole(&self) -> Duration {
        self.stages.iter().sum()
    }

    /// What was the origin's: to take a connection, and to answer.
    #[inline]
    #[must_use]
    pub fn origin(&self) -> Duration {
        self.of(Stage::Connect) + self.of(Stage::Wait)
    }
}
