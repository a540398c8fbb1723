//! The truth against a plain simulation: what an honest router may say is never called wrong, and what it may not is.
#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use proptest::prelude::*;
use ringway_state::id::Region;

use super::truth::{Asked, Seen, Truth, Verdict};
use crate::dataset::{Dataset, standard_origins};
use crate::deltas::churn::{Act, Churn};
use crate::deltas::known::Mark;

const WINDOW: u64 = 30;

fn data(hosts: u64) -> Dataset {
    let region = Region::parse("local").unwrap();
    Dataset::new(hosts, hosts.div_ceil(3), region, standard_origins())
}

/// A change and when it was announced, written and seen by the router.
struct Step {
    act: Act,
    writing: u64,
    written: u64,
    seen: u64,
}

/// Changes in batches, each announced, written and some time later seen, in order.
fn steps(data: &Dataset, batches: &[(u64, u64, u64)]) -> Vec<Step> {
    let mut churn = Churn::new(data, data.seed());
    let (mut now, mut last_seen) = (100, 0);
    let mut steps = Vec::new();
    for &(count, writes, lag) in batches {
        now += 10;
        let (writing, written) = (now, now + writes);
        for act in churn.by_ref().take(usize::try_from(count).unwrap()) {
            last_seen = last_seen.max(writing + lag % (writes + WINDOW + 1));
            steps.push(Step { act, writing, written, seen: last_seen.min(written + WINDOW) });
        }
        now = written;
    }
    steps
}

fn truth<'d>(data: &'d Dataset, steps: &[Step]) -> Truth<'d> {
    let mut truth = Truth::new(data, WINDOW);
    for (number, step) in (1..).zip(steps) {
        let last = steps.get(usize::try_from(number).unwrap()).is_none_or(|next| next.writing > step.writing);
        if last {
            truth.take(Mark::Writing { until: number, ns: step.writing });
            truth.take(Mark::Written { until: number, ns: step.written });
        }
    }
    truth
}

/// Where a host leads for a router that has seen these changes: its endpoints, or nowhere.
fn leads<'s>(data: &Dataset, rank: u64, seen: impl Iterator<Item = &'s Step>) -> Vec<SocketAddr> {
    let (mut service, mut sets) = (Some(data.service_of(rank)), BTreeMap::new());
    for step in seen {
        match &step.act {
            Act::Map { rank: of, service: to } if *of == rank => service = Some(*to),
            Act::Tombstone { rank: of } | Act::Remove { rank: of } if *of == rank => service = None,
            Act::Endpoints { service, addresses } => drop(sets.insert(*service, addresses.clone())),
            _ => {}
        }
    }
    let first = |service| data.endpoints(service)[0].1.clone();
    service.map_or_else(Vec::new, |service| sets.remove(&service).unwrap_or_else(|| first(service)))
}

fn schedule() -> impl Strategy<Value = Vec<(u64, u64, u64)>> {
    prop::collection::vec((1u64..6, 0u64..8, 0u64..60), 1..25)
}

