//! How often ringway calls into its ring: few calls for each request mean that waits are shared.
use super::Running;
use crate::failure::Failure;

const ENTERS: &str = "ringway_ring_enters_total";
const REQUESTS: &str = "ringway_requests_total";

/// ringway's calls of io_uring_enter and its answers, since its start.
#[derive(Clone, Copy, Debug)]
pub struct Enters {
    enters: u64,
    requests: u64,
}

impl Enters {
    pub fn of(ringway: &Running) -> Result<Self, Failure> {
        Ok(Self { enters: ringway.counter(ENTERS)?, requests: ringway.counter(REQUESTS)? })
    }

    /// Calls for each request since `before`.
    pub fn per_request_since(self, before: Self) -> f64 {
        let requests = self.requests.saturating_sub(before.requests).max(1);
        self.enters.saturating_sub(before.enters) as f64 / requests as f64
    }
}
