//! Waiting for conditions, never for time to pass.

use std::time::{Duration, Instant};

/// How long a condition may take that is expected at once: generous, for a machine that does other things too.
pub const PATIENCE: Duration = Duration::from_secs(20);

const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Waits until `condition` holds.
///
/// # Panics
/// It does not within [`PATIENCE`].
#[track_caller]
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    wait_for(what, PATIENCE, || condition().then_some(()));
}

/// Waits until `look` finds something.
///
/// # Panics
/// It does not within `patience`.
#[track_caller]
pub fn wait_for<T>(what: &str, patience: Duration, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + patience;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited {patience:?} in vain until {what}");
        std::thread::sleep(LOOK_EVERY);
    }
}

/// What a slow peer does between two octets. Part of the behaviour under test, never a way to wait for something.
pub fn pause(time: Duration) {
    std::thread::sleep(time);
}
