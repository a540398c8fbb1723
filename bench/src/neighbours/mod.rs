//! Whether a service in trouble is felt by the others: the latency of a thousand healthy services at half load,
//! in windows that take turns. In half of them three neighbours on the same core are healthy too; in the others one takes
//! 2 s for each answer, one swallows connections and one resets them.
mod background;
mod crowd;
mod troubled;

use crate::failure::Failure;
use crate::generator::Latency;
use crate::half_load;
use crate::histogram::Histogram;
use crate::peers::{Idle, Peer, Programs, Running};
use crate::progress::Progress;
use crate::report::{Figure, Unit};
use crate::rounds::{Plan, Turns, measure, take_turns};
use crate::scene::Scene;
use crate::stats::median;

use crowd::Crowd;
use troubled::Troubled;

const LOOP_LAG: &str = "ringway_loop_lag_seconds";
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
    let rate = half_load::rate(&options.programs, scene, options.seconds, &progress)?;
    progress.say("starting ringway".to_owned());
    let ringway = Running::start(Peer::Ringway, &options.programs, Idle::Adaptive, scene)?;
    let crowd = Crowd::start(ringway.address, &scene.neighbours);
    let load = half_load::load(rate, options.seconds);
    let names = ["neighbours healthy", "neighbours in trouble"];
    let mut lags = [Histogram::default(), Histogram::default()];
    let turns = take_turns("half load", &names, options.plan, &progress, |index| {
        troubled.set(index == 1);
        crowd.count_as(index);
        let before = Histogram::of(&ringway, LOOP_LAG)?;
        let turn = measure(
            || ringway.cpu_time(),
            // Fails if one request of the healthy services does.
            || scene.generator.run("ringway", ringway.address, load, scene.hosts_argument(), scene.dir()),
        )?;
        lags[index].add(&before, &Histogram::of(&ringway, LOOP_LAG)?);
        Ok(turn)
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
    let latencies = [figure("p50", |latency| latency.p50), figure("p99", |latency| latency.p99)];
    Ok(latencies.into_iter().chain(loop_lag(&lags)).collect())
}

/// What stands in for a latency that is not resolved: the 99th percentile of the router's turns, of all windows of a kind.
fn loop_lag(lags: &[Histogram; 2]) -> Option<Figure> {
    let [healthy, trouble] = [lags[0].quantile(0.99)?, lags[1].quantile(0.99)?];
    let what = "loop lag's p99 with neighbours in trouble over that without".to_owned();
    let values = vec![(Peer::Ringway, vec![trouble / healthy])];
    let figure = Figure::new("neighbours_loop_lag_p99".to_owned(), what, Unit::Share, values);
    let note = format!("{healthy:.0} µs without, {trouble:.0} µs with, of all windows");
    Some(figure.goal(None, GOAL).note(note))
}

fn each(turns: &Turns, index: usize, of: fn(&Latency) -> f64) -> Vec<f64> {
    turns.of[index].iter().map(|turn| of(&turn.outcome.latency_us)).collect()
}
