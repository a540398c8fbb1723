//! What is told of a request: to people by `ringway explain`, to programs as JSON.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    pub request: Request,
    pub verdict: Verdict,
    /// Where the table has the host name.
    pub host: Option<Stored>,
    /// The wildcard that answers for it, if it is not there itself.
    pub wildcard: Option<String>,
    pub service: Option<Service>,
    pub path: Option<Path>,
    pub endpoints: Vec<Endpoint>,
    /// What holds for the service's requests; empty without one.
    pub settings: Vec<Setting>,
    /// Cores that have told of it, and those of them that come to another verdict than the first; both empty if no router
    /// was asked.
    pub cores: Vec<u16>,
    pub differing: Vec<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    pub method: String,
    /// As asked.
    pub host: String,
    /// As asked, query included.
    pub target: String,
}

/// What becomes of the request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Verdict {
    /// It goes to one of the candidates.
    Forwarded { how: String },
    /// The router answers it itself.
    Answered { status: u16, what: String },
    /// The client gets a problem document.
    Problem {
        status: u16,
        /// As in the document: the end of `type`, and `title`.
        problem: String,
        title: String,
        /// As in metrics and log.
        reason: String,
        fault: String,
        /// What the reason means, and what is behind it here.
        meaning: String,
        detail: Option<String>,
    },
}

/// Where a value of the table comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stored {
    pub layer: Layer,
    /// The configuration's line, or the layer's file.
    pub place: Option<String>,
    /// As the change that brought it had it; the configuration's services have none.
    pub version: Option<(u64, u64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// The services of the configuration.
    Services,
    /// What has changed since the newest file.
    Overlay,
    /// What had changed since the base; from 0, the newest.
    Level(usize),
    /// The snapshot.
    Base,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Service {
    pub id: String,
    /// Of the host name: `platform` or `custom`.
    pub class: String,
    /// The node's.
    pub region: String,
    /// Where the table has its endpoints in that region.
    pub set: Option<Stored>,
    /// Its other regions, and how many endpoints it has there.
    pub elsewhere: Vec<(String, usize)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Path {
    /// Without the query.
    pub sent: String,
    /// As rules see it; none if it is refused.
    pub matched: Option<String>,
    /// As the origin gets it; none if it is refused.
    pub to_origin: Option<String>,
    /// `normalize`, `strict` or `raw`.
    pub paths: String,
    pub why: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Endpoint {
    /// `IP:PORT`, `unix:/PATH`, or `NAME:PORT` of a name without an address.
    pub address: String,
    /// The name, as written, that DNS has the address for.
    pub name: Option<String>,
    /// As the table has it; `unresolved` of a name without an address.
    pub state: String,
    pub candidate: bool,
    /// Why it is none, or comes last.
    pub why: Option<String>,
    /// What each core has with it.
    pub cores: Vec<Live>,
}

/// What one core has with an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Live {
    pub core: u16,
    /// Requests of the service.
    pub in_flight: u32,
    /// Connections that wait for their next request.
    pub connections_kept: usize,
    /// In a row, up to now.
    pub failures: u8,
    /// For how long it is still left alone.
    pub left_alone_ms: u64,
    /// It is asked only if no other serves.
    pub is_last: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// As in the file: `timeouts.connect`.
    pub name: String,
    pub value: String,
    pub from: SetBy,
    /// The file's line, if it says so.
    pub place: Option<String>,
    /// What a core makes of it, as with its share of the descriptors; none if nobody was asked, or it is the same.
    pub effective: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SetBy {
    Default,
    /// The file's, for all services.
    Router,
    Service,
}

impl Explanation {
    /// Whether an origin, or the router, answers.
    pub fn is_found(&self) -> bool {
        !matches!(self.verdict, Verdict::Problem { .. })
    }

    /// Adds what another core tells.
    pub(crate) fn add(&mut self, other: Explanation) {
        let is_same = |a: &Verdict, b: &Verdict| std::mem::discriminant(a) == std::mem::discriminant(b);
        let id = |told: &Explanation| told.service.as_ref().map(|service| service.id.clone());
        if !is_same(&self.verdict, &other.verdict) || id(self) != id(&other) {
            self.differing.extend(&other.cores);
        }
        self.cores.extend(&other.cores);
        for endpoint in other.endpoints {
            if let Some(same) = self.endpoints.iter_mut().find(|mine| mine.address == endpoint.address) {
                same.cores.extend(endpoint.cores);
                same.why = same.why.take().or(endpoint.why);
            }
        }
    }
}
