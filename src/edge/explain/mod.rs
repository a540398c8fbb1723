//! What the router does with a request, and why, without one: the same reader, look-up, verdicts and candidates that a
//! request meets on its path, asked in the same order.
//!
//! [`explain`] decides from a table and settings alone, so that it answers from files and on a core ([`on_core`]) alike;
//! [`annotate`] adds what only the configuration knows.

mod annotate;
mod ask;
mod candidates;
mod live;
mod serves;
mod told;

use ringway_state::id::HostName;
use ringway_state::record::{Class, Key, Record};
use ringway_state::{HostHit, ServiceRef, View};

pub use annotate::annotate;
pub use ask::{Ask, field, host, plain};
use candidates::Candidates;
pub(super) use live::on_core;
pub use serves::{Serves, ServesNot, serves};
pub use told::{Endpoint, Explanation, Layer, Live, Path, Request, Service, SetBy, Setting, Stored, Verdict};

use super::admit;
use super::failure::Failure;
use super::own::{self, Own};
use super::request::Scratch;
use super::route;
use super::settings::Settings;
use crate::config::{Paths, ServiceSettings};
use crate::feed;
use crate::observe::Reason;
use crate::proto::http1::{Parsed, Scheme};

/// What a core has with an endpoint of a service; `None` where no router is asked.
type Known<'a> = &'a dyn Fn(&str, std::net::SocketAddr) -> Option<Live>;

/// What becomes of a request by a table and settings, of which no router is asked.
pub fn explain(view: &View, settings: &Settings, ask: &Ask) -> Explanation {
    explain_with(view, settings, ask, &|_, _| None)
}

fn explain_with(view: &View, settings: &Settings, ask: &Ask, known: Known<'_>) -> Explanation {
    let mut scratch = Scratch::default();
    let nothing = Explanation {
        request: Request { method: ask.method.clone(), host: ask.host.clone(), target: ask.path.clone() },
        verdict: Verdict::Forwarded { how: String::new() },
        host: None,
        wildcard: None,
        service: None,
        path: None,
        endpoints: Vec::new(),
        settings: Vec::new(),
        cores: Vec::new(),
        differing: Vec::new(),
    };
    if let Err(failure) = read(&mut scratch, &ask.octets(), settings) {
        return Explanation { verdict: problem(&failure, None), ..nothing };
    }
    let host = String::from_utf8_lossy(scratch.head.host()).into_owned();
    let name = HostName::parse(&host).ok();
    // A name that is nowhere may have a tombstone or a grave all the same.
    let answers = name.as_ref().and_then(|name| view.host_key(name).or_else(|| Some(name.clone())));
    let wildcard = answers.as_ref().filter(|answers| answers.is_wildcard()).map(HostName::to_string);
    let stored = answers.and_then(|answers| stored(view, &Key::Host(answers)));
    let owner = match route::owner(view, scratch.head.host()) {
        Ok((owner, _)) => owner,
        Err(reason) => {
            let verdict = own_answer(&scratch)
                .unwrap_or_else(|| problem(&Failure::from(reason), tombstone(view, &host)));
            return Explanation {
                verdict,
                host: stored,
                wildcard,
                path: Some(path(&scratch, Paths::Normalize)),
                ..nothing
            };
        }
    };
    let of_service = settings.of_service(owner.id());
    let candidates = Candidates::of(view, settings, owner, known);
    let verdict =
        own_answer(&scratch).unwrap_or_else(|| verdict(&scratch, &of_service, owner, view, &candidates));
    Explanation {
        verdict,
        host: stored,
        wildcard,
        service: Some(service(view, owner)),
        path: Some(path(&scratch, of_service.paths)),
        settings: held(settings, &of_service),
        endpoints: candidates.endpoints,
        ..nothing
    }
}

/// As [`super::request::read`] does with what a client sends.
fn read(scratch: &mut Scratch, octets: &[u8], settings: &Settings) -> Result<(), Failure> {
    match scratch.head.parse(octets).map_err(Failure::of_head)? {
        Parsed::Complete { len } => scratch.take(&octets[..len], Scheme::Http, &settings.limits.request),
        Parsed::Partial => Err(Reason::MalformedRequest.into()),
    }
}

fn own_answer(scratch: &Scratch) -> Option<Verdict> {
    let what = match own::asked(scratch)? {
        Own::Health => "whether the router is well, to peers in listeners[].internal_from; 404 to all others",
        Own::Options => "the methods that pass, since Max-Forwards is 0",
    };
    Some(Verdict::Answered { status: 200, what: what.to_owned() })
}

/// In the order in which a request meets them: [`route::find`], [`admit::request`], and the way to an endpoint.
fn verdict(
    scratch: &Scratch,
    settings: &ServiceSettings,
    owner: ServiceRef<'_>,
    view: &View,
    candidates: &Candidates,
) -> Verdict {
    if !candidates.any_healthy {
        let detail = none_healthy(candidates.endpoints.len(), &service(view, owner));
        return problem(&Failure::from(Reason::NoHealthyEndpoints), Some(detail));
    }
    if let Err(failure) = admit::request(scratch, settings) {
        return problem(&failure, None);
    }
    match candidates.pick() {
        Some(how) => Verdict::Forwarded { how },
        None => problem(&Failure::from(Reason::EndpointNotAllowed), None),
    }
}

