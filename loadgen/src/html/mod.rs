//! A run's report as a page that stands alone: charts drawn here, no script, nothing fetched, light and dark.

pub mod chart;
mod over_time;
pub mod scale;
#[cfg(test)]
mod tests;
pub mod text;

use std::fmt::Write;
use std::time::SystemTime;

use ringway::proto::date::HttpDate;

use self::chart::{Axis, Chart, Kind, Line};
use self::over_time::{OverTime, Points};
use self::scale::Scale;
use self::text::{count, escaped, percent, round, round_time, time};
use crate::report::{Percentile, Report, TargetReport, table};

const STYLE: &str = include_str!("style.css");
const PERCENTILES: [f64; 6] = [0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999];

/// The page, for a run that ended at `when`.
#[must_use]
pub fn page(report: &Report, when: SystemTime) -> String {
    let names: Vec<String> = report.targets.iter().map(|target| escaped(&target.name)).collect();
    let title = format!("Load test of {}", names.join(", "));
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n\
         </head>\n<body>\n<main>\n<header>\n<h1>{title}</h1>\n"
    );
    if !report.about.is_empty() {
        // Writing to a String cannot fail, here and below.
        let _ = writeln!(out, "<p class=\"about\">{}</p>", escaped(&report.about));
    }
    facts(report, when, &mut out);
    out += "</header>\n<h2>Summary</h2>\n<section class=\"card scroll\">\n";
    summary(report, &mut out);
    out += "</section>\n<h2>Latency</h2>\n<section class=\"card\">\n";
    out += &by_percentile(report).figure();
    percentile_table(report, &mut out);
    out += "</section>\n<h2>Over time</h2>\n<section class=\"targets\">\n";
    over_time(report, &mut out);
    out + "</section>\n</main>\n</body>\n</html>\n"
}

fn facts(report: &Report, when: SystemTime, out: &mut String) {
    let load = match (report.rate, report.rates.as_slice()) {
        (None, _) => "closed loop".to_owned(),
        (Some(rate), [_] | []) => format!("{} requests/s", round(rate)),
        (Some(rate), _) => format!("up to {} requests/s", round(rate)),
    };
    let mut facts = vec![("Load", load), ("Connections", count(report.connections as u64))];
    if let Some(seconds) = report.duration_s {
        facts.push(("Time", format!("{} s", round(seconds))));
    }
    if let Some(most) = report.storm.iter().map(|rate| rate.from.max(rate.to)).reduce(f64::max) {
        facts.push(("Storm", format!("up to {} connections/s", round(most))));
    }
    if report.keep_alive_share < 1.0 {
        facts.push(("Connections kept", percent(report.keep_alive_share)));
    }
    facts.push(("Rounds", report.rounds.to_string()));
    facts.push(("Seed", report.seed.to_string()));
    let unix = when.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    let date = HttpDate::from_unix_seconds(unix);
    facts.push(("Ended", String::from_utf8_lossy(date.as_octets()).into_owned()));
    facts.push(("By", format!("ringway-loadgen {}", report.version)));
    *out += "<dl class=\"facts\">\n";
    for (name, value) in facts {
        let _ = writeln!(out, "<div><dt>{name}</dt><dd>{}</dd></div>", escaped(&value));
    }
    *out += "</dl>\n";
}

fn summary(report: &Report, out: &mut String) {
    *out += "<table>\n<thead><tr><th scope=\"col\">Target</th>";
    for name in ["Requests", "Errors", "Good/s", "p50", "p90", "p99", "p99.9", "Longest"] {
        let _ = write!(out, "<th scope=\"col\">{name}</th>");
    }
    *out += "</tr></thead>\n<tbody>\n";
    for (at, target) in report.targets.iter().enumerate() {
        let (figures, latency) = (&target.figures, target.figures.latency_us);
        let bad = if figures.errors > 0 { " class=\"bad\"" } else { "" };
        let _ = write!(
            out,
            "<tr><th scope=\"row\"><span class=\"key c{}\"></span>{}</th><td>{}</td><td{bad}>{}</td><td>{}</td>",
            at % 8,
            escaped(&target.name),
            count(figures.requests),
            count(figures.errors),
            round(figures.rps.round())
        );
        for us in [latency.p50, latency.p90, latency.p99, latency.p999, latency.max] {
            let _ = write!(out, "<td>{}</td>", time(us));
        }
        *out += "</tr>\n";
    }
    *out += "</tbody>\n</table>\n";
    for ratio in &report.ratios {
        let _ = writeln!(
            out,
            "<p class=\"note\">{} to {}: p50 {:.3}, p99 {:.3}, good/s {:.3} (medians of paired rounds)</p>",
            escaped(&ratio.target),
            escaped(&ratio.to),
            ratio.p50,
            ratio.p99,
            ratio.rps
        );
    }
    for target in &report.targets {
        let kinds = table::kinds(&target.figures.error_kinds);
        if !kinds.is_empty() {
            let _ = writeln!(
                out,
                "<p class=\"note bad\">{}: {}</p>",
                escaped(&target.name),
                escaped(&kinds.join(", "))
            );
        }
    }
}

