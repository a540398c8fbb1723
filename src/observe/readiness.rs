//! Whether this router should be sent traffic, and if not, why.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Shared by whoever has to finish something before traffic may come, and the admin listener. Ready means that no
/// reason against it is left.
#[derive(Debug, Default)]
pub struct Readiness(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    reasons: BTreeMap<&'static str, String>,
    draining: bool,
}

impl Readiness {
    /// States a reason against being ready, in place of any other under that name. Names are part of the answer of
    /// `/readyz`.
    pub fn set(&self, name: &'static str, why: impl Into<String>) {
        self.state().reasons.insert(name, why.into());
    }

    /// Takes a reason back.
    pub fn clear(&self, name: &'static str) {
        self.state().reasons.remove(name);
    }

    /// The process goes away: never ready again.
    pub fn drain(&self) {
        self.state().draining = true;
    }

    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.state().draining
    }

    #[must_use]
    pub fn is_ready(&self) -> bool {
        let state = self.state();
        state.reasons.is_empty() && !state.draining
    }

    /// What stands against it, name and sentence, by name. Empty when ready.
    #[must_use]
    pub fn reasons(&self) -> Vec<(&'static str, String)> {
        let state = self.state();
        let draining =
            state.draining.then(|| ("draining", "the process finishes what is open and ends".to_owned()));
        let reasons = state.reasons.iter().map(|(&name, why)| (name, why.clone()));
        draining.into_iter().chain(reasons).collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No panic leaves it half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::Readiness;

    #[test]
    fn ready_when_every_reason_is_taken_back_and_never_after_a_drain() {
        let readiness = Readiness::default();
        assert!(readiness.is_ready());
        readiness.set("table", "loading");
        readiness.set("listeners", "not open");
        readiness.set("table", "verifying");
        assert!(!readiness.is_ready());
        let reasons = [("listeners", "not open".to_owned()), ("table", "verifying".to_owned())];
        assert_eq!(readiness.reasons(), reasons);
        readiness.clear("table");
        readiness.clear("listeners");
        assert!(readiness.is_ready());
        readiness.drain();
        assert!(!readiness.is_ready());
        assert!(readiness.is_draining());
        assert_eq!(readiness.reasons()[0].0, "draining");
    }
}
