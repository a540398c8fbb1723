//! Generators of load beside one another: what a request costs each, and what each says of a target that stalls.
//!
//! - cost: all keep the same connections to an origin whose answers take 10 ms, so that they go at one rate; CPU time of the
//!   generator, its start and end included, over requests. Who keeps a rate sleeps twice for most requests, until it is due
//!   and until its answer; where a sleep costs 20 µs, as on a virtual machine, that is most of what a request costs.
//! - stall: an origin answers nobody for a second. Who asks at a rate knows what its percentiles must be, by arithmetic; who
//!   waits for answers before it asks again leaves out those that should have been asked meanwhile.
mod table;
mod tool;

use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::failure::Failure;
use crate::limits::GENERATOR_GRACE_SECONDS;
use crate::owned::Owned;
use crate::procfs::{MachineTime, children_cpu};
use crate::progress::Progress;
use crate::rounds::Plan;
use crate::stats::{Spread, paired_ratios};

use tool::{Ask, Said, Tool};

/// What to measure, and where.
pub struct Options {
    pub loadgen: PathBuf,
    pub oha: PathBuf,
    /// Of the origin, and of the generator.
    pub cores: (usize, usize),
    pub plan: Plan,
    /// Length of a turn.
    pub seconds: u64,
    pub connections: u32,
}

/// How long the origin of the cost turns takes for an answer.
const LATENCY_MS: u64 = 10;
/// The rate of those who keep one, as a share of what the connections carry.
const OPEN_SHARE: f64 = 0.95;
/// Of the turns with a stall: requests a second, when the stall begins, and how long it and all is, in seconds.
const STALL_RATE: u64 = 500;
const STALL_AT: u64 = 2;
const STALL_SECONDS: f64 = 1.0;
const STALL_TURN_SECONDS: u64 = 6;

/// A row of the table.
struct Row {
    name: &'static str,
    /// CPU µs per request, and over wrk's.
    cost: Option<Spread>,
    to_wrk: Option<Spread>,
    rate: Option<f64>,
    stall: Option<Said>,
    note: String,
}

/// Runs all turns and prints the table.
///
/// # Errors
/// The origin or ringway-loadgen did not do what it should; others that are not there have rows that say so.
pub fn run(options: &Options, out: &mut impl Write) -> Result<(), Failure> {
    let dir = tempfile::tempdir().map_err(Failure::file("a temporary folder"))?;
    let turns = options.plan.rounds as u64 * Tool::ALL.len() as u64 + Tool::ALL.len() as u64;
    let stage = Stage { options, dir: dir.path(), progress: Progress::over(turns) };
    let mut rows = stage.costs()?;
    for (row, tool) in rows.iter_mut().zip(Tool::ALL) {
        if row.cost.is_some() {
            row.stall = Some(stage.stalled(tool)?);
        }
        stage.progress.step();
    }
    table::print(&rows, &arithmetic(), out).map_err(Failure::file("standard output"))
}

/// What percentiles an open loop must find: requests are spread evenly over the turn, and one that is meant for the stall
/// waits for its end. In milliseconds.
fn arithmetic() -> Said {
    let turn = STALL_TURN_SECONDS as f64;
    // Of all requests a share of (1 - q) waits longer than the q-th quantile.
    let wait = |share: f64| (STALL_SECONDS - (1.0 - share) * turn).max(0.0) * 1e3;
    Said {
        requests: STALL_RATE as f64 * turn,
        p50: wait(0.5),
        p90: wait(0.9),
        p99: wait(0.99),
        max: wait(1.0),
    }
}

/// Rates are positive and far below 2^53.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn whole(rate: f64) -> u64 {
    rate.max(1.0) as u64
}

struct Stage<'a> {
    options: &'a Options,
    dir: &'a Path,
    progress: Progress,
}

/// One turn of one tool.
struct Turn {
    cpu: Duration,
    said: Said,
}

