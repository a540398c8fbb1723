//! CPU time per proxied request, closed loop to saturation and at equal offered load.
use super::Stage;
use crate::failure::Failure;
use crate::generator::{Load, Outcome};
use crate::limits::{EQUAL_LOAD_OF_CARRIED, SHARE_WINDOW_SECONDS};
use crate::peers::{Enters, Idle, Peer, Running};
use crate::report::{Figure, Unit};
use crate::rounds::{Turn, Turns, measure, take_turns};
use crate::stats::median;

/// Of each load, before its turns: upstream connections are made.
const WARM_UP_SECONDS: u64 = 1;

/// Turns that [`run`] will take.
pub(super) fn turns(counts: u64, peers: u64, rounds: u64) -> u64 {
    2 * counts * peers * rounds
}

pub(super) fn run(stage: &Stage<'_>) -> Result<Vec<Figure>, Failure> {
    let running = stage.start(&stage.options.peers, Idle::Park)?;
    let mut figures = Vec::new();
    for &connections in &stage.options.connections {
        let closed = Load { connections, seconds: stage.options.seconds, warm_up: 0, rate: None };
        let what = format!("saturated, {connections} connections");
        let saturated = load_each(stage, &running, &what, |_| closed)?;
        let rates = Rates::of(&running, &saturated, stage.options.equal_load);
        let what = format!("{connections} connections, {} requests/s offered to all", rates.common);
        let before = enters(&running)?;
        let equal =
            load_each(stage, &running, &what, |index| Load { rate: Some(rates.each[index]), ..closed })?;
        let notes = [rates.note(&running), rounds_note(&equal), enters_note(before, enters(&running)?)];
        figures.extend(equal_load_figures(stage, &running, connections, &what, &notes, &equal));
        figures.extend(saturated_figures(stage, &running, connections, &saturated));
    }
    Ok(figures)
}

/// Requests a second offered in the open loop.
struct Rates {
    /// A share of nginx's saturation.
    common: u64,
    /// The same for each peer, less for one that could not follow: its queue would be measured instead.
    each: Vec<u64>,
}

impl Rates {
    /// `share` is in percent.
    fn of(running: &[Running], saturated: &Turns, share: u8) -> Self {
        let most = f64::from(EQUAL_LOAD_OF_CARRIED) / 100.0;
        let carried: Vec<f64> =
            saturated.of.iter().map(|turns| median(&each(turns, |turn| turn.outcome.rps))).collect();
        let nginx = running.iter().zip(&carried).find(|(one, _)| one.peer == Peer::Nginx);
        let slowest = || carried.iter().copied().fold(f64::INFINITY, f64::min);
        let common = nginx.map_or_else(slowest, |(_, carried)| *carried) * f64::from(share) / 100.0;
        let each = carried.iter().map(|carried| whole(common.min(carried * most))).collect();
        Self { common: whole(common), each }
    }

    /// Who is offered less than the others.
    fn note(&self, running: &[Running]) -> String {
        let less = running.iter().zip(&self.each).filter(|(_, rate)| **rate < self.common);
        let less: Vec<String> =
            less.map(|(one, rate)| format!("{} cannot follow: {rate}/s", one.peer.name())).collect();
        less.join(", ")
    }
}

/// The subject's calls of io_uring_enter so far, where it is ringway.
fn enters(running: &[Running]) -> Result<Option<Enters>, Failure> {
    running.iter().find(|one| one.peer == Peer::Ringway).map(Enters::of).transpose()
}

fn enters_note(before: Option<Enters>, after: Option<Enters>) -> String {
    let per_request = after.zip(before).map(|(after, before)| after.per_request_since(before));
    per_request.map_or(String::new(), |enters| format!("ringway: {enters:.2} enters a request"))
}

fn joined(notes: &[String]) -> String {
    notes.iter().filter(|note| !note.is_empty()).cloned().collect::<Vec<_>>().join("; ")
}

/// Rates are positive and far below 2^53.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn whole(rate: f64) -> u64 {
    rate.max(1.0) as u64
}

fn load_each(
    stage: &Stage<'_>,
    running: &[Running],
    what: &str,
    load: impl Fn(usize) -> Load,
) -> Result<Turns, Failure> {
    let names: Vec<&str> = running.iter().map(|one| one.peer.name()).collect();
    for (index, one) in running.iter().enumerate() {
        stage.progress.say(format!("{what}: warming {}", one.peer.name()));
        turn(stage, one, Load { seconds: WARM_UP_SECONDS, ..load(index) })?;
    }
    take_turns(what, &names, stage.options.plan, &stage.progress, |index| {
        turn(stage, &running[index], load(index))
    })
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
    what: &str,
    notes: &[String],
    turns: &Turns,
) -> Vec<Figure> {
    let cpu = Figure::new(
        format!("cpu_{connections}"),
        format!("CPU per request, {what}"),
        Unit::Micros,
        by_peer(running, turns, Turn::cpu_us_per_request),
    )
    .goal(Some(Peer::Nginx), 0.75)
    .goal(Some(Peer::Haproxy), 0.60)
    .goal(Some(Peer::Pingora), 1.0)
    .no_worse_than_before()
    .note(joined(notes));
    let seconds = stage.options.seconds * stage.options.plan.rounds as u64;
    let short = if seconds < SHARE_WINDOW_SECONDS { ", too short to trust" } else { "" };
    let share = Figure::new(
        format!("user_{connections}"),
        format!("user-space share of that CPU time, {connections} connections"),
        Unit::Share,
        by_peer(running, turns, |turn| turn.cpu.user_share().unwrap_or(f64::NAN)),
    )
    .goal(None, 0.15)
    .no_worse_than_before()
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
    .no_worse_than_before()
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
