//! Whether a service in trouble is felt by the others: the latency of a thousand healthy services at half load,
//! in windows that take turns. In half of them three neighbours on the same core are healthy too; in the others one takes
//! 2 s for each answer, one swallows connections and one resets them.
mod crowd;
mod troubled;

use crate::failure::Failure;
use crate::generator::{Latency, Load};
use crate::peers::{Idle, Peer, Programs, Running};
use crate::progress::Progress;
use crate::report::{Figure, Unit};
use crate::rounds::{Plan, Turns, measure, take_turns};
use crate::scene::Scene;
use crate::stats::median;

use crowd::Crowd;
use troubled::Troubled;

/// Connections of the open loop.
const CONNECTIONS: u32 = 64;
/// Seconds of a window before latencies are kept.
const WARM_UP: u64 = 1;
/// Windows whose 99th percentile may be as much higher.
const GOAL: f64 = 1.05;

/// What to measure.
pub struct Options {
    pub programs: Programs,
    pub plan: Plan,
    /// Length of a window.
    pub seconds: u64,
}

/// Runs the windows in `scene`.
pub fn run(options: &Options, scene: &mut Scene) -> Result<Vec<Figure>, Failure> {
    let troubled = Troubled::start()?;
    scene.neighbours = troubled.services();
    let progress = Progress::over(2 * options.plan.rounds as u64);
    let rate = half_of_nginx(options, scene, &progress)?;
    progress.say("starting ringway".to_owned());
    let ringway = Running::start(Peer::Ringway, &options.programs, Idle::Adaptive, scene)?;
    let crowd = Crowd::start(ringway.address, &scene.neighbours);
    let load =
        Load { connections: CONNECTIONS, seconds: options.seconds, warm_up: WARM_UP, rate: Some(rate) };
    let names = ["neighbours healthy", "neighbours in trouble"];
    let turns = take_turns("half load", &names, options.plan, &progress, |index| {
        troubled.set(index == 1);
        crowd.count_as(index);
        measure(
            || ringway.cpu_time(),
            // Fails if one request of the healthy services does.
            || scene.generator.run("ringway", ringway.address, load, scene.hosts_argument(), scene.dir()),
        )
    })?;
    let figure = |quantile: &str, of: fn(&Latency) -> f64| {
        let what =
            format!("{quantile} with neighbours in trouble over {quantile} without, {rate} requests/s");
        let [healthy, trouble] = [0, 1].map(|index| each(&turns, index, of));
        let ratios = crate::stats::paired_ratios(&trouble, &healthy);
        Figure::new(format!("neighbours_{quantile}"), what, Unit::Share, vec![(Peer::Ringway, ratios)])
            .goal(None, GOAL)
            .note(format!(
                "{:.0} µs without, {:.0} µs with; {}",
                median(&healthy),
                median(&trouble),
                crowd.told()
            ))
    };
    Ok(vec![figure("p50", |latency| latency.p50), figure("p99", |latency| latency.p99)])
}

fn each(turns: &Turns, index: usize, of: fn(&Latency) -> f64) -> Vec<f64> {
    turns.of[index].iter().map(|turn| of(&turn.outcome.latency_us)).collect()
}

/// Half of what nginx carries at most, measured here and now.
fn half_of_nginx(options: &Options, scene: &Scene, progress: &Progress) -> Result<u64, Failure> {
    progress.say("nginx's saturation".to_owned());
    let nginx = Running::start(Peer::Nginx, &options.programs, Idle::Park, scene)?;
    let load = Load { connections: CONNECTIONS, seconds: options.seconds, warm_up: WARM_UP, rate: None };
    let most = scene.generator.run("nginx", nginx.address, load, scene.hosts_argument(), scene.dir())?;
    // Positive and far below 2^53.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    Ok((most.rps / 2.0).max(1.0) as u64)
}
