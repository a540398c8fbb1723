//! The values that options take. Each refusal says what to write instead.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::ValueEnum;
use ringway::proto::http1::RequestHead;
use ringway::runtime::IdlePolicy;
use ringway_state::id::Region;

use crate::limits;

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub enum Idle {
    Park,
    Spin,
    Adaptive,
}

impl From<Idle> for IdlePolicy {
    fn from(idle: Idle) -> Self {
        match idle {
            Idle::Park => Self::Park,
            Idle::Spin => Self::Spin,
            Idle::Adaptive => Self::Adaptive,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub enum Draw {
    Uniform,
    Zipf,
}

/// A target as typed; its address is looked up later.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    pub name: String,
    /// `HOST:PORT`
    pub authority: String,
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, authority) = text.split_once('=').unwrap_or((text, text));
        let (host, port) = authority.rsplit_once(':').ok_or("write HOST:PORT, as in 127.0.0.1:8080")?;
        if name.is_empty() || host.is_empty() {
            return Err("write [NAME=]HOST:PORT, as in nginx=127.0.0.1:8080".to_owned());
        }
        match port.parse::<u16>() {
            Ok(1..) => Ok(Self { name: name.to_owned(), authority: authority.to_owned() }),
            _ => Err(format!("the port {port:?} is not a number from 1 to 65535")),
        }
    }
}

/// Where host names come from.
#[derive(Clone, Debug, PartialEq)]
pub enum HostSource {
    File(PathBuf),
    /// The first so many ranks of the standard data set.
    Dataset(u64),
}

impl FromStr for HostSource {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some(count) = text.strip_prefix("dataset:") else { return Ok(Self::File(text.into())) };
        match count.replace(['_', ','], "").parse() {
            Ok(count @ 1..=crate::dataset::STANDARD_HOSTS) => Ok(Self::Dataset(count)),
            _ => Err(format!("after dataset: write a count from 1 to {}", crate::dataset::STANDARD_HOSTS)),
        }
    }
}

/// A value that may stand in a Host field (RFC 9112 section 3.2): a host name of at most 253 octets or an address, and a port or
/// none. What is none tests no more than how it is refused; the corpus of cases does that.
#[derive(Clone, Debug, PartialEq)]
pub struct HostField(pub String);

impl FromStr for HostField {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let head = format!("GET / HTTP/1.1\r\nHost: {text}\r\n\r\n");
        let stands_alone = text.bytes().all(|octet| octet.is_ascii_graphic());
        if stands_alone && RequestHead::new().parse(head.as_bytes()).is_ok() {
            return Ok(Self(text.to_owned()));
        }
        Err(format!(
            "{text:?} is no host name; write 1 to 253 of A-Z a-z 0-9 . - _, or an IP address, and :PORT if need be"
        ))
    }
}

/// What `--listen` takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ListenOn {
    Address(SocketAddr),
    /// All origins of the standard data set.
    Dataset,
}

impl FromStr for ListenOn {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "dataset" {
            return Ok(Self::Dataset);
        }
        let hint = "write IP:PORT, as in 127.0.0.1:9000 or [::1]:9000, or dataset";
        text.parse().map(Self::Address).map_err(|_| hint.to_owned())
    }
}

/// Where an endpoint may be: an address that can be connected to.
pub(super) fn origin(text: &str) -> Result<ListenOn, String> {
    match text.parse()? {
        ListenOn::Address(address) if address.port() == 0 || address.ip().is_unspecified() => {
            Err("nobody can connect to it; write IP:PORT with an address and a port of their own, as in 127.0.0.1:9000"
                .to_owned())
        }
        origin => Ok(origin),
    }
}

pub(super) fn connections(text: &str) -> Result<usize, String> {
    within(text, 1, limits::CONNECTIONS_MAX)
}

pub(super) fn rounds(text: &str) -> Result<NonZeroU32, String> {
    let rounds = within(text, 1, limits::ROUNDS_MAX)?;
    NonZeroU32::new(rounds).ok_or_else(|| "at least 1".to_owned())
}

pub(super) fn body_octets(text: &str) -> Result<usize, String> {
    within(text, 0, limits::FIXED_BODY_OCTETS_MAX)
}

pub(super) fn answer_fields(text: &str) -> Result<usize, String> {
    within(text, 2, limits::ANSWER_FIELDS_MAX)
}

pub(super) fn requests(text: &str) -> Result<u64, String> {
    within(text, 1, limits::REQUESTS_MAX)
}

/// Of a data set, and services as well.
pub(super) fn hosts(text: &str) -> Result<u64, String> {
    within(text, 1, limits::DATASET_HOSTS_MAX)
}

pub(super) fn seed(text: &str) -> Result<u64, String> {
    within(text, 0, u64::MAX)
}

fn within<N: FromStr + PartialOrd + std::fmt::Display>(text: &str, least: N, most: N) -> Result<N, String> {
    match text.parse::<N>() {
        Ok(number) if number >= least && number <= most => Ok(number),
        _ => Err(format!("write a whole number from {least} to {most}")),
    }
}

pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=limits::SECONDS_MAX).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err(format!("write seconds from 0 to {}, as in 10 or 0.5", limits::SECONDS_MAX)),
    }
}

pub(super) fn region(text: &str) -> Result<Region, String> {
    Region::parse(text).map_err(|e| e.to_string())
}

pub(super) fn shorten(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(by) if (1.0..=limits::SHORTEN_MAX).contains(&by) => Ok(by),
        _ => Err(format!("write a number from 1 to {}, as in 20 for a twentieth", limits::SHORTEN_MAX)),
    }
}

pub(super) fn rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if rate > 0.0 && rate <= limits::RATE_MAX => Ok(rate),
        _ => Err(format!("write requests a second, above 0, at most {}", limits::RATE_MAX)),
    }
}

/// A request's path and query.
///
/// # Errors
/// What a path is made of.
pub fn is_path(text: &str) -> Result<String, String> {
    let fits = text.len() <= limits::PATH_OCTETS_MAX && text.bytes().all(|octet| octet.is_ascii_graphic());
    if fits && text.starts_with('/') {
        return Ok(text.to_owned());
    }
    Err("a path starts with / and has visible ASCII characters only; others are written as %XX".to_owned())
}