fn none_healthy(endpoints: usize, service: &Service) -> String {
    let Service { id, region, elsewhere, .. } = service;
    if endpoints > 0 {
        return format!("none of the {endpoints} endpoints of {id} in region {region} is healthy");
    }
    let elsewhere: Vec<String> =
        elsewhere.iter().map(|(region, count)| format!("{count} in {region}")).collect();
    match elsewhere.is_empty() {
        true => format!("{id} has no endpoints in region {region}, this node's"),
        false => {
            format!("{id} has no endpoints in region {region}, this node's, but {}", elsewhere.join(", "))
        }
    }
}

fn problem(failure: &Failure, detail: Option<String>) -> Verdict {
    let Failure { reason, detail: own } = failure;
    // Only who is gone is told nothing, and nobody has come here.
    let kind = failure.problem().unwrap_or(crate::proto::problem::ProblemKind::Internal);
    Verdict::Problem {
        status: kind.status(),
        problem: kind.name().to_owned(),
        title: kind.title().to_owned(),
        reason: reason.as_str().to_owned(),
        fault: reason.fault().as_str().to_owned(),
        meaning: reason.meaning().to_owned(),
        detail: own.map(|own| own.to_string()).or(detail),
    }
}

fn tombstone(view: &View, host: &str) -> Option<String> {
    match view.host(host.as_bytes()) {
        Some(HostHit::Tombstone { reason }) => Some(format!("its tombstone says: {reason}")),
        _ => None,
    }
}

fn stored(view: &View, key: &Key) -> Option<Stored> {
    let ringway_state::Stored { layer, change } = view.stored(key)?;
    let version = change.version;
    if feed::is_inline(version) {
        return Some(Stored { layer: Layer::Services, place: None, version: None });
    }
    let (layer, file) = match layer {
        ringway_state::Layer::Overlay => (Layer::Overlay, None),
        ringway_state::Layer::Level(at) => (Layer::Level(at), view.levels().get(at)),
        ringway_state::Layer::Base => (Layer::Base, view.base()),
    };
    let place = file.map(|file| file.path().display().to_string());
    Some(Stored { layer, place, version: Some((version.epoch, version.counter)) })
}

fn service(view: &View, owner: ServiceRef<'_>) -> Service {
    let local = view.local().name();
    let id = ringway_state::id::ServiceId::parse(owner.id()).ok();
    let set = id.clone().and_then(|id| stored(view, &Key::Endpoints(id, local.clone())));
    let record = id.and_then(|id| view.change(&Key::Service(id))).map(|change| change.record);
    let regions = match record {
        Some(Record::Service(_, Some(service))) => service.regions,
        _ => Vec::new(),
    };
    let elsewhere = regions.into_iter().map(|(region, _)| region).filter(|region| region != local);
    let count = |region: &ringway_state::id::Region| owner.endpoints(&view.region(region)).len();
    Service {
        id: owner.id().to_owned(),
        class: match owner.class() {
            Class::Platform => "platform".to_owned(),
            Class::Custom => "custom".to_owned(),
        },
        region: local.to_string(),
        set,
        elsewhere: elsewhere
            .map(|region| (region.to_string(), count(&region)))
            .filter(|(_, n)| *n > 0)
            .collect(),
    }
}

fn path(scratch: &Scratch, paths: Paths) -> Path {
    let sent = scratch.head.path(&scratch.octets);
    let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
    let (matched, to_origin) = (scratch.path.matched(sent), scratch.path_to_origin(paths).unwrap_or(sent));
    let refused = admit::path(scratch, paths).err();
    let why = match (&refused, scratch.path.error()) {
        (Some(error), _) => format!("refused: {error}"),
        (None, Some(error)) => format!("goes on as it came, though {error}"),
        (None, None) if matched == sent => "as it came, which is its normal form".to_owned(),
        (None, None) if to_origin != sent => "its dot segments are resolved, also for the origin".to_owned(),
        (None, None) => "goes on as it came; rules see its normal form".to_owned(),
    };
    let if_taken = |octets| refused.is_none().then(|| text(octets));
    Path {
        sent: text(sent),
        matched: if_taken(matched),
        to_origin: if_taken(to_origin),
        paths: paths.as_str().to_owned(),
        why,
    }
}

/// By value: what is written and is the default is the default.
fn held(settings: &Settings, of_service: &ServiceSettings) -> Vec<Setting> {
    let (default, routers) = (ServiceSettings::default().held(), settings.of_services().held());
    let own = of_service.held().into_iter();
    own.zip(routers.into_iter().zip(default))
        .map(|(own, (routers, default))| {
            let from = match () {
                () if own != routers => SetBy::Service,
                () if own != default => SetBy::Router,
                () => SetBy::Default,
            };
            Setting { name: own.name, value: own.value, from, place: None, effective: None }
        })
        .collect()
}
