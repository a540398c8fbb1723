//! `run`: acts on a plan and reports what came of it.

use std::cell::RefCell;
use std::io::{self, Write};
use std::net::{SocketAddr, ToSocketAddrs};
use std::rc::Rc;
use std::sync::mpsc;
use std::time::SystemTime;

use ringway::runtime::{Core, CoreOptions, machine, start};

use crate::alarm::Alarm;
use crate::cli::{self, CoreChoice, RunOptions};
use crate::error::Error;
use crate::hdr::Log;
use crate::intervals::Interval;
use crate::limits;
use crate::mix::{self, Mix};
use crate::output::{Output, ensure_apart};
use crate::plan::{self, Extent, Plan, Target, Turn};
use crate::progress::{self, Progress};
use crate::record::Record;
use crate::report::span::Span;
use crate::report::{Report, table};
use crate::{html, window};

/// What the core tells the main thread.
enum Event {
    Progress(progress::Report),
    /// Parts of a turn that have ended.
    Intervals(Turn, Vec<Interval>),
    Turn(Turn, Box<Record>),
    /// A turn came to nothing; the run ends.
    Failed(Error),
}

/// Runs all turns, printing progress to standard error and the report as asked.
///
/// # Errors
/// Wrong options or files, a target that takes no connection or answers nothing, a machine that lacks
/// something.
pub fn run(options: &RunOptions) -> Result<(), Error> {
    let mut files = Files::open(options)?;
    let targets = options.target.iter().map(resolve).collect::<Result<_, _>>()?;
    let plan = plan(options)?.aimed_at(targets).map_err(Error::Usage)?;
    let core = core_options(options.core, plan.open_max())?;
    let requests = match plan.extent {
        Extent::Requests(count) => count,
        Extent::Time { .. } => u64::MAX,
    };
    let mix = Mix::new(&plan.kinds, plan.keep_alive, mix::tape(&plan, requests)?);
    let log = options.hdr.as_deref().map(|path| Log::create(path, plan.seed)).transpose()?;
    let figures = turns(core, &plan, mix, log)?;
    files.publish(&Report::new(&plan, &figures.records, &figures.spans), options)?;
    unanswered(&plan, &figures.records)
}

/// The plan of the file, or of what was typed.
fn plan(options: &RunOptions) -> Result<Plan, Error> {
    let Some(path) = &options.plan else { return Plan::typed(options).map_err(Error::Usage) };
    let plan = plan::load(path).map_err(|mistakes| Error::Input(mistakes.to_string()))?;
    let seed = options.seed.unwrap_or(plan.seed);
    let rounds = options.rounds.map_or(plan.rounds, std::num::NonZeroU32::get);
    Ok(Plan { seed, rounds, ..plan }.shortened(options.shorten))
}

/// What came of all turns.
#[derive(Default)]
struct Figures {
    records: Vec<(Turn, Record)>,
    spans: Vec<(Turn, Span)>,
}

/// Runs the plan's turns on a core of their own.
fn turns(options: CoreOptions, plan: &Plan, mix: Mix, mut log: Option<Log>) -> Result<Figures, Error> {
    let (tell, told) = mpsc::channel();
    let acted = plan.clone();
    let main = move |core: Core, _| async move {
        act(&core, &acted, mix, &tell).await;
        core.stop();
    };
    let (thread, _mailbox) = start::<(), _>(options, main, || ()).map_err(no_core)?;
    let (mut figures, mut failed, mut progress) = (Figures::default(), None, Progress::new(plan));
    for event in told {
        match event {
            Event::Progress(report) => progress.show(plan, &report),
            Event::Intervals(turn, intervals) => {
                figures.spans.extend(intervals.iter().map(|interval| (turn, Span::of(interval))));
                if let Some(log) = &mut log {
                    let name = &plan.targets[turn.target].name;
                    // The run goes to its end, and then fails.
                    let written = intervals.iter().try_for_each(|interval| log.append(name, interval));
                    failed = failed.or(written.err());
                }
            }
            Event::Turn(turn, record) => figures.records.push((turn, *record)),
            Event::Failed(error) => failed = Some(error),
        }
    }
    progress.end();
    thread.join().map_err(no_core)?;
    if let Some(log) = log {
        failed = failed.or(log.finish().err());
    }
    failed.map_or(Ok(figures), Err)
}

/// On the core: one turn after the other.
async fn act(core: &Core, plan: &Plan, mix: Mix, tell: &mpsc::Sender<Event>) {
    machine::sharpen_timers();
    let (mix, alarm) = (Rc::new(RefCell::new(mix)), Alarm::new(core));
    for turn in plan.turns() {
        let tick = |record: &mut Record, elapsed| {
            let (requests, errors) = (record.requests(), record.errors());
            let _ = tell.send(Event::Intervals(turn, record.intervals.take()));
            // Nobody listens only when the process ends.
            let _ = tell.send(Event::Progress(progress::Report { turn, elapsed, requests, errors }));
        };
        let event = match window::run(core, &alarm, plan, turn, &mix, tick).await {
            // Its requests are missing from the figures.
            Ok(_) if core.panics() > 0 => Event::Failed(Error::Machine(
                "a connection's task panicked, see above; please report this mistake in ringway-loadgen"
                    .into(),
            )),
            Ok(mut record) => {
                let _ = tell.send(Event::Intervals(turn, record.intervals.finish()));
                Event::Turn(turn, Box::new(record))
            }
            Err(why) => Event::Failed(unreachable(&plan.targets[turn.target], &why)),
        };
        let failed = matches!(event, Event::Failed(..));
        if tell.send(event).is_err() || failed {
            return;
        }
    }
}

