//! The command line: `compare`, `neighbours`, `churn`, `generators`, `micro`, `ratchet`. Exit codes: 0 measured, 1 a gate or ratchet was missed, 2
//! usage, 3 the measurement could not be made.
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use crate::compare::{self, Options, Scenario};
use crate::data_set::DataSet;
use crate::failure::Failure;
use crate::generator::Generator;
use crate::limits::{EQUAL_LOAD_OF_CARRIED, EQUAL_LOAD_OF_NGINX};
use crate::machine::{Machine, versions};
use crate::peers::{Peer, Programs};
use crate::report::{self, Run};
use crate::rounds::Plan;
use crate::scene::{ORIGIN_PORT, Scene};
use crate::{churn, generators, interrupt, micro, neighbours, owned, ratchet};

const MISSED: u8 = 1;
const NOT_MEASURED: u8 = 3;

/// ringway measured beside nginx, haproxy and pingora, part by part, and against its own accepted figures.
#[derive(Debug, Parser)]
#[command(name = "ringway-bench", version)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Everything on, peers taking turns; one table with ratios and goals
    Compare(CompareArgs),
    /// What services in trouble cost the others: latency at half load, in windows that take turns
    Neighbours(NeighboursArgs),
    /// What changes to the table cost those who ask, and whether answers stay right
    Churn(ChurnArgs),
    /// ringway-loadgen beside wrk, oha and h2load: CPU per request at one rate, and what each says of a stall
    Generators(GeneratorsArgs),
    /// Nanoseconds per operation of the parts: head parse, look-up, apply, pick
    Micro(micro::MicroArgs),
    /// Counts that do not drift, against bench/accepted.toml
    Ratchet(RatchetArgs),
}

/// Where the programs are, and the CPUs they run on.
#[derive(Debug, Args)]
struct Bed {
    /// [default: beside this program]
    #[arg(long, value_name = "PATH")]
    ringway: Option<PathBuf>,
    /// ringway-loadgen [default: beside this program]
    #[arg(long, value_name = "PATH")]
    loadgen: Option<PathBuf>,
    /// ringway-peer-pingora [default: beside this program, or in bench/peers/pingora/target/release]
    #[arg(long, value_name = "PATH")]
    pingora: Option<PathBuf>,
    /// An earlier ringway, the peer named before [default: ringway-before beside this program]
    #[arg(long, value_name = "PATH")]
    before: Option<PathBuf>,
    #[arg(long, value_name = "PATH", default_value = "nginx")]
    nginx: PathBuf,
    #[arg(long, value_name = "PATH", default_value = "haproxy")]
    haproxy: PathBuf,
    /// The CPU that the proxy has to itself
    #[arg(long, value_name = "CPU", default_value_t = 0)]
    proxy_core: usize,
    /// The CPU that origin, generator and this program share
    #[arg(long, value_name = "CPU", default_value_t = 1)]
    load_core: usize,
    /// Load the first HOSTS of the standard data set (all of it: 4000000) instead of 1,000 names in the
    /// configuration
    #[arg(long, value_name = "HOSTS")]
    dataset: Option<u64>,
    /// Its snapshot [default: built in the output folder, or kept there from an earlier run]
    #[arg(long, value_name = "FILE", requires = "dataset")]
    snapshot: Option<PathBuf>,
    /// First of the origin's 8 ports; the data set's are fixed
    #[arg(long, value_name = "PORT", default_value_t = ORIGIN_PORT, conflicts_with = "dataset")]
    origin_port: u16,
    /// Where runs are kept
    #[arg(long, value_name = "DIR", default_value = "bench/out")]
    out: PathBuf,
}