impl Stage<'_> {
    /// Each tool's turns, in an order that turns from round to round.
    fn costs(&self) -> Result<Vec<Row>, Failure> {
        let (_origin, target) = self.origin(&format!(
            "about: Answers that take a while.\nanswers: [{{ latency: {LATENCY_MS}ms }}]\n"
        ))?;
        let mut ask =
            Ask { target, connections: self.options.connections, seconds: self.options.seconds, rate: 1 };
        // What so many connections carry on this machine, now; who keeps a rate keeps one that they can.
        let carried = self.turn(Tool::Closed, ask)?.said.requests / self.options.seconds as f64;
        ask.rate = whole(carried * OPEN_SHARE);
        let mut turns: Vec<Vec<Turn>> = Tool::ALL.iter().map(|_| Vec::new()).collect();
        let mut notes = vec![String::new(); Tool::ALL.len()];
        let (mut round, mut repeated) = (0, 0);
        while round < self.options.plan.rounds {
            let before = MachineTime::now();
            let mut taken = Vec::new();
            for step in 0..Tool::ALL.len() {
                let at = (round + step) % Tool::ALL.len();
                if notes[at].is_empty() {
                    self.progress.say(format!("cost: {}", Tool::ALL[at].name()));
                    match self.turn(Tool::ALL[at], ask) {
                        Ok(turn) => taken.push((at, turn)),
                        Err(Failure::Start { mending, .. }) => notes[at] = format!("not there: {mending}"),
                        Err(other) => return Err(other),
                    }
                }
                self.progress.step();
            }
            let steal = MachineTime::now().steal_percent_since(before);
            if steal > crate::limits::STEAL_PERCENT && repeated < self.options.plan.repeats {
                repeated += 1;
                continue;
            }
            taken.into_iter().for_each(|(at, turn)| turns[at].push(turn));
            round += 1;
        }
        Ok(self.rows(&turns, notes))
    }

    fn rows(&self, turns: &[Vec<Turn>], notes: Vec<String>) -> Vec<Row> {
        let costs: Vec<Vec<f64>> = turns
            .iter()
            .map(|turns| turns.iter().map(|turn| turn.cpu.as_secs_f64() * 1e6 / turn.said.requests).collect())
            .collect();
        let wrk = Tool::ALL.iter().position(|tool| *tool == Tool::Wrk).unwrap_or(0);
        let rows = Tool::ALL.iter().zip(&costs).zip(turns).zip(notes);
        rows.map(|(((tool, cost), turns), note)| {
            let measured = !cost.is_empty();
            let rates: Vec<f64> =
                turns.iter().map(|turn| turn.said.requests / self.options.seconds as f64).collect();
            Row {
                name: tool.name(),
                cost: measured.then(|| Spread::of(cost)),
                to_wrk: (measured && !costs[wrk].is_empty())
                    .then(|| Spread::of(&paired_ratios(cost, &costs[wrk]))),
                rate: measured.then(|| crate::stats::median(&rates)),
                stall: None,
                note,
            }
        })
        .collect()
    }

    fn stalled(&self, tool: Tool) -> Result<Said, Failure> {
        self.progress.say(format!("stall: {}", tool.name()));
        // An origin of its own, whose time begins with this tool's first request.
        let (_origin, target) = self.origin(&format!(
            "about: Answers at once, but for a second.\ntimes: [{{ at: {STALL_AT}s, for: {STALL_SECONDS}s, does: stall }}]\n"
        ))?;
        let ask = Ask {
            target,
            connections: self.options.connections,
            seconds: STALL_TURN_SECONDS,
            rate: STALL_RATE,
        };
        self.turn(tool, ask).map(|turn| turn.said)
    }

    fn turn(&self, tool: Tool, ask: Ask) -> Result<Turn, Failure> {
        let command = tool.command(ask, &self.options.loadgen, &self.options.oha, self.dir);
        // What an earlier turn left must not be read for this one's.
        for left in ["said.json", "said.log"] {
            let _ = std::fs::remove_file(self.dir.join(left));
        }
        let before = children_cpu();
        let within = Duration::from_secs(ask.seconds + GENERATOR_GRACE_SECONDS);
        Owned::spawn("generator", command, self.options.cores.1, self.dir, tool.mending())?
            .wait_success(within)?;
        let cpu = children_cpu().saturating_sub(before);
        let output = std::fs::read_to_string(self.dir.join("generator.out")).unwrap_or_default();
        let said = tool.read(&output, self.dir).filter(|said| said.requests > 0.0);
        let said = said.ok_or_else(|| Failure::Unreadable { name: tool.name().to_owned(), output })?;
        Ok(Turn { cpu, said })
    }

    /// An origin that does what `plan` says, and its address.
    fn origin(&self, plan: &str) -> Result<(Owned, SocketAddr), Failure> {
        let file = self.dir.join("origin.yaml");
        std::fs::write(&file, plan).map_err(Failure::file(&file))?;
        let mut command = Command::new(&self.options.loadgen);
        command.args([
            "origin",
            "--listen",
            "127.0.0.1:0",
            "--cpu",
            &self.options.cores.0.to_string(),
            "--plan",
        ]);
        command.arg(&file);
        let mut origin =
            Owned::spawn("origin", command, self.options.cores.0, self.dir, Tool::Open.mending())?;
        let address = origin.says("listening on ")?;
        Ok((origin, address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_follow_from_the_share_of_time() {
        let meant = arithmetic();
        // A sixth of all wait, evenly from nothing to a second.
        for (found, by_hand) in
            [(meant.p50, 0.0), (meant.p90, 400.0), (meant.p99, 940.0), (meant.max, 1_000.0)]
        {
            assert!((found - by_hand).abs() < 1e-6, "{found} {by_hand}");
        }
    }
}
