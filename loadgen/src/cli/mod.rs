//! The command line, parsed whole before anything opens.

mod value;

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};

pub use self::value::{Draw, HostField, HostSource, Idle, ListenOn, Target, is_path};
use self::value::{
    answer_fields, body_octets, connections, hosts, origin, rate, region, requests, rounds, seconds, seed,
    shorten,
};
use ringway_state::id::Region;

const EXIT_CODES: &str = "Exit codes: 0 fine, 1 the input is wrong (a file, or a target that never answers), \
                          2 wrong usage, 3 the machine lacks something (it says what), if only room for what comes of it, \
                          141 nobody reads it to its end.";

/// Load generator and origin for HTTP/1.1.
#[derive(Debug, PartialEq, Parser)]
#[command(name = "ringway-loadgen", version, after_help = EXIT_CODES)]
pub struct CommandLine {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, PartialEq, Subcommand)]
pub enum Command {
    /// Ask one or more targets in turn, and report latency, rate and errors
    Run(RunOptions),
    /// Open connections, send one request on each, and hold them idle
    Idle(IdleOptions),
    /// Answer every request: `/size/N` with N octets, `/chunked/N`, `/close/N`, `/status/N`, `/delay/MS`,
    /// `/digest` with the SHA-256 of what was sent, `/whoami/…` with the address that was asked, anything else with a fixed answer
    Origin(OriginOptions),
    /// Write the standard data set as a file of changes, and append changes to it as time goes on
    Deltas(DeltasOptions),
    /// Ask a router for hosts of the data set while it changes, and judge each answer by what is known
    Verify(VerifyOptions),
    /// Print the SHA-256 of the body that the origin's `/size/N` answers
    Digest(DigestOptions),
}

#[derive(Debug, PartialEq, Args)]
pub struct RunOptions {
    /// What to ask, several in turn A B A B; ratios are to the first
    #[arg(long, required = true, value_name = "[NAME=]HOST:PORT", value_delimiter = ',')]
    pub target: Vec<Target>,
    /// What to ask and when, from a plan file (loadgen/plans/README.md) instead of the options that say the same
    #[arg(long, value_name = "FILE", conflicts_with_all = ["connections", "duration", "requests", "rate", "poisson",
          "warmup", "hosts", "host", "draw", "path", "no_keep_alive", "timeout"])]
    pub plan: Option<PathBuf>,
    /// Divide the plan's times by so much, for a quick look; rates stay
    #[arg(long, value_name = "N", default_value = "1", value_parser = shorten, requires = "plan")]
    pub shorten: f64,
    /// Connections to one target
    #[arg(long, value_name = "N", default_value = "64", value_parser = connections)]
    pub connections: usize,
    /// Seconds of each turn
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    pub duration: Duration,
    /// Send exactly so many requests a turn instead, then stop; without warm-up
    #[arg(long, value_name = "N", value_parser = requests,
          conflicts_with_all = ["duration", "warmup"])]
    pub requests: Option<u64>,
    /// Open loop: so many requests a second, whether or not answers come; latency counts from when a request
    /// was meant to start. Without it, each connection sends its next request when it has its answer
    #[arg(long, value_name = "PER_SECOND", value_parser = rate)]
    pub rate: Option<f64>,
    /// Space arrivals of the open loop like those of independent clients, not evenly
    #[arg(long, requires = "rate")]
    pub poisson: bool,
    /// Seconds of each turn before figures are kept
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    pub warmup: Duration,
    /// Host names to draw from: a file with one a line, or `dataset:COUNT` for the first of the standard data
    /// set
    #[arg(long, value_name = "FILE|dataset:COUNT", conflicts_with = "host")]
    pub hosts: Option<HostSource>,
    /// The host name to ask for; the target's own when neither is given
    #[arg(long, value_name = "NAME")]
    pub host: Option<HostField>,
    /// How host names are drawn; zipf (s = 1, the first line most often) when they are the data set's
    #[arg(long, requires = "hosts")]
    pub draw: Option<Draw>,
    /// The request's path and query
    #[arg(long, default_value = "/", value_parser = is_path)]
    pub path: String,
    /// Open a connection for each request; latency counts from before it is opened
    #[arg(long)]
    pub no_keep_alive: bool,
    /// How often each target has its turn [default: 1, or the plan's]
    #[arg(long, value_name = "K", value_parser = rounds)]
    pub rounds: Option<NonZeroU32>,
    /// Seconds until a connect or an answer counts as an error
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    pub timeout: Duration,
    /// Seed of all that is drawn [default: 1, or the plan's]
    #[arg(long, value_parser = seed)]
    pub seed: Option<u64>,
    /// Write all figures as JSON; `-` is standard output, and the table then goes to standard error
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,
    /// Write a page with charts: latency by percentile, rates and errors over time, target by target
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
    /// Write latencies interval by interval, as HdrHistogram's tools read them (interval log, V2)
    #[arg(long, value_name = "FILE.hlog")]
    pub hdr: Option<PathBuf>,
    #[command(flatten)]
    pub core: CoreChoice,
}

