//! `ringway explain`: what becomes of a request, and why. By the files, or by a running router.

mod show;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use form_urlencoded::Serializer;

use super::admin::{AdminUrl, AskError};
use crate::cli::Exit;
use crate::config::{self, Config};
use crate::edge::Settings;
use crate::edge::explain::{Ask, Explanation, annotate, explain as decide, field, plain};
use crate::feed::{self, InlineError, Known, Names};
use crate::limits;
use crate::observe::process_log::{self, Level};

#[derive(Debug, PartialEq, clap::Args)]
pub struct Explain {
    /// The configuration
    #[arg(long, value_name = "FILE")]
    pub config: PathBuf,
    /// The host name that is asked for, with a port or without
    #[arg(long, value_parser = plain)]
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
    #[error("the names of endpoints cannot be looked up: {0}; raise the limit on threads (ulimit -u)")]
    Names(#[from] io::Error),
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

/// What is told, and remarks on it.
fn tell(config: &Config, ask: &Ask, options: &Explain) -> Result<(Explanation, Vec<String>), ExplainError> {
    let Some(url) = &options.admin else { return Ok((by_files(config, ask, true)?, Vec::new())) };
    let url = match url.is_empty() {
        true => AdminUrl::from(config.admin.address),
        false => AdminUrl::parse(url)?,
    };
    let told: Explanation = url.get(&query(ask))?;
    let files = by_files(config, ask, false)?;
    let notes = differences(&told, &files, &options.config);
    Ok((told, notes))
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
fn by_files(config: &Config, ask: &Ask, look_up: bool) -> Result<Explanation, ExplainError> {
    let known = if look_up { known(config, ask)? } else { Known::new() };
    let table = feed::table(config, feed::base(config)?, &known)?;
    let mut told = decide(&table.publish(), &Settings::from(config), ask);
    annotate(&mut told, config, &known);
    Ok(told)
}

/// The addresses behind the names of the service that is asked for, looked up as a router does.
fn known(config: &Config, ask: &Ask) -> Result<Known, ExplainError> {
    let host = ask.host.split(':').next().and_then(|host| config::HostName::parse(host).ok());
    let asked_for =
        |service: &&config::Service| host.as_ref().is_some_and(|host| service.hostnames.contains(host));
    let services = config.services.iter().filter(asked_for).cloned().collect();
    let asked = Config { services, ..config.clone() };
    let mut names = Names::new(|| (), Arc::default());
    Ok(names.want(&asked, Duration::from_millis(limits::NAMES_FIRST_MS))?)
}

/// Where the running router and the files disagree: it has not read them since they were changed.
fn differences(told: &Explanation, files: &Explanation, file: &Path) -> Vec<String> {
    let id = |told: &Explanation| {
        told.service.as_ref().map_or("no service".to_owned(), |service| service.id.clone())
    };
    let values = |told: &Explanation| -> Vec<(String, String)> {
        told.settings.iter().map(|setting| (setting.name.clone(), setting.value.clone())).collect()
    };
    let what = match (id(told) == id(files), values(told) == values(files)) {
        (true, true) => return Vec::new(),
        (false, _) => format!("has {} for this host name", id(files)),
        (true, false) => "has other settings for this service".to_owned(),
    };
    let mend = "the router has not read it since, or what it was given otherwise; kill -HUP its process, or restart it";
    vec![format!("{} {what}: {mend}", file.display())]
}

#[cfg(test)]
mod tests;
