//! `ringway explain`: what becomes of a request, and why. By the files, or by a running router.

mod show;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use form_urlencoded::Serializer;
use ringway_state::record::Record;
use ringway_state::{HostHit, Table};

use super::admin::{AdminUrl, AskError};
use crate::causes::with_causes;
use crate::cli::Exit;
use crate::config::{self, Config, Feed, HostName};
use crate::edge::Settings;
use crate::edge::explain::{Ask, Explanation, Layer, annotate, explain as decide, field, host, plain};
use crate::feed::{self, InlineError, Known, Names, StateDir, StoreError};
use crate::limits;
use crate::observe::process_log::{self, Level};

#[derive(Debug, PartialEq, clap::Args)]
pub struct Explain {
    /// The configuration
    #[arg(long, value_name = "FILE")]
    pub config: PathBuf,
    /// The host name that is asked for, with a port or without
    #[arg(long, value_parser = host)]
    pub host: String,
    /// The path that is asked for, with a query or without
    #[arg(long, default_value = "/", value_parser = plain)]
    pub path: String,
    #[arg(long, default_value = "GET", value_parser = plain)]
    pub method: String,
    /// A further field of the request, as in 'Max-Forwards: 0'; may be given again
    #[arg(long = "header", value_name = "NAME: VALUE", value_parser = field)]
    pub headers: Vec<(String, String)>,
    /// Ask the running router, which also tells how its endpoints stand; without URL, the one that the configuration's
    /// admin.address leads to
    #[arg(long, value_name = "URL", num_args = 0..=1, default_missing_value = "")]
    pub admin: Option<String>,
    /// Tell it as JSON
    #[arg(long)]
    pub json: bool,
}

