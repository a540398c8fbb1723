//! Changes for minutes under load, while answers are judged and the router's own figures are looked at.
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use serde::Deserialize;

use super::appender::Appender;
use crate::failure::Failure;
use crate::generator::Load;
use crate::histogram::Histogram;
use crate::limits::GENERATOR_GRACE_SECONDS;
use crate::owned::Owned;
use crate::peers::Running;
use crate::procfs::thread_ns;
use crate::scene::Scene;

const VISIBLE: &str = "ringway_feed_visible_duration_seconds";
const APPLY: &str = "ringway_feed_apply_duration_seconds";
/// Questions a second, beside the load.
const QUESTIONS: &str = "500";
const MENDING: &str =
    "build it with `cargo build --release -p ringway-loadgen` or name it with --loadgen PATH";
const SAMPLE_EVERY: Duration = Duration::from_secs(1);

/// What was seen.
pub(super) struct Steady {
    pub(super) seconds: f64,
    pub(super) changes: u64,
    pub(super) visible: Histogram,
    pub(super) apply: Histogram,
    /// Nanoseconds that the core took to take states of the table up, and the longest since the router's start.
    pub(super) switches_ns: u64,
    pub(super) longest_switch_ns: u64,
    /// Nanoseconds on a CPU.
    pub(super) feed_ns: u64,
    pub(super) housekeeper_ns: u64,
    /// Octets of files of the table.
    pub(super) written: u64,
    pub(super) most: Most,
    pub(super) judged: Judged,
}

/// The most that was seen of what must not grow.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Most {
    pub(super) overlay_keys: u64,
    pub(super) overlay_octets: u64,
    pub(super) levels: u64,
    pub(super) looks: u64,
}

/// What `ringway-loadgen verify --json` reports.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Judged {
    pub(super) right: u64,
    pub(super) wrong: u64,
    pub(super) failed: u64,
}

/// What adds up.
struct Sums {
    visible: Histogram,
    apply: Histogram,
    switches_ns: u64,
    written: u64,
    feed_ns: u64,
    housekeeper_ns: u64,
    appended: u64,
}

impl Sums {
    fn now(ringway: &Running, appender: &Appender) -> Result<Self, Failure> {
        Ok(Self {
            visible: Histogram::of(ringway, VISIBLE)?,
            apply: Histogram::of(ringway, APPLY)?,
            switches_ns: ringway.counter("ringway_table_switch_nanoseconds_total")?,
            written: ringway.counter("ringway_table_written_octets_total")?,
            feed_ns: thread_ns(ringway.pid(), "feed")?,
            housekeeper_ns: thread_ns(ringway.pid(), "housekeeper")?,
            appended: appender.appended(),
        })
    }
}

/// Loads the router for `seconds` while it changes. Fails if one request of a host that does not change fails, or one
/// answer of those that do is wrong.
pub(super) fn run(
    seconds: u64,
    scene: &Scene,
    ringway: &Running,
    appender: &Appender,
    load: Load,
) -> Result<Steady, Failure> {
    let report = scene.dir().join("verify.json");
    let (before, began) = (Sums::now(ringway, appender)?, Instant::now());
    appender.turn(true);
    let judge = judge(seconds, scene, ringway, appender)?;
    let over = AtomicBool::new(false);
    let (loaded, most) = thread::scope(|scope| {
        let looks = scope.spawn(|| look(ringway, &over));
        let loaded =
            scene.generator.run("ringway", ringway.address, load, scene.hosts_argument(), scene.dir());
        over.store(true, Ordering::Release);
        (loaded, looks.join())
    });
    loaded?;
    let elapsed = began.elapsed();
    let after = Sums::now(ringway, appender)?;
    appender.turn(false);
    judge.wait_success(Duration::from_secs(seconds + GENERATOR_GRACE_SECONDS))?;
    let text = std::fs::read_to_string(&report).map_err(Failure::file(&report))?;
    let between = |before: &Histogram, after: &Histogram| {
        let mut sum = Histogram::default();
        sum.add(before, after);
        sum
    };
    Ok(Steady {
        seconds: elapsed.as_secs_f64(),
        changes: after.appended - before.appended,
        visible: between(&before.visible, &after.visible),
        apply: between(&before.apply, &after.apply),
        switches_ns: after.switches_ns - before.switches_ns,
        longest_switch_ns: ringway.counter("ringway_table_switch_longest_nanoseconds")?,
        feed_ns: after.feed_ns - before.feed_ns,
        housekeeper_ns: after.housekeeper_ns - before.housekeeper_ns,
        written: after.written - before.written,
        most: most.map_err(|_| Failure::Looks)??,
        judged: serde_json::from_str(&text).map_err(Failure::Generator)?,
    })
}

fn judge(seconds: u64, scene: &Scene, ringway: &Running, appender: &Appender) -> Result<Owned, Failure> {
    let mut command = Command::new(&scene.generator.program);
    command.args(["verify", "--target", &ringway.address.to_string(), "--rate", QUESTIONS]);
    command.args(["--seconds", &seconds.to_string(), "--cpu", &scene.generator.core.to_string()]);
    command.arg("--known").arg(appender.known()).arg("--json").arg(scene.dir().join("verify.json"));
    Owned::spawn("verify", command, scene.generator.core, scene.dir(), MENDING)
}

/// Looks at what must not grow, until it is over.
fn look(ringway: &Running, over: &AtomicBool) -> Result<Most, Failure> {
    let mut most = Most::default();
    while !over.load(Ordering::Acquire) {
        most.overlay_keys = most.overlay_keys.max(ringway.counter("ringway_table_overlay_keys")?);
        most.overlay_octets = most.overlay_octets.max(ringway.counter("ringway_table_overlay_bytes")?);
        most.levels = most.levels.max(ringway.counter("ringway_table_levels")?);
        most.looks += 1;
        sleep(SAMPLE_EVERY);
    }
    Ok(most)
}
