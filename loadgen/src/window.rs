//! One target's turn: opens the connections, lets requests run for the turn's extent, waits for the last
//! answers.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use ringway::runtime::{Core, Stream};

use crate::alarm::Alarm;
use crate::arrivals::{Arrivals, Spacing};
use crate::client::{self, Client, Turn};
use crate::draw::Delay;
use crate::intervals;
use crate::latch::{Hold, Latch};
use crate::limits;
use crate::mix::Mix;
use crate::pattern;
use crate::plan::{self, Extent, Load, Plan};
use crate::record::Record;
use crate::work::Work;

/// Runs one turn. `tick` is told a few times a second how far it is.
///
/// # Errors
/// Not one connection could be opened; in words.
pub async fn run(
    core: &Core,
    alarm: &Alarm,
    plan: &Plan,
    which: plan::Turn,
    mix: &Rc<RefCell<Mix>>,
    tick: impl FnMut(&mut Record, Duration),
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
    let interval = match plan.extent {
        Extent::Time { keep, .. } => intervals::length_for(keep),
        Extent::Requests(_) => Duration::from_secs(1),
    };
    let mut body = vec![0; limits::PIECE_OCTETS];
    pattern::fill(seed, 0, &mut body);
    let turn = Rc::new(Turn {
        core: core.clone(),
        alarm: alarm.clone(),
        target,
        timeout: plan.timeout,
        think: if let Load::Closed { think } = plan.load { think } else { Delay::NONE },
        work: Work::new(core, &plan.load, left, until),
        mix: Rc::clone(mix),
        body: body.into(),
        rng: RefCell::new(fastrand::Rng::with_seed(seed)),
        record: RefCell::new(Record::new(from, until, interval)),
    });
    run_all(core, plan, &turn, streams, seed, tick).await;
    Ok(turn.record.borrow().clone())
}

/// The plan's connections, as many as can be had.
async fn open(core: &Core, plan: &Plan, target: std::net::SocketAddr) -> Result<Vec<Option<Stream>>, String> {
    if plan.keep_alive <= 0.0 {
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
    mut tick: impl FnMut(&mut Record, Duration),
) {
    let (latch, start) = (Latch::new(core), core.now());
    for stream in streams {
        let (hold, client) = (latch.hold(), Client::new(Rc::clone(turn), stream));
        core.spawn(async move {
            let _hold = hold;
            client.run().await;
        });
    }
    if let Load::Open { rate, spacing } = &plan.load {
        let (turn, arrivals) = (Rc::clone(turn), Arrivals::new(rate.clone(), *spacing, seed));
        core.spawn(async move {
            turn.work.pace(start, arrivals, |at| turn.record.borrow_mut().dropped(at)).await;
        });
    }
    if let Some(rate) = &plan.storm {
        let arrivals = Arrivals::new(rate.clone(), Spacing::Even, seed);
        core.spawn(storm(Rc::clone(turn), start, arrivals, latch.hold()));
    }
    let mut next: Instant = start;
    while latch.is_held() {
        next += Duration::from_millis(limits::PROGRESS_MS);
        latch.released_by(next).await;
        tick(&mut turn.record.borrow_mut(), core.now() - start);
    }
}

/// Opens a connection for each arrival, for one request. What would be too many at a time is dropped.
async fn storm(turn: Rc<Turn>, start: Instant, arrivals: Arrivals, _all: Hold) {
    let open = Latch::new(&turn.core);
    for (count, offset) in arrivals.enumerate() {
        let at = start + offset;
        turn.core.sleep_until(at).await;
        if count % limits::ARRIVALS_PER_TURN == limits::ARRIVALS_PER_TURN - 1 {
            turn.core.yield_now().await;
        }
        if open.count() >= limits::STORM_OPEN_MAX {
            turn.record.borrow_mut().dropped(at);
            continue;
        }
        let (hold, client) = (open.hold(), Client::new(Rc::clone(&turn), None));
        turn.core.spawn(async move {
            let _hold = hold;
            client.once(at).await;
        });
    }
    open.released().await;
}