/// Why nothing can be told. The input is wrong.
#[derive(Debug, thiserror::Error)]
enum ExplainError {
    #[error(transparent)]
    Table(#[from] InlineError),
    #[error("{}", with_causes(.0))]
    Stored(#[from] StoreError),
    #[error("the names of endpoints cannot be looked up: {0}; raise the limit on threads (ulimit -u)")]
    Names(#[from] io::Error),
    #[error("{place}: the file of changes cannot be read: {error}")]
    Feed { place: String, error: io::Error },
    #[error(transparent)]
    Ask(#[from] AskError),
}

/// Tells what becomes of a request. It is fine if an origin, or the router, answers; else, as with an unknown host name or
/// no healthy endpoint, the input is wrong.
///
/// # Errors
/// Only those of `out`.
pub fn explain(options: &Explain, out: &mut impl Write) -> io::Result<Exit> {
    // What a look-up of names logs is told here in other words.
    process_log::set_level(Level::Error);
    let config = match config::load(&options.config) {
        Ok(config) => config,
        Err(mistakes) => {
            writeln!(out, "{mistakes}")?;
            return Ok(Exit::WrongInput);
        }
    };
    let ask = Ask {
        method: options.method.clone(),
        host: options.host.clone(),
        path: options.path.clone(),
        fields: options.headers.clone(),
    };
    let (told, notes) = match tell(&config, &ask, options) {
        Ok(told) => told,
        Err(error) => {
            writeln!(out, "{error}")?;
            return Ok(Exit::WrongInput);
        }
    };
    match options.json {
        true => writeln!(out, "{}", serde_json::to_string_pretty(&told).unwrap_or_default())?,
        false => out.write_all(show::text(&told, &notes).as_bytes())?,
    }
    Ok(if told.is_found() { Exit::Fine } else { Exit::WrongInput })
}

/// What files of a feed cannot tell.
const UNASKED: &str = "no router was asked: what its guards hold back and how far its feed has come is not in this; --admin asks it, \
                       and `ringway guards list` tells what is held";

/// What is told, and remarks on it.
fn tell(config: &Config, ask: &Ask, options: &Explain) -> Result<(Explanation, Vec<String>), ExplainError> {
    let Some(url) = &options.admin else {
        let notes = matches!(config.state.feed, Feed::File(_)).then(|| UNASKED.to_owned());
        return Ok((by_files(config, ask)?, notes.into_iter().collect()));
    };
    let url = match url.is_empty() {
        true => AdminUrl::from(config.admin.address),
        false => AdminUrl::parse(url)?,
    };
    let told: Explanation = url.get(&query(ask))?;
    let differs = difference(&told, config, ask);
    let mend =
        "the router has not read it since it was changed, or runs on another; kill -HUP it, or restart it";
    let note = differs.map(|differs| format!("{} {differs}: {mend}", options.config.display()));
    Ok((told, note.into_iter().collect()))
}

fn query(ask: &Ask) -> String {
    let mut query = Serializer::new(String::new());
    query.append_pair("host", &ask.host).append_pair("path", &ask.path).append_pair("method", &ask.method);
    for (name, value) in &ask.fields {
        query.append_pair("header", &format!("{name}: {value}"));
    }
    format!("/v1/explain?{}", query.finish())
}

/// As a router that is started on the configuration now would do it.
fn by_files(config: &Config, ask: &Ask) -> Result<Explanation, ExplainError> {
    let known = known(config, ask)?;
    let table = match &config.state.feed {
        Feed::Inline => feed::table(config, feed::base(config)?, &known)?,
        Feed::File(path) => fed(config, path, ask)?,
    };
    let mut told = decide(&table.publish(), &Settings::from(config), ask);
    annotate(&mut told, config, &known);
    Ok(told)
}

/// The table that is in `state.dir`, and what the file of changes has for the request on top.
fn fed(config: &Config, path: &Path, ask: &Ask) -> Result<Table, ExplainError> {
    let mut table = StateDir::look_at_table::<ExplainError>(config, path, || Ok(feed::base(config)?))?;
    let replayed = ask.name().map_or(Ok(()), |host| replay(path, &host, &mut table));
    let place = || config.places.of("state.feed.path");
    replayed.map_err(|error| ExplainError::Feed { place: place(), error })?;
    Ok(table)
}

/// The addresses behind the names of the service that is asked for, looked up as a router does.
fn known(config: &Config, ask: &Ask) -> Result<Known, ExplainError> {
    let host = ask.name();
    let asked_for =
        |service: &&config::Service| host.as_ref().is_some_and(|host| service.hostnames.contains(host));
    let services = config.services.iter().filter(asked_for).cloned().collect();
    let asked = Config { services, ..config.clone() };
    let mut names = Names::new(|| (), Arc::default());
    Ok(names.first(&asked, Duration::from_millis(limits::NAMES_FIRST_MS))?)
}

/// The wildcard that a name falls to if it is not there itself.
fn wildcard_of(name: &HostName) -> Option<HostName> {
    let (_, parent) = name.as_str().split_once('.')?;
    HostName::parse_pattern(&format!("*.{parent}")).ok()
}

/// Applies what a file of changes has on a host name, and on its service. Twice through the file, so that no more of it is
/// held.
fn replay(path: &Path, host: &HostName, table: &mut Table) -> io::Result<()> {
    let wildcard = wildcard_of(host);
    feed::replay(path, |change| {
        if matches!(&change.record, Record::Host(name, _) if name == host || Some(name) == wildcard.as_ref())
        {
            table.apply(change);
        }
    })?;
    let view = table.publish();
    let Some(HostHit::Service(owner)) = view.host(host.as_str().as_bytes()) else { return Ok(()) };
    feed::replay(path, |change| match &change.record {
        Record::Service(id, _) | Record::Endpoints(id, _, _) if id.as_str() == owner.id() => {
            table.apply(change);
        }
        _ => {}
    })
}

/// What the configuration says otherwise than the running router does.
fn difference(told: &Explanation, config: &Config, ask: &Ask) -> Option<String> {
    let (id, host) = (told.service.as_ref().map(|service| service.id.as_str()), ask.name()?);
    let of_file = |service: &&config::Service| service.hostnames.contains(&host);
    let files = config.services.iter().find(of_file).map(|service| service.id.as_str());
    let is_of_file = told.host.as_ref().is_some_and(|host| host.layer == Layer::Services);
    if files != id.filter(|_| is_of_file) {
        return Some(format!("has {} for this host name", files.unwrap_or("no service of its own")));
    }
    let own = config.services.iter().find(|service| Some(service.id.as_str()) == id);
    let settings = own.map_or(config.of_services(), |service| service.settings);
    let same = settings.held().iter().zip(&told.settings).all(|(file, told)| file.value == told.value);
    (id.is_some() && !same).then(|| "has other settings for this service".to_owned())
}

#[cfg(test)]
mod tests;
