//! How far a run is, on standard error: a bar on a terminal, elsewhere a line a second.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::plan::{Extent, Plan, Turn};

/// What the core tells of a turn under way.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    pub turn: Turn,
    pub elapsed: Duration,
    pub requests: u64,
    pub errors: u64,
}

/// Shows reports as they come.
pub struct Progress {
    bar: Option<ProgressBar>,
    /// Steps of one turn: milliseconds, or requests.
    steps: u64,
    /// The turn and second of which a line was printed last.
    printed: (Option<Turn>, u64),
}

impl Progress {
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        let steps = match plan.extent {
            Extent::Time { warmup, keep } => milliseconds(warmup + keep),
            Extent::Requests(count) => count,
        };
        let turns = u64::from(plan.rounds) * plan.targets.len() as u64;
        let bar = io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{wide_msg} {bar:24} {percent:>3} %");
            let bar = ProgressBar::new(steps.saturating_mul(turns));
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        Self { bar, steps, printed: (None, 0) }
    }

    pub fn show(&mut self, plan: &Plan, report: &Report) {
        let text = line(plan, report);
        match &self.bar {
            Some(bar) => {
                let turns =
                    u64::from(report.turn.round) * plan.targets.len() as u64 + report.turn.target as u64;
                let step = match plan.extent {
                    Extent::Time { .. } => milliseconds(report.elapsed),
                    Extent::Requests(_) => report.requests,
                };
                bar.set_position(turns.saturating_mul(self.steps).saturating_add(step.min(self.steps)));
                bar.set_message(text);
            }
            None if report.elapsed.as_secs() > 0
                && self.printed != (Some(report.turn), report.elapsed.as_secs()) =>
            {
                self.printed = (Some(report.turn), report.elapsed.as_secs());
                // Progress that cannot be shown must not end the run.
                let _ = writeln!(io::stderr(), "{text}");
            }
            None => {}
        }
    }

    /// Takes the bar away.
    pub fn end(self) {
        self.bar.iter().for_each(ProgressBar::finish_and_clear);
    }
}

fn line(plan: &Plan, report: &Report) -> String {
    let name = plan.targets.get(report.turn.target).map_or("", |target| target.name.as_str());
    let (round, of) = (report.turn.round + 1, plan.rounds);
    let (requests, errors) = (report.requests, report.errors);
    format!(
        "round {round}/{of} {name}: {:.0} s, {requests} requests, {errors} errors",
        report.elapsed.as_secs_f64()
    )
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
