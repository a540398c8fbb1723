//! argv → command → exit code.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use ringway_loadgen::cli::{Command, CommandLine};
use ringway_loadgen::{hold, origin, pattern, run};

fn main() -> ExitCode {
    // Ends here, with 2 or after --help with 0, unless a whole command was typed.
    let line = CommandLine::parse();
    let done = match &line.command {
        Command::Run(options) => run::run(options),
        Command::Idle(options) => hold::idle(options),
        Command::Origin(options) => origin::origin(options),
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
