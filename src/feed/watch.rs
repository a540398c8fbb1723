//! What the feed does for its guards beside applying changes: it lets go of what need not be held, tells what is held, and
//! counts the fleet once.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

use ringway_state::View;
use serde_json::Value;

use super::allowance::Allowance;
use super::arrears::Arrears;
use super::desk::GuardDesk;
use super::guards::{Meant, Rule, healthy};
use super::intake::Intake;
use crate::limits;
use crate::observe::FeedStats;
use crate::observe::process_log::{Level, event};
use crate::runtime::machine;

pub(super) struct Watch {
    desk: Arc<GuardDesk>,
    told: Allowance,
    /// When it was shown last how many changes each guard holds, and how many octets were passed over.
    shown: Option<(Instant, Shown)>,
    /// Will tell how many endpoints were healthy at the start.
    counting: Option<Receiver<u64>>,
    /// What was acknowledged last, and when it is on record.
    acknowledged: Option<(u64, u64)>,
    stats: Arc<FeedStats>,
}

type Shown = ([usize; Rule::ALL.len()], u64);

impl Watch {
    /// # Errors
    /// The machine gives no thread.
    pub(super) fn new(
        desk: Arc<GuardDesk>,
        intake: &mut Intake,
        stats: Arc<FeedStats>,
    ) -> std::io::Result<Watch> {
        let view = intake.table().publish();
        let counting = match view.base().is_none() && view.levels().is_empty() {
            true => {
                intake.guards().counted(0);
                None
            }
            false => Some(count(view)?),
        };
        let told = Allowance::new(1, Duration::from_millis(limits::GUARD_TOLD_MS));
        Ok(Watch { desk, told, shown: None, counting, acknowledged: None, stats })
    }

    /// Looks after the guards. How soon to do so again, if they hold anything.
    pub(super) fn look(&mut self, intake: &mut Intake, arrears: &Arrears, now: Instant) {
        if let Some(healthy) = self.counting.as_ref().and_then(|counting| counting.try_recv().ok()) {
            self.counting = None;
            intake.guards().counted(healthy);
        }
        let recorded = intake.notes().recorded();
        if let Some((ticket, _)) = self.acknowledged.take_if(|(_, token)| *token <= recorded) {
            self.desk.is_on_record(ticket);
        }
        let (ticket, acknowledged) = self.desk.take_acknowledged();
        for meant in acknowledged {
            self.shown = None;
            let field = match &meant {
                Meant::Rule(rule) => ("ringway.guard.rule", Value::from(rule.as_str())),
                Meant::Service(service) => {
                    self.desk.is_known(service, intake.knows(service));
                    ("ringway.service", service.as_str().into())
                }
            };
            event(Level::Warn, "guards were told to let go", &[field]);
            self.acknowledged = Some((ticket, intake.acknowledge(meant, now)));
        }
        let new = (intake.guards().counts(), arrears.octets());
        if self.is_due(new, intake.has_left(), now) {
            self.shown = Some((now, new));
            self.show(intake, arrears, now);
        }
    }

    /// What has changed is shown at once, but not as gone before it is applied; how long it has been so, from time to time.
    fn is_due(&self, new: Shown, has_left: bool, now: Instant) -> bool {
        let every = Duration::from_millis(limits::GUARD_SHOW_MS);
        self.shown.is_none_or(|(at, shown)| {
            (has_left && shown != new) || now.saturating_duration_since(at) >= every
        })
    }

    fn show(&self, intake: &mut Intake, arrears: &Arrears, now: Instant) {
        let holdings = intake.guards().holdings(now);
        for holding in &holdings {
            self.stats.holding(holding.rule).set(holding.held as u64);
        }
        self.stats.arrears.set(arrears.octets());
        self.desk.show(holdings, arrears.octets());
    }

    /// Whether something is to be told of the guards again.
    pub(super) fn may_tell(&mut self, now: Instant) -> bool {
        self.told.over(now);
        self.told.take(now)
    }

    /// A change is held: told at once, and then from time to time.
    pub(super) fn tell(&mut self, rule: Rule, now: Instant) {
        if self.may_tell(now) {
            let fields = [("ringway.guard.rule", Value::from(rule.as_str()))];
            let what = "a guard holds changes of endpoints back, since too many would be lost; see `ringway guards list`, and if \
                        it is meant: `ringway guards acknowledge RULE`";
            event(Level::Error, what, &fields);
        }
    }
}

/// Counts the healthy endpoints of a whole table, which may take seconds, beside everything else.
fn count(view: View) -> std::io::Result<Receiver<u64>> {
    let (tell, told) = sync_channel(1);
    let run = move || {
        machine::be_nice(limits::HOUSEKEEPER_NICE);
        let sum = view.changes().flatten().map(|change| healthy(&change.record)).sum();
        // Nobody is there to be told if the feed has ended.
        let _ = tell.send(sum);
    };
    std::thread::Builder::new().name("census".to_owned()).spawn(run)?;
    Ok(told)
}