#[derive(Debug, PartialEq, Args)]
pub struct IdleOptions {
    /// Where to connect
    #[arg(long, value_name = "HOST:PORT")]
    pub target: Target,
    /// Connections to hold
    #[arg(long, value_name = "N", value_parser = connections)]
    pub connections: usize,
    /// The host name to ask for; the target's own when not given
    #[arg(long, value_name = "NAME")]
    pub host: Option<HostField>,
    /// The request's path and query
    #[arg(long, default_value = "/", value_parser = is_path)]
    pub path: String,
    /// Seconds to hold them, once all have their answer
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub hold: Duration,
    /// Seconds until a connect or an answer counts as an error
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    pub timeout: Duration,
    #[command(flatten)]
    pub core: CoreChoice,
}

#[derive(Debug, PartialEq, Args)]
pub struct OriginOptions {
    /// Addresses to listen on, or `dataset` for the 64 of the standard data set; port 0 is any free one
    #[arg(long, required = true, value_name = "ADDR", value_delimiter = ',')]
    pub listen: Vec<ListenOn>,
    /// Answer as a plan file says (loadgen/plans/origins/README.md): latencies, sizes, statuses, stalls, resets and worse.
    /// Paths that ask for something particular get that
    #[arg(long, value_name = "FILE")]
    pub plan: Option<PathBuf>,
    /// Octets of the fixed answer's body
    #[arg(long, value_name = "OCTETS", default_value = "1024", value_parser = body_octets)]
    pub size: usize,
    /// The fixed answer's body instead, as a line of its own
    #[arg(long, value_name = "TEXT", conflicts_with = "size")]
    pub text: Option<String>,
    /// Field lines of an answer, at least 2
    #[arg(long, value_name = "N", default_value = "8", value_parser = answer_fields)]
    pub fields: usize,
    /// Seed of the octets in bodies, and of what the plan draws [default: 1, or the plan's]
    #[arg(long, value_parser = seed)]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub core: CoreChoice,
}

#[derive(Debug, PartialEq, Args)]
pub struct DeltasOptions {
    /// Where to write changes, JSON lines as the file feed reads them; replaced if it is there
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// Host names
    #[arg(long, value_name = "N", default_value = "4000000",
          value_parser = hosts)]
    pub hosts: u64,
    /// Services, each with a host name at least [default: a quarter of the host names]
    #[arg(long, value_name = "N", value_parser = hosts)]
    pub services: Option<u64>,
    /// The region in which every service has endpoints
    #[arg(long, default_value = "local", value_parser = region)]
    pub region: Region,
    /// Addresses that endpoints are drawn from; `dataset` is the 64 of the standard data set
    #[arg(long, value_name = "ADDR", value_delimiter = ',', default_value = "dataset", value_parser = origin)]
    pub origins: Vec<ListenOn>,
    /// Changes to append a second, once the data set is written: hosts move, are in transfer, vanish and return;
    /// endpoints change
    #[arg(long, value_name = "PER_SECOND", value_parser = rate)]
    pub churn: Option<f64>,
    /// How long
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds, requires = "churn")]
    pub seconds: Duration,
    /// Seed of the data set and of its changes
    #[arg(long, default_value = "1", value_parser = seed)]
    pub seed: u64,
    /// Where to write what is true when, for verify [default: the file of --out with .known behind its name]
    #[arg(long, value_name = "FILE")]
    pub known: Option<PathBuf>,
}