#[derive(Debug, Args)]
struct CompareArgs {
    #[command(flatten)]
    bed: Bed,
    /// Who takes part; ratios are the first one's over each other's
    #[arg(long, value_delimiter = ',', default_value = "ringway,nginx,haproxy,pingora")]
    peers: Vec<Peer>,
    #[arg(long, value_delimiter = ',', default_value = "cpu,latency,memory")]
    scenarios: Vec<Scenario>,
    /// Connection counts of the cpu scenario
    #[arg(long, value_delimiter = ',', default_value = "64,256")]
    connections: Vec<u32>,
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// Length of one turn; user share needs rounds × seconds ≥ 30
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,
    /// What all are offered at equal load, in percent of nginx's saturation
    #[arg(long, value_name = "PERCENT", default_value_t = EQUAL_LOAD_OF_NGINX,
        value_parser = clap::value_parser!(u8).range(1..=i64::from(EQUAL_LOAD_OF_CARRIED)))]
    equal_load: u8,
    /// Connections of the memory scenario
    #[arg(long, value_name = "COUNT", default_value_t = 10_000)]
    idle_connections: usize,
    /// Fail unless the upper end of FIGURE's interval is at most RATIO × PEER's (without PEER: at most RATIO
    /// itself)
    #[arg(long, value_name = "FIGURE[/PEER]=RATIO", value_parser = Gate::parse)]
    gate: Vec<Gate>,
}

/// Windows that take turns: one in which all is well, one with what the command is about.
#[derive(Debug, Args)]
struct Windows {
    /// Pairs of windows, one without what is measured and one with it
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// Length of a window
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,
}

#[derive(Debug, Args)]
struct NeighboursArgs {
    #[command(flatten)]
    bed: Bed,
    #[command(flatten)]
    windows: Windows,
}

#[derive(Debug, Args)]
struct ChurnArgs {
    #[command(flatten)]
    bed: Bed,
    #[command(flatten)]
    windows: Windows,
    /// Changes a second
    #[arg(long, value_name = "PER_SECOND", default_value_t = 1_000,
        value_parser = clap::value_parser!(u64).range(1..=100_000))]
    rate: u64,
    /// Length of the part in which answers are judged
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    steady: u64,
    /// Changes appended at once at the end
    #[arg(long, value_name = "COUNT", default_value_t = 50_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    burst: u64,
}

#[derive(Debug, Args)]
struct GeneratorsArgs {
    /// ringway-loadgen [default: beside this program]
    #[arg(long, value_name = "PATH")]
    loadgen: Option<PathBuf>,
    #[arg(long, value_name = "PATH", default_value = "oha")]
    oha: PathBuf,
    /// The CPU that the origin has to itself
    #[arg(long, value_name = "CPU", default_value_t = 0)]
    origin_core: usize,
    /// The CPU that the generators have to themselves
    #[arg(long, value_name = "CPU", default_value_t = 1)]
    generator_core: usize,
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    connections: u32,
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// Length of one turn
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,
}

#[derive(Debug, Args)]
struct RatchetArgs {
    #[command(flatten)]
    bed: Bed,
    #[arg(long, value_name = "FILE", default_value = "bench/accepted.toml")]
    accepted: PathBuf,
    /// Write what was counted into the file instead of comparing
    #[arg(long)]
    accept: bool,
}

/// A figure that must keep a bound for the run to succeed.
#[derive(Clone, Debug, PartialEq)]
struct Gate {
    figure: String,
    against: Option<Peer>,
    at_most: f64,
}

impl Gate {
    fn parse(text: &str) -> Result<Self, String> {
        let (name, bound) = text.split_once('=').ok_or("write FIGURE/PEER=RATIO, as in cpu_64/nginx=0.80")?;
        let at_most = bound.parse().map_err(|_| format!("{bound:?} is no number"))?;
        let (figure, against) = match name.split_once('/') {
            Some((figure, peer)) => (figure, Some(<Peer as clap::ValueEnum>::from_str(peer, true)?)),
            None => (name, None),
        };
        Ok(Self { figure: figure.to_owned(), against, at_most })
    }

    /// Why `figures` miss this gate.
    fn missed(&self, figures: &[report::Figure]) -> Option<String> {
        let spread =
            figures.iter().find(|one| one.id == self.figure).and_then(|one| one.spread(self.against));
        let what = match self.against {
            Some(peer) => format!("{} / {}", self.figure, peer.name()),
            None => self.figure.clone(),
        };
        match spread {
            None => Some(format!("gate {what}: was not measured")),
            Some(spread) if spread.high > self.at_most => {
                Some(format!("gate {what}: up to {:.3}, wanted at most {}", spread.high, self.at_most))
            }
            Some(_) => None,
        }
    }
}

