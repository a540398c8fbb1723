//! What was seen, as figures with their goals (design section 5, S3).
use super::{Options, Seen, Windows};
use crate::generator::Latency;
use crate::peers::Peer;
use crate::report::{Figure, Unit};
use crate::stats::{median, paired_ratios};

/// Windows with changes may be as much slower.
const SLOWER: f64 = 1.05;
const VISIBLE_US: f64 = 1_000.0;
const CORE_US: f64 = 5.0;
const SLICE_US: f64 = 100.0;
const WRITTEN_A_SECOND: f64 = 5_000_000.0;
const HOUSEKEEPING: f64 = 0.05;
/// Of one core.
const OVERLAY_OCTETS: f64 = 33_554_432.0;
const BURST_US: f64 = 10e6;

pub(super) fn of(seen: &Seen, options: &Options) -> Vec<Figure> {
    let steady = &seen.steady;
    let changes = steady.changes as f64;
    let judged = steady.judged;
    let judged_in_all = judged.right + judged.wrong + judged.failed;
    let mut figures =
        vec![latency(seen, "p50", |latency| latency.p50), latency(seen, "p99", |latency| latency.p99)];
    figures.push(core(&seen.core));
    figures.extend(steady.visible.quantile(0.99).map(|p99| {
        let p50 = steady.visible.quantile(0.5).unwrap_or_default();
        let note = format!("p50 {p50:.0} µs; {changes:.0} changes in {:.0} s", steady.seconds);
        one("churn_visible_p99", "read until every core serves it, p99", Unit::Micros, p99)
            .goal(None, VISIBLE_US)
            .note(note)
    }));
    let switches = steady.switches_ns as f64 / 1e3 / changes;
    let apply = steady.apply.quantile(0.5).unwrap_or_default();
    let feed = steady.feed_ns as f64 / 1e3 / changes;
    let note = format!("in the feed's thread: {apply:.1} µs to apply (p50), {feed:.1} µs in all");
    figures.push(
        one("churn_switch", "taking a change up, on a core", Unit::Micros, switches)
            .goal(None, CORE_US)
            .note(note),
    );
    let slice = steady.longest_switch_ns as f64 / 1e3;
    figures.push(
        one("churn_slice", "the longest slice of it on a core", Unit::Micros, slice).goal(None, SLICE_US),
    );
    let most = steady.most;
    figures.push(
        one("churn_overlay", "overlay, the most", Unit::Octets, most.overlay_octets as f64)
            .goal(None, OVERLAY_OCTETS)
            .note(format!("{} keys, {} levels; {} looks", most.overlay_keys, most.levels, most.looks)),
    );
    let written = steady.written as f64 / steady.seconds;
    figures.push(
        one("churn_written", "files of the table, a second", Unit::Octets, written)
            .goal(None, WRITTEN_A_SECOND),
    );
    let share = steady.housekeeper_ns as f64 / 1e9 / steady.seconds;
    figures.push(
        one("churn_housekeeping", "housekeeping's share of a CPU", Unit::Share, share)
            .goal(None, HOUSEKEEPING),
    );
    figures.push(
        one("churn_wrong", "wrong answers", Unit::Count, judged.wrong as f64)
            .goal(None, 0.0)
            .note(format!("of {judged_in_all} judged, {} had no answer", judged.failed)),
    );
    figures.push(
        one(
            "churn_burst",
            "a burst until every core serves it",
            Unit::Micros,
            seen.burst.as_secs_f64() * 1e6,
        )
        .goal(None, BURST_US)
        .note(format!("{} changes", options.burst)),
    );
    figures
}

fn one(id: &str, what: &str, unit: Unit, value: f64) -> Figure {
    Figure::new(id.to_owned(), what.to_owned(), unit, vec![(Peer::Ringway, vec![value])])
}

fn latency(seen: &Seen, quantile: &str, of: fn(&Latency) -> f64) -> Figure {
    let [still, changing] = [0, 1].map(|kind| {
        seen.latency.turns.of[kind].iter().map(|turn| of(&turn.outcome.latency_us)).collect::<Vec<_>>()
    });
    let rate = seen.requests_per_second;
    let what = format!("{quantile} while the table changes over {quantile} while not, {rate} requests/s");
    let values = vec![(Peer::Ringway, paired_ratios(&changing, &still))];
    Figure::new(format!("churn_{quantile}"), what, Unit::Share, values).goal(None, SLOWER).note(format!(
        "{:.0} µs without, {:.0} µs with",
        median(&still),
        median(&changing)
    ))
}

/// CPU time of a core that changes take, wakes included, by what windows with and without differ.
fn core(windows: &Windows) -> Figure {
    let of = |kind: usize| windows.turns.of[kind].iter().map(|turn| turn.cpu.on_cpu_ns as f64 / 1e3);
    let more: Vec<f64> = of(1).zip(of(0)).map(|(changing, still)| changing - still).collect();
    let all = (windows.turns.of[1].len() + windows.turns.repeated).max(1);
    let a_window = windows.changes as f64 / all as f64;
    let each = more.iter().map(|more| more / a_window).collect();
    let what = "CPU time of a core for a change, wakes included".to_owned();
    Figure::new("churn_core".to_owned(), what, Unit::Micros, vec![(Peer::Ringway, each)])
        .goal(None, CORE_US)
        .note(format!("idle: park; {:.0} changes", windows.changes))
}