#[derive(Debug, PartialEq, Args)]
pub struct VerifyOptions {
    /// The router to ask
    #[arg(long, value_name = "HOST:PORT")]
    pub target: Target,
    /// What is true when, as deltas writes it, also while it does
    #[arg(long, value_name = "FILE")]
    pub known: PathBuf,
    /// Questions a second
    #[arg(long, value_name = "PER_SECOND", default_value = "1000", value_parser = rate)]
    pub rate: f64,
    /// Connections to the router
    #[arg(long, value_name = "N", default_value = "32", value_parser = connections)]
    pub connections: usize,
    /// How long to ask
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    pub seconds: Duration,
    /// Seconds after a change was written during which the old answer is right, too
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    pub window: Duration,
    /// Seconds until a connect or an answer counts as a failure
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = seconds)]
    pub timeout: Duration,
    /// Seed of which hosts are asked for
    #[arg(long, default_value = "1", value_parser = seed)]
    pub seed: u64,
    /// Write the figures as JSON; `-` is standard output, and the table then goes to standard error
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,
    #[command(flatten)]
    pub core: CoreChoice,
}

#[derive(Debug, PartialEq, Args)]
pub struct DigestOptions {
    /// Octets of the body
    #[arg(value_name = "OCTETS")]
    pub size: u64,
    /// Seed that the origin was started with
    #[arg(long, default_value = "1", value_parser = seed)]
    pub seed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Args)]
pub struct CoreChoice {
    /// The CPU to run on; the last one allowed when not given
    #[arg(long, value_name = "N")]
    pub cpu: Option<usize>,
    /// What to do while nothing is to be done: park sleeps, spin polls, adaptive polls while it pays
    #[arg(long, default_value = "park")]
    pub idle: Idle,
}

impl CommandLine {
    /// Reads what was typed.
    ///
    /// # Errors
    /// What is to be printed instead: what is wrong, or the help that was asked for.
    pub fn typed() -> Result<Self, clap::Error> {
        Self::from_arg_matches(&described().try_get_matches()?)
    }
}

