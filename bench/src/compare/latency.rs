//! What a proxy adds: its p50 and p99 less those of the origin asked directly in the same round.
use super::Stage;
use super::cpu::rounds_note;
use crate::failure::Failure;
use crate::generator::{Latency, Load};
use crate::peers::{Idle, Peer, Running};
use crate::procfs::CpuTime;
use crate::report::{Figure, Unit};
use crate::rounds::{Turn, Turns, measure, take_turns};

/// Connection counts of the closed loops.
const CLOSED: [u32; 3] = [1, 4, 16];
/// Connections of the open loop.
const OPEN: u32 = 64;

/// Seconds before latencies are kept: the adaptive idle policy learns the pace.
const WARM_UP: u64 = 1;

/// Turns that [`run`] will take.
pub(super) fn turns(peers: u64, rounds: u64) -> u64 {
    let contestants = peers + 1; // and the origin itself
    (CLOSED.len() as u64 + 1) * contestants * rounds
}

pub(super) fn run(stage: &Stage<'_>) -> Result<Vec<Figure>, Failure> {
    let running = stage.start(&stage.options.peers, Idle::Adaptive)?;
    let mut figures = Vec::new();
    for connections in CLOSED {
        let load = Load { connections, seconds: stage.options.seconds, warm_up: WARM_UP, rate: None };
        let what = format!("closed loop, connections: {connections}");
        figures.extend(added(stage, &running, load, &format!("c{connections}"), &what)?);
    }
    if let Some(rate) = half_of_nginx(stage, &running)? {
        let load =
            Load { connections: OPEN, seconds: stage.options.seconds, warm_up: WARM_UP, rate: Some(rate) };
        let what = format!("half load: open loop at {rate} requests/s, {OPEN} connections");
        figures.extend(added(stage, &running, load, "half", &what)?);
    }
    Ok(figures)
}

/// Half of what nginx carries at most, measured here and now.
fn half_of_nginx(stage: &Stage<'_>, running: &[Running]) -> Result<Option<u64>, Failure> {
    let Some(nginx) = running.iter().find(|one| one.peer == Peer::Nginx) else { return Ok(None) };
    let load = Load { connections: OPEN, seconds: stage.options.seconds, warm_up: WARM_UP, rate: None };
    stage.progress.say("nginx's saturation".to_owned());
    let rps = ask(stage, Some(nginx), load)?.outcome.rps;
    // Positive and far below 2^53.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    Ok(Some((rps / 2.0).max(1.0) as u64))
}

fn added(
    stage: &Stage<'_>,
    running: &[Running],
    load: Load,
    id: &str,
    what: &str,
) -> Result<[Figure; 2], Failure> {
    let contestants: Vec<Option<&Running>> = std::iter::once(None).chain(running.iter().map(Some)).collect();
    let names: Vec<&str> = contestants.iter().map(|one| name_of(*one)).collect();
    let turns = take_turns(what, &names, stage.options.plan, &stage.progress, |index| {
        ask(stage, contestants[index], load)
    })?;
    let figure = |quantile: &str, of: fn(&Latency) -> f64| {
        Figure::new(
            format!("added_{quantile}_{id}"),
            format!("added {quantile}, {what}"),
            Unit::Micros,
            running
                .iter()
                .enumerate()
                .map(|(index, one)| (one.peer, added_in_each_round(&turns, index + 1, of)))
                .collect(),
        )
        .goal(Some(Peer::Nginx), 0.4)
        .no_worse_than_before()
        .note(
            format!("origin itself {:.0} µs {}", direct(&turns, of), rounds_note(&turns))
                .trim_end()
                .to_owned(),
        )
    };
    Ok([figure("p50", |latency| latency.p50), figure("p99", |latency| latency.p99)])
}

fn added_in_each_round(turns: &Turns, contestant: usize, of: fn(&Latency) -> f64) -> Vec<f64> {
    turns.of[contestant]
        .iter()
        .zip(&turns.of[0])
        .map(|(through, direct)| of(&through.outcome.latency_us) - of(&direct.outcome.latency_us))
        .collect()
}

fn direct(turns: &Turns, of: fn(&Latency) -> f64) -> f64 {
    crate::stats::median(&turns.of[0].iter().map(|turn| of(&turn.outcome.latency_us)).collect::<Vec<_>>())
}

fn name_of(one: Option<&Running>) -> &'static str {
    one.map_or("origin", |one| one.peer.name())
}

/// Asks through `one`, or the origin directly.
fn ask(stage: &Stage<'_>, one: Option<&Running>, load: Load) -> Result<Turn, Failure> {
    let scene = stage.scene;
    let target = one.map_or(scene.origins[0], |one| one.address);
    measure(
        || one.map_or(Ok(CpuTime::default()), Running::cpu_time),
        || scene.generator.run(name_of(one), target, load, scene.hosts_argument(), scene.dir()),
    )
}