/// Parses the process's arguments and does what they ask.
pub fn run() -> ExitCode {
    let line = CommandLine::parse();
    let mut out = io::stdout().lock();
    let done = interrupt::install().map_err(Failure::file("signals")).and_then(|()| match line.command {
        Command::Compare(args) => compare(&args, &mut out),
        Command::Neighbours(args) => neighbours(&args, &mut out),
        Command::Churn(args) => churn(&args, &mut out),
        Command::Generators(args) => generators(&args, &mut out),
        Command::Micro(args) => micro::run(&args, &mut out),
        Command::Ratchet(args) => ratchet(&args, &mut out),
    });
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(MISSED),
        Err(failure) => {
            let _ = writeln!(io::stderr(), "ringway-bench: {failure}");
            ExitCode::from(NOT_MEASURED)
        }
    }
}

fn compare(args: &CompareArgs, out: &mut impl Write) -> Result<bool, Failure> {
    let scene = args.bed.scene()?;
    let options = Options {
        peers: args.peers.clone(),
        programs: args.bed.programs(),
        scenarios: args.scenarios.clone(),
        connections: args.connections.clone(),
        plan: Plan::of(usize::from(args.rounds)),
        seconds: args.seconds,
        equal_load: args.equal_load,
        idle_connections: args.idle_connections,
    };
    let machine = Machine::of_this();
    let measured = compare::run(&options, &scene)?;
    let run = Run {
        machine,
        versions: versions(&options.peers, &options.programs),
        conditions: args.bed.conditions(args.seconds),
        rounds: options.plan.rounds,
        figures: measured.figures,
    };
    let kept = report::keep(&run, &measured.configurations, "compare", &args.bed.out)?;
    let missed: Vec<String> = args.gate.iter().filter_map(|gate| gate.missed(&run.figures)).collect();
    report::print(&run, out)
        .and_then(|()| writeln!(out, "Kept with all rounds and configurations: {}", kept.display()))
        .and_then(|()| missed.iter().try_for_each(|line| writeln!(out, "{line}")))
        .map_err(Failure::file("standard output"))?;
    Ok(missed.is_empty())
}

fn neighbours(args: &NeighboursArgs, out: &mut impl Write) -> Result<bool, Failure> {
    let mut scene = args.bed.scene()?;
    let (programs, plan) = (args.bed.programs(), Plan::of(usize::from(args.windows.rounds)));
    let machine = Machine::of_this();
    let options = neighbours::Options { programs, plan, seconds: args.windows.seconds };
    let figures = neighbours::run(&options, &mut scene)?;
    let run = Run {
        machine,
        versions: versions(&[Peer::Ringway, Peer::Nginx], &options.programs),
        conditions: args.bed.conditions(args.windows.seconds),
        rounds: plan.rounds,
        figures,
    };
    let kept = report::keep(&run, &[], "neighbours", &args.bed.out)?;
    report::print(&run, out)
        .and_then(|()| writeln!(out, "Kept with all windows: {}", kept.display()))
        .map_err(Failure::file("standard output"))?;
    Ok(true)
}

fn churn(args: &ChurnArgs, out: &mut impl Write) -> Result<bool, Failure> {
    let mut scene = args.bed.scene()?;
    let plan = Plan::of(usize::from(args.windows.rounds));
    let machine = Machine::of_this();
    let options = churn::Options {
        programs: args.bed.programs(),
        plan,
        seconds: args.windows.seconds,
        rate: args.rate,
        steady: args.steady,
        burst: args.burst,
    };
    let figures = churn::run(&options, &mut scene)?;
    let conditions = format!("{}; {} changes a second", args.bed.conditions(args.windows.seconds), args.rate);
    let versions = versions(&[Peer::Ringway, Peer::Nginx], &options.programs);
    let run = Run { machine, versions, conditions, rounds: plan.rounds, figures };
    let kept = report::keep(&run, &[], "churn", &args.bed.out)?;
    report::print(&run, out)
        .and_then(|()| writeln!(out, "Kept with all windows: {}", kept.display()))
        .map_err(Failure::file("standard output"))?;
    Ok(true)
}