proptest! {
    #[test]
    fn an_honest_router_is_never_called_wrong(
        hosts in 1u64..12,
        batches in schedule(),
        questions in prop::collection::vec((0u64..12, 0u64..700, 0u64..40, 0u64..40, 0usize..4), 1..40),
    ) {
        let data = data(hosts);
        let steps = steps(&data, &batches);
        let truth = truth(&data, &steps);
        for (rank, at, before, after, which) in questions {
            let (rank, asked) = (rank % hosts, at.saturating_sub(before));
            let ends = leads(&data, rank, steps.iter().filter(|step| step.seen <= at));
            let seen = match ends.as_slice() {
                [] => Seen::Nowhere,
                ends => Seen::Endpoint(ends[which % ends.len()]),
            };
            let question = Asked { rank, asked, answered: at + after, seen };
            let verdict = truth.judge(&question);
            prop_assert!(matches!(verdict, Verdict::Right | Verdict::Old { .. }), "{question:?}: {verdict:?}");
        }
    }

    /// Every answer that no schedule of sightings explains is wrong: of each key all values are tried that some router
    /// could have at some time between question and answer.
    #[test]
    fn a_third_answer_is_wrong(
        hosts in 1u64..12,
        batches in schedule(),
        rank in 0u64..12,
        asked in 0u64..700,
        took in 0u64..50,
    ) {
        let data = data(hosts);
        let steps = steps(&data, &batches);
        let truth = truth(&data, &steps);
        let (rank, answered) = (rank % hosts, asked + took);
        // A change is seen at any time from its writing on, until a window after it was written.
        let may = |step: &Step, at: u64| step.writing <= at;
        let must = |step: &Step, at: u64| step.written + WINDOW <= at;
        let attainable = |of_key: Vec<&Step>| -> Vec<Option<usize>> {
            let values = std::iter::once(None).chain((0..of_key.len()).map(Some));
            let at_some_time = |value: &Option<usize>| (asked..=answered).any(|at| {
                value.is_none_or(|index| may(of_key[index], at))
                    && of_key.get(value.map_or(0, |index| index + 1)).is_none_or(|next| !must(next, at))
            });
            values.filter(at_some_time).collect()
        };
        let host: Vec<&Step> = steps.iter().filter(|step| match &step.act {
            Act::Map { rank: of, .. } | Act::Tombstone { rank: of } | Act::Remove { rank: of } => *of == rank,
            Act::Endpoints { .. } => false,
        }).collect();
        let mut right: BTreeSet<Option<SocketAddr>> = BTreeSet::new();
        for value in attainable(host.clone()) {
            let service = match value.map(|index| &host[index].act) {
                Some(Act::Map { service, .. }) => *service,
                Some(_) => { right.insert(None); continue }
                None => data.service_of(rank),
            };
            let sets: Vec<&Step> = steps.iter()
                .filter(|step| matches!(&step.act, Act::Endpoints { service: of, .. } if *of == service))
                .collect();
            for value in attainable(sets.clone()) {
                match value.map(|index| &sets[index].act) {
                    Some(Act::Endpoints { addresses, .. }) => right.extend(addresses.iter().map(|one| Some(*one))),
                    _ => right.extend(data.endpoints(service)[0].1.iter().map(|one| Some(*one))),
                }
            }
        }
        let all = standard_origins().into_iter().map(Some).chain([None]);
        for answer in all {
            let seen = answer.map_or(Seen::Nowhere, Seen::Endpoint);
            let verdict = truth.judge(&Asked { rank, asked, answered, seen });
            let is_right = matches!(verdict, Verdict::Right | Verdict::Old { .. });
            prop_assert_eq!(is_right, right.contains(&answer), "{:?} {:?}", answer, verdict);
        }
    }

    /// What is forgotten changes no verdict on questions asked later.
    #[test]
    fn forgetting_changes_nothing_later(hosts in 1u64..12, batches in schedule(), now in 0u64..500, later in 0u64..200) {
        let data = data(hosts);
        let steps = steps(&data, &batches);
        let (all, mut less) = (truth(&data, &steps), truth(&data, &steps));
        less.forget_before(now);
        for rank in 0..hosts {
            for seen in standard_origins().into_iter().map(Seen::Endpoint).chain([Seen::Nowhere]) {
                let asked = Asked { rank, asked: now + later, answered: now + later + 5, seen };
                prop_assert_eq!(all.judge(&asked), less.judge(&asked));
            }
        }
    }
}

#[test]
fn strange_answers_are_wrong_and_failures_are_not_judged() {
    let data = data(5);
    let truth = Truth::new(&data, WINDOW);
    let judge = |seen| truth.judge(&Asked { rank: 0, asked: 1, answered: 2, seen });
    assert!(matches!(judge(Seen::Strange("hello".into())), Verdict::Wrong { allowed } if allowed.len() == 1));
    assert_eq!(judge(Seen::Failed("no answer".into())), Verdict::Failed);
}

#[test]
fn old_answers_tell_their_age() {
    let data = data(12);
    // The first change that gives a host's service other endpoints, and none of those before.
    let changed = |(_, act): &(u64, Act)| match act {
        Act::Endpoints { service, addresses } => {
            data.endpoints(*service)[0].1.iter().all(|old| !addresses.contains(old))
        }
        _ => false,
    };
    let (number, act) = (1..).zip(Churn::new(&data, data.seed())).find(changed).unwrap();
    let Act::Endpoints { service, .. } = act else { unreachable!("such a change was looked for") };
    let mut truth = Truth::new(&data, WINDOW);
    truth.take(Mark::Writing { until: number, ns: 100 });
    let old = data.endpoints(service)[0].1[0];
    let rank = (0..12).find(|rank| {
        matches!(
            truth.judge(&Asked { rank: *rank, asked: 112, answered: 113, seen: Seen::Endpoint(old) }),
            Verdict::Old { .. }
        )
    });
    let at = |asked| {
        truth.judge(&Asked { rank: rank.unwrap(), asked, answered: asked + 1, seen: Seen::Endpoint(old) })
    };
    assert_eq!((at(50), at(112)), (Verdict::Right, Verdict::Old { ns: 12 }));
}
