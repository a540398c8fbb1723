//! Counts that do not drift with the machine: calls of io_uring_enter and instructions for each request. A
//! rise above what was accepted is an error until somebody accepts it.
mod accepted;
mod callgrind;
mod enters;

use std::io::Write;
use std::path::Path;

use comfy_table::{Table, presets::UTF8_HORIZONTAL_ONLY};

use crate::failure::Failure;
use crate::peers::Programs;
use crate::scene::Scene;
use accepted::Accepted;

/// A count for each request.
pub struct Counted {
    /// What accepted.toml calls it.
    pub name: &'static str,
    pub per_request: f64,
}

/// Counts everything, and compares with `path` or, with `accept`, writes it there. `Ok(false)`: something
/// rose.
pub fn run(
    programs: &Programs,
    scene: &Scene,
    path: &Path,
    accept: bool,
    out: &mut impl Write,
) -> Result<bool, Failure> {
    let mut counted = enters::count(programs, scene)?;
    counted.push(callgrind::count(programs, scene)?);
    let mut accepted = Accepted::read(path)?;
    if accept {
        accepted.accept(&counted);
        accepted.write(path)?;
    }
    let mut table = Table::new();
    table.load_style(UTF8_HORIZONTAL_ONLY);
    table.set_header(["count per request", "now", "accepted", "may rise to", "verdict"]);
    let mut keeps = true;
    for one in &counted {
        let (was, bound, verdict) = match accepted.bound(one.name) {
            Some((was, bound)) if one.per_request <= bound => (was, bound, "kept"),
            Some((was, bound)) => (was, bound, "ROSE"),
            None => (f64::NAN, f64::NAN, "NOT ACCEPTED YET: run with --accept"),
        };
        keeps &= verdict == "kept";
        let number = |value: f64| format!("{value:.4}");
        table.add_row([one.name, &number(one.per_request), &number(was), &number(bound), verdict]);
    }
    writeln!(out, "{table}").map_err(Failure::file("standard output"))?;
    Ok(keeps)
}
