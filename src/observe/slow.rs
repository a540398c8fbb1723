//! The last requests that were slow, and the last turns that were: what an operator asks for when something hangs.

use super::access::LogSource;
use super::process_log::{Level, event};
use crate::limits::{SLOW_KEPT, STALLS_KEPT};
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Takes what the cores noted out of their rings, so that these have room for more, and keeps the last of it. The admin
/// thread's; no core waits for it.
#[derive(Default)]
pub struct SlowNotes(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    sources: Vec<LogSource>,
    requests: VecDeque<Value>,
    stalls: VecDeque<Value>,
}

impl SlowNotes {
    #[must_use]
    pub fn new(sources: Vec<LogSource>) -> SlowNotes {
        SlowNotes(Mutex::new(Kept { sources, ..Kept::default() }))
    }

    /// Looks for news. A stall is also told to the process log.
    pub fn look(&self) {
        self.kept().look();
    }

    /// The newest first.
    pub(super) fn last(&self) -> (Vec<Value>, Vec<Value>) {
        let mut kept = self.kept();
        kept.look();
        let newest_first = |notes: &VecDeque<Value>| notes.iter().rev().cloned().collect();
        (newest_first(&kept.requests), newest_first(&kept.stalls))
    }

    /// The stalls that are kept, the newest first.
    #[must_use]
    pub fn stalls(&self) -> Vec<Value> {
        self.last().1
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // No panic leaves it half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn look(&mut self) {
        let lines: Vec<u8> = self.sources.iter_mut().flat_map(LogSource::take).collect();
        for line in lines.split(|&octet| octet == b'\n') {
            let Ok(note) = serde_json::from_slice::<Value>(line) else { continue };
            if note.get("ringway.stall").is_some() {
                let fields = ["ringway.core", "ringway.stall", "ringway.tasks"];
                event(Level::Warn, "a core stalled", &fields.map(|name| (name, note[name].clone())));
                keep(&mut self.stalls, note, STALLS_KEPT);
            } else {
                keep(&mut self.requests, note, SLOW_KEPT);
            }
        }
    }
}

fn keep(notes: &mut VecDeque<Value>, note: Value, most: usize) {
    if notes.len() == most {
        notes.pop_front();
    }
    notes.push_back(note);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a failed unwrap is a failed test
    use super::*;
    use crate::observe::CoreMetrics;
    use crate::observe::access::tests::{any_id, record};
    use crate::observe::access::{AccessRecord, Fields, ring};
    use crate::runtime::Stall;
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    #[test]
    fn the_last_are_kept_and_the_newest_comes_first() {
        let (mut sink, _log, source) = ring(Arc::new(CoreMetrics::default()));
        let notes = SlowNotes::new(vec![source]);
        let id = any_id();
        let mut write = |path: &str, slow| {
            sink.write(&AccessRecord { slow, ..record(&id, b"a.test", path.as_bytes()) }, Fields::NONE);
        };
        for n in 0..SLOW_KEPT + 10 {
            write(&format!("/{n}"), true);
            write("/fast", false);
            if n % 50 == 0 {
                notes.look();
            }
        }
        let (requests, stalls) = notes.last();
        assert_eq!((requests.len(), stalls.len()), (SLOW_KEPT, 0));
        assert_eq!(requests[0]["url.path"], format!("/{}", SLOW_KEPT + 9));
        assert_eq!(requests[SLOW_KEPT - 1]["url.path"], "/10");
        assert_eq!(requests[0]["ringway.stages"]["connect"], 400_000);
        let tasks = vec![("edge::serve", 3)];
        sink.stall(0, 1, &Stall { at: Instant::now(), took: Duration::from_millis(50), tasks });
        let stalls = notes.last().1;
        assert_eq!(stalls[0]["ringway.stall"], 50_000_000);
        assert_eq!(stalls[0]["ringway.tasks"]["edge::serve"], 3);
    }

    #[test]
    fn too_many_at_once_are_counted() {
        let metrics = Arc::new(CoreMetrics::default());
        let (mut sink, _log, source) = ring(Arc::clone(&metrics));
        let id = any_id();
        for _ in 0..10_000 {
            sink.write(&AccessRecord { slow: true, ..record(&id, b"a.test", b"/") }, Fields::ALL);
        }
        assert_eq!(metrics.slow_requests.get(), 10_000);
        let kept = 10_000 - metrics.slow_dropped.get();
        assert!((1..1_000).contains(&kept), "{kept} fit the ring");
        assert_eq!(SlowNotes::new(vec![source]).last().0.len() as u64, kept.min(SLOW_KEPT as u64));
    }
}
