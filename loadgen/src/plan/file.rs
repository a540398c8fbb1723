//! A plan file: strict YAML, every mistake told as `FILE:LINE: what and how to mend it`. loadgen/plans/README.md is its
//! reference.

use std::path::Path;
use std::time::Duration;

use ringway::proto::http1::Method;
use ringway::yaml::{self, Field, Form, Mistakes, Node, Quantity, Report, Section, Setting, Shown, word};

use super::{Extent, Kind, Load, Names, Piece, Plan, Profile, typed};
use crate::arrivals::Spacing;
use crate::cli::{Draw, HostField, HostSource, is_path};
use crate::draw::written::{delay, sizes, weight, weighted};
use crate::draw::{Delay, Weighted};
use crate::limits;

const FORM: Form = Form { example: "loadgen/plans/README.md", too_large: "a plan is a page of text" };

const DAY: Duration = Duration::from_secs(86_400);
const TIMEOUT: Setting<Duration> = Setting {
    name: "timeout",
    default: Duration::from_secs(10),
    least: Duration::from_millis(10),
    most: Duration::from_secs(3_600),
};
const WARM_UP: Setting<Duration> =
    Setting { name: "warm_up", default: Duration::from_secs(1), least: Duration::ZERO, most: DAY };
const FOR: Setting<Duration> =
    Setting { name: "for", default: Duration::ZERO, least: Duration::from_millis(10), most: DAY };
const CONNECTIONS: Setting<usize> =
    Setting { name: "connections", default: 64, least: 1, most: limits::CONNECTIONS_MAX };
const ROUNDS: Setting<u64> =
    Setting { name: "rounds", default: 1, least: 1, most: limits::ROUNDS_MAX as u64 };
const SEED: Setting<u64> = Setting { name: "seed", default: typed::SEED, least: 0, most: u64::MAX };
const KEEP_ALIVE: Setting<f64> = Setting { name: "keep_alive", default: 1.0, least: 0.0, most: 1.0 };

/// Reads the plan in the file at `path`, without targets.
///
/// # Errors
/// Every mistake in it, or why it cannot be read.
pub fn load(path: &Path) -> Result<Plan, Mistakes> {
    parse(&path.display().to_string(), &yaml::bytes_of(path, "--plan")?)
}

/// The same of a file's content. `file` is its name in messages.
///
/// # Errors
/// Every mistake in it.
pub fn parse(file: &str, bytes: &[u8]) -> Result<Plan, Mistakes> {
    yaml::parse(file, bytes, FORM, plan).map(|(plan, _)| plan)
}

#[allow(clippy::cast_possible_truncation)] // at most ROUNDS_MAX
fn plan(root: &Node, report: &Report) -> Option<Plan> {
    let mut top = Section::top(root, report)?;
    let about = top.required("about", "What it stands for").and_then(|f| f.parse(sentence));
    let seed = top.setting(&SEED);
    let rounds = top.setting(&ROUNDS) as u32;
    let connections = top.setting(&CONNECTIONS);
    let timeout = top.setting(&TIMEOUT);
    let keep_alive = top.setting(&KEEP_ALIVE);
    let names = names(&mut top);
    let kinds = match top.field("requests") {
        Some(field) => weighted(&field, limits::KINDS_MAX, kind),
        None => Some(Weighted::one(Kind { method: Method::Get, path: "/".to_owned(), body: None })),
    };
    let think = top.field("think");
    let spacing = top.parse_or("spacing", spacing, Spacing::Even);
    let warm_up = top.setting(&WARM_UP);
    let phases = top.required("phases", "[{ for: 10s, rate: 1000 }]").and_then(|f| phases(&f));
    top.end();
    let phases = phases?;
    if let (Some(think), true) = (&think, phases.is_open()) {
        think
            .mistake("arrivals at a rate do not wait for one another; remove it, or the rates of the phases");
    }
    let think = think.map_or(Some(Delay::NONE), |field| delay(&field))?;
    let extent = Extent::Time { warmup: warm_up, keep: phases.length() };
    let (load, storm) = (phases.load(warm_up, think, spacing), phases.storm(warm_up));
    let (about, names, kinds, targets) = (about?, names?, kinds?, Vec::new());
    Some(Plan {
        about,
        targets,
        rounds,
        connections,
        kinds,
        names,
        keep_alive,
        load,
        storm,
        extent,
        timeout,
        seed,
    })
}

fn sentence(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("says nothing; write what the load stands for".to_owned()),
        text => Ok(text.to_owned()),
    }
}

fn spacing(text: &str) -> Result<Spacing, String> {
    word(text, &[("even", Spacing::Even), ("poisson", Spacing::Poisson)], "even or poisson")
}

fn names(top: &mut Section<'_>) -> Option<Names> {
    let (hosts, host, draw) = (top.field("hosts"), top.field("host"), top.field("draw"));
    if let (Some(_), Some(host)) = (&hosts, &host) {
        host.mistake("hosts are given too; remove one of them");
    }
    let drawn =
        |text: &str| word(text, &[("uniform", Draw::Uniform), ("zipf", Draw::Zipf)], "uniform or zipf");
    match (hosts, host, draw) {
        (Some(hosts), _, draw) => {
            let draw = match draw {
                Some(draw) => Some(draw.parse(drawn)?),
                None => None,
            };
            Some(hosts.parse(str::parse::<HostSource>)?.names(draw))
        }
        (None, _, Some(draw)) => {
            draw.mistake("there is nothing to draw from; give hosts too, or remove it");
            None
        }
        (None, Some(host), None) => Some(Names::One(host.parse(str::parse::<HostField>)?.0)),
        (None, None, None) => Some(Names::Target),
    }
}

