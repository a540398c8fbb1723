//! argv → command → role; exit codes. Names every role, and nothing else.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use ringway::cli::{self, Command, Exit};
use ringway::observe::process_log::{self, Level, event};
use ringway::{config, ctl, edge};

fn main() -> ExitCode {
    let out = &mut io::stdout().lock();
    let told = match cli::parse(std::env::args_os()) {
        Ok(command) => act(command, out),
        Err(told) => told.map(ExitCode::from),
    };
    told.and_then(|exit| out.flush().map(|()| exit)).unwrap_or_else(|error| untold(&error).into())
}

/// Does what was asked. Errors are those of `out`.
fn act(command: Command, out: &mut impl Write) -> io::Result<ExitCode> {
    let exit = match command {
        Command::Run { config } => Ok(run(&config)),
        Command::Check { config } => ctl::check(&config, out),
        Command::Explain(options) => ctl::explain(&options, out),
        Command::Guards(what) => ctl::guards(&what, out),
        Command::Schema => ctl::schema(out),
        Command::Completions { shell } => ctl::completions(shell, out),
        Command::Man { dir } => ctl::man(&dir, out),
        Command::State(command) => return ctl::state(command, out, &mut io::stderr()),
    };
    exit.map(ExitCode::from)
}

/// The result is not where it was to go, so that whoever takes it from there must not find it fine.
fn untold(error: &io::Error) -> Exit {
    // As in `ringway check … | head -1`.
    if error.kind() == io::ErrorKind::BrokenPipe {
        return Exit::Unread;
    }
    let _ = writeln!(
        io::stderr(),
        "ringway: standard output cannot be written to: {error}; make room there, or let it go elsewhere"
    );
    Exit::MachineLacks
}

fn run(path: &Path) -> Exit {
    process_log::install_panic_hook();
    let config = match config::load(path) {
        Ok(config) => config,
        Err(mistakes) => {
            let _ = writeln!(io::stderr(), "{mistakes}");
            return Exit::WrongInput;
        }
    };
    process_log::set_level(config.process_log);
    for warning in &config.warnings {
        event(Level::Warn, warning, &[]);
    }
    match edge::run(path, config) {
        Ok(()) => Exit::Fine,
        Err(error) => {
            let exit = if error.is_of_machine() { Exit::MachineLacks } else { Exit::WrongInput };
            let who = if error.names_its_line() { "" } else { "ringway: " };
            let _ = writeln!(io::stderr(), "{who}{error}");
            exit
        }
    }
}
