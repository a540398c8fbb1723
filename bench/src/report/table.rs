//! The table that people read.
use std::io::{self, Write};

use comfy_table::{Cell, ContentArrangement, Table, presets::UTF8_HORIZONTAL_ONLY};

use super::{Figure, Goal, Run, Unit};
use crate::peers::Peer;
use crate::stats::{Spread, Verdict};

/// More than this at the start is somebody else's work.
const BUSY_LOAD_AVERAGE: f64 = 1.0;
/// Columns of text: wide enough for four peers, narrow enough for a wide terminal.
const WIDTH: u16 = 170;

/// Prints machine, versions and one row a figure.
pub fn print(run: &Run, out: &mut impl Write) -> io::Result<()> {
    let machine = &run.machine;
    writeln!(
        out,
        "{} × {}, {:.0} GiB, Linux {}, load average {} at start",
        machine.cpus, machine.cpu, machine.memory_gib, machine.kernel, machine.load_average
    )?;
    if machine.load_average > BUSY_LOAD_AVERAGE {
        writeln!(
            out,
            "Others were at work on this machine: believe no absolute figure, and repeat a missed one."
        )?;
    }
    writeln!(out, "{}", run.versions.join(" · "))?;
    writeln!(out, "{}", run.conditions)?;
    let peers = peers_of(&run.figures);
    let mut table = Table::new();
    table
        .load_style(UTF8_HORIZONTAL_ONLY)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(WIDTH);
    table.set_header(header(&peers));
    for figure in &run.figures {
        table.add_row(row(figure, &peers));
    }
    writeln!(out, "{table}")?;
    writeln!(
        out,
        "Figures are medians of {} rounds; ratios are paired by round: median (min–max).",
        run.rounds
    )
}

fn peers_of(figures: &[Figure]) -> Vec<Peer> {
    let mut peers: Vec<Peer> = figures.iter().flat_map(|figure| figure.values.keys().copied()).collect();
    peers.sort();
    peers.dedup();
    peers
}

fn header(peers: &[Peer]) -> Vec<String> {
    let mut cells = vec!["figure".to_owned(), "what".to_owned()];
    cells.extend(peers.iter().map(|peer| peer.name().to_owned()));
    cells.extend(["ratio to".to_owned(), "goal".to_owned(), "note".to_owned()]);
    cells
}

fn row(figure: &Figure, peers: &[Peer]) -> Vec<Cell> {
    let mut cells = vec![Cell::new(&figure.id), Cell::new(&figure.what)];
    for peer in peers {
        cells.push(Cell::new(
            figure.values.get(peer).map_or(String::new(), |spread| value(spread, figure.unit)),
        ));
    }
    let ratios: Vec<String> =
        figure.ratios.iter().map(|(peer, spread)| format!("{} {}", peer.name(), ratio(spread))).collect();
    let goals: Vec<String> = figure.goals.iter().map(|goal| verdict(goal, figure.unit)).collect();
    cells.extend([Cell::new(ratios.join("\n")), Cell::new(goals.join("\n")), Cell::new(&figure.note)]);
    cells
}

fn value(spread: &Spread, unit: Unit) -> String {
    number(spread.median, unit)
}

fn number(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Micros if value.abs() < 100.0 => format!("{value:.2} µs"),
        Unit::Micros => format!("{value:.0} µs"),
        Unit::Share => format!("{:.1} %", 100.0 * value),
        Unit::PerSecond => format!("{value:.0}/s"),
        Unit::Octets => format!("{value:.0} B"),
        Unit::Count => format!("{value:.0}"),
    }
}

fn ratio(spread: &Spread) -> String {
    format!("{:.3} ({:.3}–{:.3})", spread.median, spread.min, spread.max)
}

fn verdict(goal: &Goal, unit: Unit) -> String {
    let bound = match goal.against {
        Some(peer) => format!("≤ {} × {}", goal.at_most, peer.name()),
        None => format!("≤ {}", number(goal.at_most, unit)),
    };
    let word = match goal.verdict {
        Some(Verdict::Pass) => "pass",
        Some(Verdict::Miss) => "MISSED",
        Some(Verdict::NotResolved) => "not resolved",
        None => "not measured",
    };
    format!("{bound}: {word}")
}
