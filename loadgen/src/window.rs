//! One target's turn: opens the connections, lets requests run for the turn's extent, waits for the last
//! answers.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use ringway::runtime::{Core, Stream};

use crate::arrivals::Arrivals;
use crate::client::{self, Client, Turn};
use crate::latch::Latch;
use crate::limits;
use crate::mix::Mix;
use crate::plan::{self, Extent, Load, Plan};
use crate::record::Record;

/// Runs one turn. `tick` is told a few times a second how far it is.
///
/// # Errors
/// Not one connection could be opened; in words.
pub async fn run(
    core: &Core,
    plan: &Plan,
    which: plan::Turn,
    mix: &Rc<RefCell<Mix>>,
    tick: impl FnMut(&Record, Duration),
) -> Result<Record, String> {
    let target = plan.targets[which.target].address;
    let streams = open(core, plan, target).await?;
    let seed = plan.seed_of(which.round);
    mix.borrow_mut().seek(seed);
    let start = core.now();
    let (left, from, until) = match plan.extent {
        Extent::Time { warmup, keep } => (None, start + warmup, start + warmup + keep),
        Extent::Requests(count) => (Some(count), start, start + Duration::from_secs(u64::from(u32::MAX))),
    };
    let work = crate::work::Work::new(core, plan.load, left, until);
    let turn = Rc::new(Turn {
        core: core.clone(),
        target,
        timeout: plan.timeout,
        keep_alive: plan.keep_alive,
        work,
        mix: Rc::clone(mix),
        record: RefCell::new(Record::new(from, until)),
    });
    run_all(core, plan, &turn, streams, seed, tick).await;
    Ok(turn.record.borrow().clone())
}

/// The plan's connections, as many as can be had.
async fn open(core: &Core, plan: &Plan, target: std::net::SocketAddr) -> Result<Vec<Option<Stream>>, String> {
    if !plan.keep_alive {
        return Ok(std::iter::repeat_with(|| None).take(plan.connections).collect());
    }
    let opened: Rc<RefCell<Vec<Option<Stream>>>> = Rc::default();
    let failed: Rc<RefCell<Option<String>>> = Rc::default();
    let (into, why, timeout) = (Rc::clone(&opened), Rc::clone(&failed), plan.timeout);
    let ring = core.clone();
    client::few_at_a_time(core, plan.connections, move |_| {
        let (into, why, ring) = (Rc::clone(&into), Rc::clone(&why), ring.clone());
        async move {
            match client::connect(&ring, target, timeout).await {
                Ok(stream) => into.borrow_mut().push(Some(stream)),
                Err(error) => {
                    into.borrow_mut().push(None);
                    why.replace(Some(error));
                }
            }
        }
    })
    .await;
    let streams = opened.take();
    match failed.take() {
        Some(why) if streams.iter().all(Option::is_none) => Err(why),
        _ => Ok(streams),
    }
}

async fn run_all(
    core: &Core,
    plan: &Plan,
    turn: &Rc<Turn>,
    streams: Vec<Option<Stream>>,
    seed: u64,
    mut tick: impl FnMut(&Record, Duration),
) {
    let (latch, start) = (Latch::new(core), core.now());
    for stream in streams {
        let (hold, client) = (latch.hold(), Client::new(Rc::clone(turn), stream));
        core.spawn(async move {
            let _hold = hold;
            client.run().await;
        });
    }
    if let Load::Open { rate, spacing } = plan.load {
        let (turn, arrivals) = (Rc::clone(turn), Arrivals::new(rate, spacing, seed));
        core.spawn(async move {
            turn.work.pace(start, arrivals, |at| turn.record.borrow_mut().dropped(at)).await;
        });
    }
    let mut next: Instant = start;
    while latch.is_held() {
        next += Duration::from_millis(limits::PROGRESS_MS);
        latch.released_by(next).await;
        tick(&turn.record.borrow(), core.now() - start);
    }
}