const METHODS: [(&str, Method); 7] = [
    ("GET", Method::Get),
    ("HEAD", Method::Head),
    ("POST", Method::Post),
    ("PUT", Method::Put),
    ("PATCH", Method::Patch),
    ("DELETE", Method::Delete),
    ("OPTIONS", Method::Options),
];

/// As it is written in a request.
pub(crate) fn name_of(method: Method) -> &'static str {
    METHODS.iter().find(|(_, known)| *known == method).map_or("GET", |(name, _)| name)
}

fn kind(item: &Field<'_>) -> Option<(Kind, u32)> {
    let mut section = item.section()?;
    let choices = METHODS.map(|(name, _)| name).join(", ");
    let method = section.parse_or("method", |text| word(text, &METHODS, &choices), Method::Get);
    let path = section.parse_or("path", is_path, "/".to_owned());
    let body = section.field("body");
    if let (Some(body), Method::Get | Method::Head) = (&body, method) {
        body.mistake(&format!("a {} has no body; remove it, or use POST", name_of(method)));
    }
    let weight = weight(&mut section);
    section.end();
    let body = match body {
        Some(body) => Some(sizes(&body)?),
        None => None,
    };
    Some((Kind { method, path, body }, weight))
}

/// A part of a plan's time.
struct Phase {
    time: Duration,
    /// At its begin and its end.
    rate: Option<(f64, f64)>,
    storm: (f64, f64),
}

struct Phases(Vec<Phase>);

fn phases(field: &Field<'_>) -> Option<Phases> {
    let items = field.items()?;
    if items.is_empty() || items.len() > limits::PHASES_MAX {
        field.mistake(&format!("has {} items; list 1 to {}", items.len(), limits::PHASES_MAX));
        return None;
    }
    let read: Vec<Option<Phase>> = items.iter().map(phase).collect();
    let phases = Phases(read.into_iter().collect::<Option<_>>()?);
    if phases.length() > DAY {
        field.mistake("last longer than a day together; shorten them");
    }
    if phases.is_open() && phases.0.iter().any(|phase| phase.rate.is_none()) {
        field.mistake("some have a rate and some have none; give each a rate (0 for a pause), or none");
    }
    let rests =
        phases.is_open() && phases.rates().chain(phases.storms()).all(|piece| piece.from + piece.to <= 0.0);
    if rests {
        field.mistake("send nothing; give a rate above 0");
    }
    Some(phases)
}

fn phase(item: &Field<'_>) -> Option<Phase> {
    let mut section = item.section()?;
    let time = section.required(FOR.name, "10s").and_then(|f| f.parse(|text| FOR.parse(text)));
    let rate = section.field("rate").map(|f| f.parse(rate));
    let storm = section.parse_or("storm", rate_of_connections, (0.0, 0.0));
    section.end();
    let rate = match rate {
        Some(rate) => Some(rate?),
        None => None,
    };
    Some(Phase { time: time?, rate, storm })
}

fn rate(text: &str) -> Result<(f64, f64), String> {
    span(text, limits::RATE_MAX, "a rate; write requests a second, as in 1000, or 1000..5000 for a ramp")
}

fn rate_of_connections(text: &str) -> Result<(f64, f64), String> {
    span(text, limits::STORM_RATE_MAX, "a rate; write connections a second, as in 500, or 0..500 for a ramp")
}

fn span(text: &str, most: f64, what: &str) -> Result<(f64, f64), String> {
    let (from, to) = text.split_once("..").unwrap_or((text, text));
    let number = |part: &str| f64::parse(part).map_err(|_| format!("{} is not {what}", Shown(text)));
    let (from, to) = (number(from)?, number(to)?);
    if from.max(to) > most {
        Err(format!("{} is too fast; at most {most}", Shown(text)))
    } else {
        Ok((from, to))
    }
}

impl Phases {
    fn is_open(&self) -> bool {
        self.0.iter().any(|phase| phase.rate.is_some())
    }

    fn length(&self) -> Duration {
        self.0.iter().map(|phase| phase.time).sum()
    }

    fn rates(&self) -> impl Iterator<Item = Piece> {
        self.0.iter().map(|phase| piece(phase.time, phase.rate.unwrap_or_default()))
    }

    fn storms(&self) -> impl Iterator<Item = Piece> {
        self.0.iter().map(|phase| piece(phase.time, phase.storm))
    }

    /// The warm-up keeps the rate that the first phase begins with.
    fn load(&self, warm_up: Duration, think: Delay, spacing: Spacing) -> Load {
        let Some(first) = self.rates().next().filter(|_| self.is_open()) else {
            return Load::Closed { think };
        };
        let warm_up = piece(warm_up, (first.from, first.from));
        Load::Open { rate: Profile::new(std::iter::once(warm_up).chain(self.rates()).collect()), spacing }
    }

    fn storm(&self, warm_up: Duration) -> Option<Profile> {
        self.storms()
            .any(|piece| piece.from + piece.to > 0.0)
            .then(|| Profile::new(std::iter::once(piece(warm_up, (0.0, 0.0))).chain(self.storms()).collect()))
    }
}

fn piece(time: Duration, (from, to): (f64, f64)) -> Piece {
    Piece { seconds: time.as_secs_f64(), from, to }
}