fn generators(args: &GeneratorsArgs, out: &mut impl Write) -> Result<bool, Failure> {
    let options = generators::Options {
        loadgen: args.loadgen.clone().unwrap_or_else(|| beside_this("ringway-loadgen")),
        oha: args.oha.clone(),
        cores: (args.origin_core, args.generator_core),
        plan: Plan::of(usize::from(args.rounds)),
        seconds: args.seconds,
        connections: args.connections,
    };
    generators::run(&options, out)?;
    Ok(true)
}

fn ratchet(args: &RatchetArgs, out: &mut impl Write) -> Result<bool, Failure> {
    let scene = args.bed.scene()?;
    ratchet::run(&args.bed.programs(), &scene, &args.accepted, args.accept, out)
}

impl Bed {
    fn scene(&self) -> Result<Scene, Failure> {
        owned::bind_self(self.load_core).map_err(Failure::file("sched_setaffinity"))?;
        let data_set = self
            .dataset
            .map(|hosts| DataSet::prepare(hosts, self.snapshot.as_deref(), &self.out))
            .transpose()?;
        let program = self.loadgen.clone().unwrap_or_else(|| beside_this("ringway-loadgen"));
        Scene::set(Generator { program, core: self.load_core }, self.proxy_core, data_set, self.origin_port)
    }

    fn programs(&self) -> Programs {
        let pingora = || {
            let built_there = PathBuf::from("bench/peers/pingora/target/release/ringway-peer-pingora");
            Some(beside_this("ringway-peer-pingora")).filter(|path| path.exists()).unwrap_or(built_there)
        };
        Programs {
            ringway: self.ringway.clone().unwrap_or_else(|| beside_this("ringway")),
            before: self.before.clone().unwrap_or_else(|| beside_this("ringway-before")),
            nginx: self.nginx.clone(),
            haproxy: self.haproxy.clone(),
            pingora: self.pingora.clone().unwrap_or_else(pingora),
        }
    }

    fn conditions(&self, seconds: u64) -> String {
        let names = match self.dataset {
            Some(hosts) => format!("standard data set, {hosts} host names loaded"),
            None => format!("{} host names in the configurations", crate::limits::INLINE_HOSTS),
        };
        format!(
            "proxy alone on CPU {}, origin and generator on CPU {}; 64 origin addresses; {names}; \
             turns of {seconds} s; \
             access log at {} %, metrics on",
            self.proxy_core,
            self.load_core,
            crate::peers::LOG_PERCENT
        )
    }
}

fn beside_this(name: &str) -> PathBuf {
    let here = std::env::current_exe().ok().and_then(|path| path.parent().map(Path::to_owned));
    here.unwrap_or_default().join(name)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a failed unwrap is the test's failure
    use super::*;
    use crate::report::{Figure, Unit};

    #[test]
    fn the_command_line_is_consistent() {
        <CommandLine as clap::CommandFactory>::command().debug_assert();
    }

    #[test]
    fn gates_are_figure_peer_and_bound() {
        let gate = Gate::parse("cpu_64/nginx=0.8").unwrap();
        assert_eq!(gate, Gate { figure: "cpu_64".to_owned(), against: Some(Peer::Nginx), at_most: 0.8 });
        assert_eq!(Gate::parse("user_64=0.2").unwrap().against, None);
        assert!(Gate::parse("cpu_64").is_err() && Gate::parse("cpu_64/apache=1").is_err());
    }

    #[test]
    fn a_gate_goes_by_the_upper_end_and_fails_unmeasured() {
        let values = vec![(Peer::Ringway, vec![7.0, 7.0, 9.0]), (Peer::Nginx, vec![10.0; 3])];
        let figures = [Figure::new("cpu_64".to_owned(), String::new(), Unit::Micros, values)];
        let missed = |text| Gate::parse(text).unwrap().missed(&figures);
        assert_eq!(missed("cpu_64/nginx=0.95"), None);
        assert!(missed("cpu_64/nginx=0.8").unwrap().contains("0.900"));
        assert!(missed("cpu_9/nginx=0.8").unwrap().contains("not measured"));
    }
}
