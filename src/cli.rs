//! The command line: one variant per role and operator command, parsed whole before anything opens.
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;

use crate::ctl;

/// Edge router and API gateway.
#[derive(Debug, PartialEq, Parser)]
#[command(name = "ringway", version, after_help = EXIT_CODES)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 0 fine, 1 the input is wrong, 2 wrong usage, 3 the machine lacks something (it says what).

Example, from nothing to a running router:
  ringway check --config docs/examples/quickstart.yaml
  ringway run --config docs/examples/quickstart.yaml";

const RUN_HELP: &str = "\
SIGHUP reads the configuration again, SIGTERM finishes what is open and ends, SIGUSR1 begins the access log anew.

Example: ringway run --config edge.yaml";

const CHECK_HELP: &str = "\
What would be refused on this machine alone is a warning. Exit codes: 0 the file is right, 1 it has mistakes.

Example: ringway check --config edge.yaml";

const SCHEMA_HELP: &str = "\
Example: ringway schema > ringway.schema.json
  and as the first line of the configuration beside it:
  # yaml-language-server: $schema=ringway.schema.json";

const COMPLETIONS_HELP: &str = "\
Examples:
  ringway completions bash > ~/.local/share/bash-completion/completions/ringway
  ringway completions zsh > ~/.zfunc/_ringway
  ringway completions fish > ~/.config/fish/completions/ringway.fish";

const MAN_HELP: &str = "Example: ringway man ~/.local/share/man/man1";

const STATE_HELP: &str = "\
Examples:
  ringway state build --from changes.jsonl --out base.snap
  ringway state inspect base.snap --host shop.example.com
  ringway state diff yesterday.snap base.snap";

const EXPLAIN_HELP: &str = "\
Exit codes: 0 an origin or the router answers the request, 1 the input is wrong or the request gets an error.

Examples:
  ringway explain --config edge.yaml --host hello.localhost --path '/a/../b?c=d'
  ringway explain --config edge.yaml --host hello.localhost --method POST --header 'Content-Length: 1000'
  ringway explain --config edge.yaml --host hello.localhost --admin";

const GUARDS_HELP: &str = "\
Guards hold changes back that would take too many healthy endpoints at once; no tombstone waits for them.

Examples:
  ringway guards list --config edge.yaml
  ringway guards acknowledge emptied --config edge.yaml";

#[derive(Debug, PartialEq, Subcommand)]
pub enum Command {
    /// Run the router
    #[command(after_help = RUN_HELP)]
    Run {
        /// The configuration, as in docs/examples/quickstart.yaml
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
    },
    /// Check a configuration: every mistake on its own line, as FILE:LINE: what and how to mend it
    #[command(after_help = CHECK_HELP)]
    Check {
        /// The configuration to check
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
    },
    /// Tell what becomes of a request, and why: its service, the endpoints it may go to, what holds for it
    #[command(after_help = EXPLAIN_HELP)]
    Explain(ctl::Explain),
    /// Tell what a running router's guards hold back of its feed, or let it go
    #[command(subcommand, after_help = GUARDS_HELP)]
    Guards(ctl::Guards),
    /// Print the JSON Schema of the configuration, by which editors complete and check it
    #[command(after_help = SCHEMA_HELP)]
    Schema,
    /// Print the script by which a shell completes ringway's commands
    #[command(after_help = COMPLETIONS_HELP)]
    Completions { shell: Shell },
    /// Write manual pages, one for each command
    #[command(after_help = MAN_HELP)]
    Man {
        /// Where they go; it is made if need be
        #[arg(value_name = "DIR")]
        dir: PathBuf,
    },
    /// Build, look into and compare snapshots of the route table
    #[command(subcommand, after_help = STATE_HELP)]
    State(ctl::StateCommand),
}

/// How the process ends. Scripts rely on the numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Exit {
    #[default]
    Fine = 0,
    /// A configuration, snapshot or change file; the reason was printed.
    WrongInput = 1,
    /// The command line itself.
    Usage = 2,
    /// A kernel feature, limit or permission; the mending command was printed. Or room for the output.
    MachineLacks = 3,
    /// Nobody reads the output to its end: as a shell tells of a program that SIGPIPE has ended.
    Unread = 141,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Reads the command line, program name first.
///
/// # Errors
/// How to end when there is nothing to do: `Fine` after `--help` or `--version`, else `Usage`; the text is
/// printed, unless standard output takes none.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Command, io::Result<Exit>> {
    understand(arguments).map_err(|answer| match (exit_after(&answer), answer.print()) {
        (Exit::Fine, Err(error)) => Err(error),
        // Nobody is left to tell when even a mistake can't be written.
        (exit, _) => Ok(exit),
    })
}

fn understand(arguments: impl IntoIterator<Item = OsString>) -> Result<Command, clap::Error> {
    CommandLine::try_parse_from(arguments).map(|line| line.command)
}

/// The command line as it is described.
pub fn command() -> clap::Command {
    CommandLine::command()
}

