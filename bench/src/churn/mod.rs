//! What changes cost those who ask: the latency of hosts that do not change, in windows that take turns, with
//! changes and without; then changes for minutes while `ringway-loadgen verify` judges what is answered; then a burst.
//!
//! The router serves the standard data set's snapshot and follows a file, all its threads on the proxies' CPU.
mod appender;
mod figures;
mod steady;

use std::time::{Duration, Instant};

use crate::data_set::DataSet;
use crate::failure::Failure;
use crate::generator::Load;
use crate::half_load;
use crate::interrupt;
use crate::peers::{Idle, Peer, Programs, Running};
use crate::procfs::{CpuTime, thread_ns};
use crate::progress::Progress;
use crate::report::Figure;
use crate::rounds::{Plan, Turns, measure, take_turns};
use crate::scene::Scene;

use appender::Appender;

/// Hosts that are asked for: more than fit into a processor's caches.
const ASKED: usize = 100_000;
/// The router is up to date within.
const CATCH_UP: Duration = Duration::from_secs(60);
/// Of so many windows for latencies, one for CPU time, which is far steadier.
const CPU_ROUNDS_SHARE: usize = 4;
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// What to measure.
pub struct Options {
    pub programs: Programs,
    pub plan: Plan,
    /// Length of a window.
    pub seconds: u64,
    /// Changes a second.
    pub rate: u64,
    /// Length of the long part.
    pub steady: u64,
    /// Changes of the burst.
    pub burst: u64,
}

/// What was seen in all.
struct Seen {
    /// Without changes and with, under load, with the idle policy that sleeps: its CPU time is work. Of the core alone.
    core: Windows,
    /// With the default policy, for latencies.
    latency: Windows,
    requests_per_second: u64,
    steady: steady::Steady,
    burst: Duration,
}

/// Windows without changes and with, and how many changes there were in all.
struct Windows {
    turns: Turns,
    changes: u64,
}

/// Runs it in `scene`, which has a data set.
pub fn run(options: &Options, scene: &mut Scene) -> Result<Vec<Figure>, Failure> {
    let data = scene.data_set.as_ref().map(DataSet::names).ok_or(Failure::NoDataSet)?.clone();
    scene.ask_for(&unchanging(&data, options)?)?;
    let changes = scene.write("changes.jsonl", "")?;
    scene.changes = Some(changes.clone());
    let cpu_plan = Plan::of((options.plan.rounds / CPU_ROUNDS_SHARE).max(1));
    let progress = Progress::over(2 * (options.plan.rounds + cpu_plan.rounds) as u64 + 2);
    let rate = half_load::rate(&options.programs, scene, options.seconds, &progress)?;
    let appender = Appender::start(&data, options.rate, &changes, scene.dir())?;
    let start = |idle| {
        progress.say("starting ringway".to_owned());
        Running::start(Peer::Ringway, &options.programs, idle, scene)
    };
    let load = |seconds| half_load::load(rate, seconds);
    let ringway = start(Idle::Park)?;
    let stage = Stage { scene, ringway: &ringway, appender: &appender, progress: &progress };
    let core = stage.windows("CPU time", cpu_plan, load(options.seconds), || core_time(&ringway))?;
    drop(ringway);
    let ringway = start(Idle::Adaptive)?;
    let stage = Stage { scene, ringway: &ringway, appender: &appender, progress: &progress };
    let latency = stage.windows("latency", options.plan, load(options.seconds), || ringway.cpu_time())?;
    progress.say(format!("changes for {} s", options.steady));
    let steady = steady::run(options.steady, scene, &ringway, &appender, load(options.steady))?;
    progress.step();
    progress.say(format!("{} changes at once", options.burst));
    let burst = stage.burst(options.burst)?;
    progress.step();
    appender.end()?;
    Ok(figures::of(&Seen { core, latency, requests_per_second: rate, steady, burst }, options))
}

/// Of the router's one core.
fn core_time(ringway: &Running) -> Result<CpuTime, Failure> {
    Ok(CpuTime { on_cpu_ns: thread_ns(ringway.pid(), "core-0")?, ..CpuTime::default() })
}

/// Hosts that no change of the run takes from their service.
fn unchanging(data: &ringway_loadgen::dataset::Dataset, options: &Options) -> Result<Vec<String>, Failure> {
    // Rounds are repeated, windows begin and end with what takes no longer than they do, and a quarter more is for CPU time.
    let windows = 3 * options.plan.rounds as u64;
    let most = options.rate * (windows * 2 * (options.seconds + half_load::WARM_UP) + 2 * options.steady)
        + options.burst;
    let touched = appender::touched(data, most);
    // Every some-th, so that they are spread over the whole file.
    let step = (data.hosts() / ASKED as u64).max(1);
    let hosts: Vec<String> = (0..data.hosts())
        .step_by(usize::try_from(step).unwrap_or(1))
        .filter(|rank| !touched.contains(rank))
        .map(|rank| data.host(rank))
        .collect();
    if hosts.is_empty() { Err(Failure::AllChange { hosts: data.hosts(), changes: most }) } else { Ok(hosts) }
}

struct Stage<'a> {
    scene: &'a Scene,
    ringway: &'a Running,
    appender: &'a Appender,
    progress: &'a Progress,
}

impl Stage<'_> {
    fn windows(
        &self,
        what: &str,
        plan: Plan,
        load: Load,
        cpu: impl Fn() -> Result<CpuTime, Failure>,
    ) -> Result<Windows, Failure> {
        let Self { scene, ringway, appender, progress } = self;
        let (mut changes, address) = (0, ringway.address);
        let turns = take_turns(what, &["nothing changes", "changes"], plan, progress, |index| {
            appender.turn(index == 1);
            let before = appender.appended();
            // Fails if one request does.
            let load = || scene.generator.run("ringway", address, load, scene.hosts_argument(), scene.dir());
            let turn = measure(&cpu, load)?;
            changes += appender.appended() - before;
            appender.turn(false);
            Ok(turn)
        })?;
        Ok(Windows { turns, changes })
    }

    /// How long it takes until every core serves what was appended at once.
    fn burst(&self, changes: u64) -> Result<Duration, Failure> {
        self.until_visible()?;
        let began = Instant::now();
        self.appender.burst(changes)?;
        self.until_visible()?;
        Ok(began.elapsed())
    }

    /// Waits until all that was appended has come to every core.
    fn until_visible(&self) -> Result<(), Failure> {
        let deadline = Instant::now() + CATCH_UP;
        loop {
            interrupt::check()?;
            let appended = self.appender.appended();
            let visible = self.ringway.counter("ringway_feed_visible_duration_seconds_count")?;
            if visible >= appended {
                return Ok(());
            }
            if Instant::now() >= deadline {
                return Err(Failure::Behind { visible, appended, seconds: CATCH_UP.as_secs() });
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }
}