/// How many nines a share has: 0 of none, 2 of 99 %.
fn nines(share: f64) -> f64 {
    -(1.0 - share).max(1e-12).log10()
}

fn by_percentile(report: &Report) -> Chart {
    let points = || report.targets.iter().flat_map(|target| &target.percentiles);
    let least = points().map(|point| point.us).fold(f64::INFINITY, f64::min);
    let most = points().map(|point| point.us).fold(0.0, f64::max);
    let furthest = points().map(|point| nines(point.share)).fold(1.0, f64::max);
    let x = Scale::Linear { from: 0.0, to: furthest };
    let marks = std::iter::once(0.0).chain(PERCENTILES).filter(|share| nines(*share) <= furthest + 1e-9);
    let line = |(colour, target): (usize, &TargetReport)| Line {
        name: target.name.clone(),
        colour,
        kind: Kind::Solid,
        points: target.percentiles.iter().map(|point| (nines(point.share), Some(point.us))).collect(),
    };
    Chart {
        id: "percentiles".to_owned(),
        title: "Latency by percentile, from the intended start to the last octet".to_owned(),
        description: "One line for each target; each further nine takes the same width. The table below has the values."
            .to_owned(),
        width: 1100.0,
        height: 400.0,
        x: Axis {
            label: "share of answers, and of what timed out, that took at most so long".to_owned(),
            scale: x,
            marks: marks.map(|share| (nines(share), percent(share))).collect(),
        },
        y: Axis::marked("", Scale::decades(if least.is_finite() { least } else { 1.0 }, most), round_time),
        lines: report.targets.iter().enumerate().map(line).collect(),
    }
}

fn percentile_table(report: &Report, out: &mut String) {
    *out += "<details>\n<summary>Latency by percentile as a table</summary>\n<div class=\"scroll\"><table>\n\
             <thead><tr><th scope=\"col\">Share</th>";
    for target in &report.targets {
        let _ = write!(out, "<th scope=\"col\">{}</th>", escaped(&target.name));
    }
    *out += "</tr></thead>\n<tbody>\n";
    let longest = report.targets.iter().map(|target| &target.percentiles).max_by_key(|points| points.len());
    for (at, Percentile { share, .. }) in longest.into_iter().flatten().enumerate() {
        let _ = write!(out, "<tr><th scope=\"row\">{}</th>", percent(*share));
        for target in &report.targets {
            let shown = target.percentiles.get(at).map_or("–".to_owned(), |point| time(point.us));
            let _ = write!(out, "<td>{shown}</td>");
        }
        *out += "</tr>\n";
    }
    *out += "</tbody>\n</table></div>\n</details>\n";
}

/// For each target what it answered, what it did not, and how fast; all with the same axes, so that they compare.
fn over_time(report: &Report, out: &mut String) {
    let all: Vec<OverTime> =
        report.targets.iter().map(|target| OverTime::of(target, report.duration_s)).collect();
    let most = |points: fn(&OverTime) -> &Points| {
        all.iter().flat_map(|one| points(one).iter().filter_map(|point| point.1)).fold(0.0, f64::max)
    };
    let least =
        all.iter().flat_map(|one| one.p50.iter().filter_map(|point| point.1)).fold(f64::INFINITY, f64::min);
    let end = all.iter().flat_map(|one| one.errors.iter().map(|point| point.0)).fold(0.0, f64::max);
    let seconds = || {
        let scale = Scale::Linear { from: 0.0, to: report.duration_s.unwrap_or(end).max(end).max(0.1) };
        Axis::marked("seconds", scale, round)
    };
    let rate = |most: f64| Axis::marked("", Scale::from_zero(most), round);
    let latency = || {
        let scale = Scale::decades(if least.is_finite() { least } else { 1.0 }, most(|one| &one.p99));
        Axis::marked("", scale, round_time)
    };
    for (at, (target, one)) in report.targets.iter().zip(all.iter()).enumerate() {
        let _ = writeln!(
            out,
            "<article class=\"card\">\n<h3><span class=\"key c{}\"></span>{}</h3>\n<p class=\"address\">{}</p>",
            at % 8,
            escaped(&target.name),
            escaped(&target.address)
        );
        let line = |name: &str, kind, points: &[(f64, Option<f64>)]| Line {
            name: name.to_owned(),
            colour: at % 8,
            kind,
            points: points.to_vec(),
        };
        let charts = [
            (
                "good",
                "Good answers a second",
                rate(most(|one| &one.good)),
                vec![line("good", Kind::Area, &one.good)],
            ),
            (
                "errors",
                "Errors a second",
                rate(most(|one| &one.errors)),
                vec![line("errors", Kind::Area, &one.errors)],
            ),
            (
                "latency",
                "Latency",
                latency(),
                vec![line("p99", Kind::Solid, &one.p99), line("p50", Kind::Dashed, &one.p50)],
            ),
        ];
        for (what, title, y, lines) in charts {
            let description = format!("{title} of {} over the time of a round.", target.name);
            let (id, title, x) = (format!("{what}-{at}"), title.to_owned(), seconds());
            *out += &Chart { id, title, description, width: 540.0, height: 210.0, x, y, lines }.figure();
        }
        *out += "</article>\n";
    }
}
