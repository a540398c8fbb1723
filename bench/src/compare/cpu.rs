//! CPU time per proxied request, closed loop to saturation and at equal offered load.
use super::Stage;
use crate::failure::Failure;
use crate::generator::{Load, Outcome};
use crate::limits::{EQUAL_LOAD_OF_NGINX, EQUAL_LOAD_OF_SLOWEST, SHARE_WINDOW_SECONDS};
use crate::peers::{Idle, Peer, Running};
use crate::report::{Figure, Unit};
use crate::rounds::{Turn, Turns, measure, take_turns};
use crate::stats::median;

/// Turns that [`run`] will take.
pub(super) fn turns(counts: u64, peers: u64, rounds: u64) -> u64 {
    2 * counts * peers * rounds
}

pub(super) fn run(stage: &Stage<'_>) -> Result<Vec<Figure>, Failure> {
    let running = stage.start(&stage.options.peers, Idle::Park)?;
    let mut figures = Vec::new();
    for &connections in &stage.options.connections {
        let closed = Load { connections, seconds: stage.options.seconds, warm_up: 0, rate: None };
        let saturated = load_all(stage, &running, closed, &format!("saturated, {connections} connections"))?;
        let rate = equal_rate(&running, &saturated);
        let open = Load { rate: Some(rate), ..closed };
        let equal =
            load_all(stage, &running, open, &format!("{rate} requests/s, {connections} connections"))?;
        figures.extend(equal_load_figures(stage, &running, connections, rate, &equal));
        figures.extend(saturated_figures(stage, &running, connections, &saturated));
    }
    Ok(figures)
}

/// A rate that every peer can carry: a share of nginx's saturation, less if the slowest could not follow.
fn equal_rate(running: &[Running], saturated: &Turns) -> u64 {
    let rates: Vec<f64> =
        saturated.of.iter().map(|turns| median(&each(turns, |turn| turn.outcome.rps))).collect();
    let slowest = rates.iter().copied().fold(f64::INFINITY, f64::min) * EQUAL_LOAD_OF_SLOWEST;
    let nginx = running
        .iter()
        .zip(&rates)
        .find(|(one, _)| one.peer == Peer::Nginx)
        .map_or(f64::INFINITY, |(_, rate)| rate * EQUAL_LOAD_OF_NGINX);
    // Positive and far below 2^53.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let rate = slowest.min(nginx).max(1.0) as u64;
    rate
}

fn load_all(stage: &Stage<'_>, running: &[Running], load: Load, what: &str) -> Result<Turns, Failure> {
    let names: Vec<&str> = running.iter().map(|one| one.peer.name()).collect();
    let warm = Load { seconds: 1, ..load };
    for one in running {
        turn(stage, one, warm)?;
    }
    take_turns(what, &names, stage.options.plan, &stage.progress, |index| turn(stage, &running[index], load))
}

fn turn(stage: &Stage<'_>, one: &Running, load: Load) -> Result<Turn, Failure> {
    measure(|| one.cpu_time(), || ask(stage, one, load))
}

fn ask(stage: &Stage<'_>, one: &Running, load: Load) -> Result<Outcome, Failure> {
    let scene = stage.scene;
    scene.generator.run(one.peer.name(), one.address, load, scene.hosts_argument(), scene.dir())
}

fn each(turns: &[Turn], value: impl Fn(&Turn) -> f64) -> Vec<f64> {
    turns.iter().map(value).collect()
}

fn by_peer(running: &[Running], turns: &Turns, value: impl Fn(&Turn) -> f64 + Copy) -> Vec<(Peer, Vec<f64>)> {
    running.iter().zip(&turns.of).map(|(one, turns)| (one.peer, each(turns, value))).collect()
}

fn equal_load_figures(
    stage: &Stage<'_>,
    running: &[Running],
    connections: u32,
    rate: u64,
    turns: &Turns,
) -> Vec<Figure> {
    let cpu = Figure::new(
        format!("cpu_{connections}"),
        format!("CPU per request, {connections} connections, {rate} requests/s offered to all"),
        Unit::Micros,
        by_peer(running, turns, Turn::cpu_us_per_request),
    )
    .goal(Some(Peer::Nginx), 0.75)
    .goal(Some(Peer::Haproxy), 0.60)
    .goal(Some(Peer::Pingora), 1.0)
    .note(rounds_note(turns));
    let seconds = stage.options.seconds * stage.options.plan.rounds as u64;
    let short = if seconds < SHARE_WINDOW_SECONDS { ", too short to trust" } else { "" };
    let share = Figure::new(
        format!("user_{connections}"),
        format!("user-space share of that CPU time, {connections} connections"),
        Unit::Share,
        by_peer(running, turns, |turn| turn.cpu.user_share().unwrap_or(f64::NAN)),
    )
    .goal(None, 0.15)
    .note(format!("over {seconds} s{short}"));
    vec![cpu, share]
}

fn saturated_figures(stage: &Stage<'_>, running: &[Running], connections: u32, turns: &Turns) -> Vec<Figure> {
    let cpu = Figure::new(
        format!("cpu_saturated_{connections}"),
        format!("CPU per request, closed loop, {connections} connections"),
        Unit::Micros,
        by_peer(running, turns, Turn::cpu_us_per_request),
    )
    .note(rounds_note(turns));
    // Below one CPU the proxy waited for the generator or the origin, so its saturation was not reached.
    let seconds = stage.options.seconds as f64;
    let busy: Vec<String> = running
        .iter()
        .zip(&turns.of)
        .map(|(one, turns)| {
            let share = median(&each(turns, |turn| turn.cpu.on_cpu_ns as f64 / 1e9 / seconds));
            format!("{} {:.0} %", one.peer.name(), 100.0 * share)
        })
        .collect();
    let rate = Figure::new(
        format!("rps_{connections}"),
        format!("requests/s, closed loop, {connections} connections"),
        Unit::PerSecond,
        by_peer(running, turns, |turn| turn.outcome.rps),
    )
    .note(format!("busy: {}", busy.join(", ")));
    vec![cpu, rate]
}

pub(super) fn rounds_note(turns: &Turns) -> String {
    match (turns.repeated, turns.disturbed) {
        (0, 0) => String::new(),
        (repeated, 0) => format!("{repeated} rounds repeated for steal"),
        (repeated, disturbed) => {
            format!("{repeated} rounds repeated for steal, {disturbed} kept though disturbed")
        }
    }
}
