//! argv → command → exit code.

use std::io::Write;
use std::process::ExitCode;

use ringway_loadgen::cli::{Command, CommandLine};
use ringway_loadgen::{deltas, hold, origin, pattern, run, verify};

fn main() -> ExitCode {
    let line = CommandLine::typed();
    let done = match &line.command {
        Command::Run(options) => run::run(options),
        Command::Idle(options) => hold::idle(options),
        Command::Origin(options) => origin::origin(options),
        Command::Deltas(options) => deltas::deltas(options),
        Command::Verify(options) => verify::verify(options),
        Command::Digest(options) => run::print(&format!("{}\n", pattern::digest(options.seed, options.size))),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody is left to tell when even this cannot be written.
            let _ = writeln!(std::io::stderr(), "ringway-loadgen: {error}");
            error.exit_code()
        }
    }
}