/// The command line, in which a negative number is a value that is refused as such, and no option that nobody knows.
fn described() -> clap::Command {
    CommandLine::command().mut_subcommands(|command| {
        command.mut_args(|arg| match arg.get_action().takes_values() {
            true => arg.allow_negative_numbers(true),
            false => arg,
        })
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a failed unwrap is a failed test
    use super::*;

    fn parsed(line: &str) -> Result<Command, clap::Error> {
        let matches = described().try_get_matches_from(line.split(' '))?;
        CommandLine::from_arg_matches(&matches).map(|line| line.command)
    }

    fn run(line: &str) -> RunOptions {
        match parsed(&format!("ringway-loadgen run {line}")).unwrap() {
            Command::Run(options) => options,
            other => unreachable!("{other:?}"),
        }
    }

    #[test]
    fn targets_have_names_or_are_their_own() {
        let targets = run("--target 127.0.0.1:80,nginx=[::1]:8080").target;
        let target = |name: &str, authority: &str| Target { name: name.into(), authority: authority.into() };
        assert_eq!(targets, [target("127.0.0.1:80", "127.0.0.1:80"), target("nginx", "[::1]:8080")]);
    }

    #[test]
    fn defaults_are_a_closed_loop_of_64_for_10_seconds() {
        let options = run("--target a:1");
        assert_eq!((options.connections, options.rate, options.requests), (64, None, None));
        assert_eq!(
            (options.duration.as_secs(), options.warmup.as_secs(), options.timeout.as_secs()),
            (10, 1, 10)
        );
        assert_eq!((options.rounds, options.no_keep_alive, options.core.idle), (None, false, Idle::Park));
    }

    #[test]
    fn wrong_lines_are_usage_errors() {
        for wrong in [
            "",
            "--target 127.0.0.1",
            "--target 127.0.0.1:0",
            "--target =a:1",
            "--target a:1 --connections 0",
            "--target a:1 --connections 9901",
            "--target a:1 --requests 0",
            "--target a:1 --requests 5 --duration 5",
            "--target a:1 --requests 5 --warmup 5",
            "--target a:1 --rate 0",
            "--target a:1 --rate NaN",
            "--target a:1 --poisson",
            "--target a:1 --duration -1",
            "--target a:1 --duration inf",
            "--target a:1 --hosts dataset:0",
            "--target a:1 --hosts x --host y",
            "--target a:1 --draw zipf",
            "--target a:1 --path x",
            "--target a:1 --rounds 0",
            "--target a:1 --plan x --rate 5",
            "--target a:1 --plan x --connections 5",
            "--target a:1 --plan x --shorten 0.5",
            "--target a:1 --shorten 2",
        ] {
            let error = parsed(&format!("ringway-loadgen run {wrong}")).unwrap_err();
            assert_eq!(error.exit_code(), 2, "{wrong}");
        }
        for wrong in ["127.0.0.1:0", "127.0.0.1:80,[::1]:0", "0.0.0.0:80", "[::]:80", "127.0.0.1"] {
            let error = parsed(&format!("ringway-loadgen deltas --out x --origins {wrong}")).unwrap_err();
            assert_eq!(error.exit_code(), 2, "{wrong}");
            assert!(error.to_string().contains("write IP:PORT"), "{error}");
        }
        for wrong in ["bad/host", "a@b", "a:b", "a:80:80", "[::1", ":80", "http://a"] {
            for command in ["run --target a:1", "idle --target a:1 --connections 1 --hold 1"] {
                let error = parsed(&format!("ringway-loadgen {command} --host {wrong}")).unwrap_err();
                assert!(error.exit_code() == 2 && error.to_string().contains("is no host name"), "{error}");
            }
        }
        for right in ["a.test", "A.test.:80", "a_b", "[::1]:80", "127.0.0.1"] {
            assert_eq!(run(&format!("--target a:1 --host {right}")).host, Some(HostField(right.into())));
        }
        for wrong in ["", "--listen 127.0.0.1", "--listen a:1", "--listen 127.0.0.1:1 --fields 1"] {
            assert!(parsed(&format!("ringway-loadgen origin {wrong}")).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_allowed_is_told_of_negative_numbers_too() {
        for (wrong, told) in [
            ("run --target a:1 --rate -5", "write requests a second, above 0"),
            ("run --target a:1 --duration -1", "write seconds from 0 to "),
            ("run --target a:1 --connections -1", "write a whole number from 1 to "),
            ("run --target a:1 --requests -1", "write a whole number from 1 to "),
            ("run --target a:1 --seed -1", "write a whole number from 0 to "),
            ("run --target a:1 --plan x --shorten -2", "write a number from 1 to "),
            ("verify --target a:1 --known x --rate -0.5", "write requests a second, above 0"),
            ("deltas --out x --hosts -1", "write a whole number from 1 to "),
            ("origin --listen 127.0.0.1:0 --size -1", "write a whole number from 0 to "),
        ] {
            let error = parsed(&format!("ringway-loadgen {wrong}")).unwrap_err().to_string();
            assert!(error.contains(told), "{wrong}: {error}");
        }
    }

    #[test]
    fn the_command_line_is_consistent() {
        described().debug_assert();
    }
}