fn exit_after(answer: &clap::Error) -> Exit {
    if answer.use_stderr() { Exit::Usage } else { Exit::Fine }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a failed unwrap is a failed test
    use super::*;
    use crate::config::HostName;
    use crate::ctl::StateCommand;

    fn parsed(line: &str) -> Result<Command, Exit> {
        understand(line.split(' ').map(OsString::from)).map_err(|answer| exit_after(&answer))
    }

    #[test]
    fn every_command() {
        let config = PathBuf::from("a.yaml");
        assert_eq!(parsed("ringway run --config a.yaml"), Ok(Command::Run { config: config.clone() }));
        assert_eq!(parsed("ringway check --config=a.yaml"), Ok(Command::Check { config }));
        let line = "ringway explain --config a.yaml --host b.test --header A:b --header C:d --admin --json";
        let options = ctl::Explain {
            config: "a.yaml".into(),
            host: "b.test".into(),
            path: "/".into(),
            method: "GET".into(),
            headers: vec![("A".into(), "b".into()), ("C".into(), "d".into())],
            admin: Some(String::new()),
            json: true,
        };
        assert_eq!(parsed(line), Ok(Command::Explain(options)));
        let router = || ctl::Running { config: Some("a.yaml".into()), admin: None };
        let list = ctl::Guards::List { router: router(), json: true };
        assert_eq!(parsed("ringway guards list --config a.yaml --json"), Ok(Command::Guards(list)));
        let rule = Some("fleet".to_owned());
        let acknowledge = ctl::Guards::Acknowledge { router: router(), rule, service: None };
        let line = "ringway guards acknowledge fleet --config a.yaml";
        assert_eq!(parsed(line), Ok(Command::Guards(acknowledge)));
        assert_eq!(parsed("ringway schema"), Ok(Command::Schema));
        assert_eq!(parsed("ringway completions zsh"), Ok(Command::Completions { shell: Shell::Zsh }));
        assert_eq!(parsed("ringway man out"), Ok(Command::Man { dir: "out".into() }));
        let build = StateCommand::Build { from: "d.jsonl".into(), out: "base.snap".into() };
        assert_eq!(parsed("ringway state build --from d.jsonl --out base.snap"), Ok(Command::State(build)));
        let host = HostName::parse("hello.localhost").ok();
        let inspect = StateCommand::Inspect { file: "base.snap".into(), header: false, host, key: None };
        let line = "ringway state inspect base.snap --host Hello.localhost";
        assert_eq!(parsed(line), Ok(Command::State(inspect)));
        let inspect = StateCommand::Inspect { file: "base.snap".into(), header: true, host: None, key: None };
        assert_eq!(parsed("ringway state inspect base.snap --header"), Ok(Command::State(inspect)));
        let verify = StateCommand::Verify { file: "base.snap".into() };
        assert_eq!(parsed("ringway state verify base.snap"), Ok(Command::State(verify)));
    }

    #[test]
    fn wrong_lines_are_usage_and_help_is_fine() {
        for wrong in [
            "ringway",
            "ringway fly",
            "ringway run",
            "ringway run a.yaml",
            "ringway run --config a.yaml --config b.yaml",
            "ringway run --config a.yaml extra",
            "ringway explain --config a.yaml",
            "ringway explain --config a.yaml --host a.test --header b",
            "ringway explain --config a.yaml --host= --admin",
            "ringway explain --config a.yaml --host a.test --path /\r\n",
            "ringway guards",
            "ringway guards list",
            "ringway guards list --config a.yaml --admin http://127.0.0.1:9180",
            "ringway guards acknowledge --config a.yaml",
            "ringway guards acknowledge tombstones --config a.yaml",
            "ringway guards acknowledge --service a/b --config a.yaml",
            "ringway guards acknowledge --service= --config a.yaml",
            "ringway guards acknowledge fleet --service svc_a --config a.yaml",
            "ringway schema edge.yaml",
            "ringway completions",
            "ringway completions command.com",
            "ringway man",
            "ringway state",
            "ringway state build --from d.jsonl",
            "ringway state inspect base.snap --host -a",
            "ringway state verify",
        ] {
            assert_eq!(parsed(wrong), Err(Exit::Usage), "{wrong}");
        }
        for fine in ["ringway --version", "ringway --help", "ringway help state", "ringway run --help"] {
            assert_eq!(parsed(fine), Err(Exit::Fine), "{fine}");
        }
    }

    /// Every command's help ends in an example that is one.
    #[test]
    fn every_help_has_an_example() {
        let mut waiting = vec![(vec!["ringway".to_owned()], command())];
        while let Some((words, described)) = waiting.pop() {
            let help = described.get_after_help().map(ToString::to_string).unwrap_or_default();
            let name = words.join(" ");
            let examples = help.split("xample").nth(1).unwrap_or_default();
            let examples: Vec<&str> =
                examples.lines().filter_map(|line| line.find("ringway ").map(|at| &line[at..])).collect();
            assert!(!examples.is_empty(), "{name}: {help}");
            for example in examples {
                let line = example.split(['>', '|']).next().unwrap().replace('\'', "");
                assert!(line.starts_with(&name), "{name}: {example}");
                if !example.contains("--header") {
                    assert!(parsed(line.trim()).is_ok(), "{example}");
                }
            }
            let subcommands = described.get_subcommands().filter(|sub| sub.get_name() != "help");
            waiting.extend(
                subcommands
                    .map(|sub| ([words.as_slice(), &[sub.get_name().to_owned()]].concat(), sub.clone())),
            );
        }
    }

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }
}