fn unreachable(target: &Target, why: &str) -> Error {
    let Target { name, address, .. } = target;
    Error::Input(format!("{name}: no connection to {address}: {why}; is it running, and this its address?"))
}

/// The address of a target.
///
/// # Errors
/// The name is not known.
pub fn resolve(target: &cli::Target) -> Result<Target, Error> {
    let authority = &target.authority;
    let unknown = |why: String| Error::Input(format!("--target {authority}: {why}; check the host name"));
    let mut addresses = authority.to_socket_addrs().map_err(|e| unknown(e.to_string()))?;
    let address: SocketAddr = addresses.next().ok_or_else(|| unknown("has no address".to_owned()))?;
    Ok(Target { name: target.name.clone(), authority: authority.clone(), address })
}

/// The options of a core that holds so many connections.
///
/// # Errors
/// The CPU or the descriptors are not to be had, or the kernel lacks what the ring needs.
pub fn core_options(choice: CoreChoice, connections: usize) -> Result<CoreOptions, Error> {
    let cpus = machine::cpus();
    let cpu = match choice.cpu {
        Some(cpu) if cpus.contains(&cpu) => cpu,
        None if let Some(last) = cpus.last() => *last,
        _ => {
            let asked = choice.cpu.unwrap_or_default();
            return Err(Error::Machine(format!("--cpu {asked}: not ours to use; choose one of {cpus:?}")));
        }
    };
    machine::probe().map_err(|lacking| Error::Machine(lacking.to_string()))?;
    let descriptors = machine::descriptors().map_err(|lacking| Error::Machine(lacking.to_string()))?;
    let needed = connections + limits::DESCRIPTORS_BESIDE;
    if descriptors < needed {
        let why =
            format!("{connections} connections need {needed} descriptors, and {descriptors} are allowed");
        return Err(Error::Machine(format!("{why}; raise the limit with: ulimit -n {needed}")));
    }
    Ok(CoreOptions {
        index: 0,
        cpu,
        idle: choice.idle.into(),
        open_max: descriptors - limits::DESCRIPTORS_BESIDE,
    })
}

/// The core's thread could not be started, or its ring broke.
#[must_use]
pub fn no_core(error: io::Error) -> Error {
    Error::Machine(format!("the core's thread ended: {error}; see dmesg for the reason"))
}

/// A target that never answered was not measured.
fn unanswered(plan: &Plan, records: &[(Turn, Record)]) -> Result<(), Error> {
    for (at, target) in plan.targets.iter().enumerate() {
        let mut mine = records.iter().filter(|(turn, _)| turn.target == at);
        if mine.all(|(_, record)| record.answers() == 0) {
            return Err(Error::Input(format!(
                "{}: not one request was answered; see the errors above",
                target.name
            )));
        }
    }
    Ok(())
}

/// Where figures go beside the table.
struct Files {
    page: Option<Output>,
    json: Option<Output>,
}

impl Files {
    fn open(options: &RunOptions) -> Result<Self, Error> {
        let (page, json, hdr) = (options.report.as_deref(), options.json.as_deref(), options.hdr.as_deref());
        let json = json.filter(|path| path.as_os_str() != "-");
        let named = [("--report", page), ("--json", json), ("--hdr", hdr)];
        let named: Vec<_> = named.into_iter().filter_map(|(option, path)| Some((option, path?))).collect();
        ensure_apart(&named)?;
        Ok(Self { page: Output::wanted("--report", page)?, json: Output::wanted("--json", json)? })
    }

    fn publish(&mut self, report: &Report, options: &RunOptions) -> Result<(), Error> {
        if let Some(page) = &mut self.page {
            page.append(html::page(report, SystemTime::now()).as_bytes())?;
        }
        show(options.json.is_some(), self.json.as_mut(), &table::render(report), &(document(report) + "\n"))
    }
}

/// Shows the table, and writes the document if it is wanted: to its file, or else to standard output, where the table is not
/// then.
pub(crate) fn show(
    is_wanted: bool,
    json: Option<&mut Output>,
    table: &str,
    document: &str,
) -> Result<(), Error> {
    match (is_wanted, json) {
        (false, _) => print(table),
        (true, None) => {
            // The table is a courtesy here.
            let _ = io::stderr().write_all(table.as_bytes());
            print(document)
        }
        (true, Some(file)) => {
            print(table)?;
            file.append(document.as_bytes())
        }
    }
}

fn document(report: &Report) -> String {
    serde_json::to_string_pretty(report).expect("numbers, texts and lists can always be written")
}

/// Writes to standard output.
///
/// # Errors
/// It cannot be written to.
pub fn print(text: &str) -> Result<(), Error> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|error| untold(&error))
}

/// Standard output cannot be written to.
#[must_use]
pub fn untold(error: &io::Error) -> Error {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return Error::Unread;
    }
    Error::Machine(format!(
        "standard output cannot be written to: {error}; make room there, or let it go elsewhere"
    ))
}
