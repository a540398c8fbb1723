//! `ringway guards`: what a running router's guards hold back, and that it is meant.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use comfy_table::{Table, presets};
use ringway_state::id::ServiceId;
use serde::Deserialize;
use serde_json::Value;

use super::admin::{AdminUrl, AskError};
use crate::cli::Exit;
use crate::config::{self, Mistakes};
use crate::feed::Rule;

const LIST_HELP: &str = "\
Exit codes: 0 the router has answered, whatever is held, 1 it has not.

Example: ringway guards list --config edge.yaml";

const ACKNOWLEDGE_HELP: &str = "\
Exit codes: 0 the router has taken it up, 1 it has not.

Examples:
  ringway guards acknowledge fleet --config edge.yaml
  ringway guards acknowledge --service svc_shop --admin http://127.0.0.1:9180";

#[derive(Debug, PartialEq, clap::Subcommand)]
pub enum Guards {
    /// Tell what each guard holds back, for how long, and when it goes by itself
    #[command(after_help = LIST_HELP)]
    List {
        #[command(flatten)]
        router: Running,
        /// Tell it as JSON
        #[arg(long)]
        json: bool,
    },
    /// Let go what guards hold, since it is meant; for ten minutes nothing more is held for that reason
    #[command(after_help = ACKNOWLEDGE_HELP)]
    Acknowledge {
        #[command(flatten)]
        router: Running,
        /// The guard that holds it
        #[arg(value_parser = PossibleValuesParser::new(Rule::ALL.map(Rule::as_str)))]
        rule: Option<String>,
        /// Only what is held of this service, by any guard
        #[arg(long, value_name = "SERVICE", conflicts_with = "rule", required_unless_present = "rule")]
        service: Option<ServiceId>,
    },
}

/// Which router is asked.
#[derive(Debug, PartialEq, clap::Args)]
#[group(required = true, multiple = false)]
pub struct Running {
    /// The configuration that the router runs with, whose admin.address leads to it
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Its admin listener, as in http://127.0.0.1:9180
    #[arg(long, value_name = "URL")]
    pub admin: Option<String>,
}

/// Why nothing is told. The input is wrong.
#[derive(Debug, thiserror::Error)]
enum GuardsError {
    #[error(transparent)]
    Config(#[from] Mistakes),
    #[error(transparent)]
    Ask(#[from] AskError),
}

/// What the router tells.
#[derive(Deserialize)]
struct Told {
    guards: Vec<Holding>,
    octets_passed_over: u64,
}

#[derive(Deserialize)]
struct Holding {
    id: String,
    held: u64,
    held_for_seconds: Option<u64>,
    expires_in_seconds: Option<u64>,
    keys: Vec<String>,
    acknowledged_for_seconds: Option<u64>,
}

/// What became of somebody's word.
#[derive(Deserialize)]
struct Taken {
    on_record: bool,
    /// Of a service: whether there is anything by its name.
    known: Option<bool>,
}

/// Asks a router, and tells what it says.
///
/// # Errors
/// Only those of `out`.
pub fn guards(what: &Guards, out: &mut impl Write) -> io::Result<Exit> {
    let told = match what {
        Guards::List { router, json } => list(router, *json),
        Guards::Acknowledge { router, rule, service } => {
            acknowledge(router, rule.as_deref(), service.as_ref())
        }
    };
    match told {
        Ok(text) => {
            writeln!(out, "{}", text.trim_end())?;
            Ok(Exit::Fine)
        }
        Err(error) => {
            writeln!(out, "{error}")?;
            Ok(Exit::WrongInput)
        }
    }
}

fn url(router: &Running) -> Result<AdminUrl, GuardsError> {
    match (&router.config, &router.admin) {
        (Some(file), _) => Ok(AdminUrl::from(config::load(file)?.admin.address)),
        (None, url) => Ok(AdminUrl::parse(url.as_deref().unwrap_or_default())?),
    }
}

fn list(router: &Running, json: bool) -> Result<String, GuardsError> {
    let url = url(router)?;
    if json {
        let told: Value = url.get("/v1/guards")?;
        return Ok(format!("{told:#}"));
    }
    Ok(text(&url.get("/v1/guards")?))
}

fn acknowledge(
    router: &Running,
    rule: Option<&str>,
    service: Option<&ServiceId>,
) -> Result<String, GuardsError> {
    let url = url(router)?;
    let (path, what) = match service {
        None => {
            let rule = rule.unwrap_or_default();
            (format!("/v1/guards/{rule}/acknowledge"), format!("what {rule} holds"))
        }
        Some(service) => {
            (format!("/v1/guards/services/{service}/acknowledge"), format!("what is held of {service}"))
        }
    };
    Ok(taken_text(&what, &url.post(&path)?))
}

fn taken_text(what: &str, taken: &Taken) -> String {
    let mut lines = vec![format!("{what} goes, and for ten minutes nothing more is held for that reason")];
    if taken.known == Some(false) {
        lines.push(
            "note: the router knows no such service, so nothing of it was held; `ringway guards list` has the \
             names that are"
                .to_owned(),
        );
    }
    if !taken.on_record {
        lines.push(
            "note: it is not on record, since state.dir takes nothing now: should the router end before it does, it is \
             forgotten; make room there, and say it once more"
                .to_owned(),
        );
    }
    lines.join("\n")
}

fn text(told: &Told) -> String {
    let Told { guards, octets_passed_over } = told;
    if guards.is_empty() {
        return "nothing is guarded: changes come from no feed".to_owned();
    }
    let seconds = |seconds: Option<u64>| seconds.map_or("-".to_owned(), |seconds| format!("{seconds} s"));
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header([
        "guard",
        "held",
        "for",
        "goes by itself in",
        "lets all through for",
        "some of it",
    ]);
    for guard in guards {
        let goes = match (guard.held, guard.expires_in_seconds) {
            (1.., None) => "as there is room".to_owned(),
            (_, left) => seconds(left),
        };
        table.add_row([
            guard.id.clone(),
            guard.held.to_string(),
            seconds(guard.held_for_seconds),
            goes,
            seconds(guard.acknowledged_for_seconds),
            some(&guard.keys),
        ]);
    }
    let mut lines: Vec<String> = table.lines().map(|line| line.trim().to_owned()).collect();
    if *octets_passed_over > 0 {
        lines.push(format!(
            "note: there was no room for more; {octets_passed_over} octets of the feed are read once more when there is"
        ));
    }
    lines.join("\n")
}

/// As many keys as fit a line.
fn some(keys: &[String]) -> String {
    const SHOWN: usize = 3;
    match keys {
        [] => "-".to_owned(),
        keys if keys.len() > SHOWN => format!("{}, …", keys[..SHOWN].join(", ")),
        keys => keys.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_is_a_line_a_guard() {
        let told = serde_json::json!({
            "octets_passed_over": 77,
            "guards": [
                {
                    "id": "emptied", "held": 4, "held_for_seconds": 12, "expires_in_seconds": null,
                    "keys": ["eps:a/x", "eps:b/x", "eps:c/x", "eps:d/x"], "acknowledged_for_seconds": null,
                },
                {
                    "id": "fleet", "held": 1, "held_for_seconds": 60, "expires_in_seconds": 1740,
                    "keys": ["eps:e/x"], "acknowledged_for_seconds": null,
                },
                {
                    "id": "service", "held": 0, "held_for_seconds": null, "expires_in_seconds": null,
                    "keys": [], "acknowledged_for_seconds": 599,
                },
            ],
        });
        let expected = "\
guard    held  for   goes by itself in  lets all through for  some of it
emptied  4     12 s  as there is room   -                     eps:a/x, eps:b/x, eps:c/x, …
fleet    1     60 s  1740 s             -                     eps:e/x
service  0     -     -                  599 s                 -
note: there was no room for more; 77 octets of the feed are read once more when there is";
        assert_eq!(text(&serde_json::from_value(told).unwrap()), expected);
        let nothing = serde_json::json!({ "octets_passed_over": 0, "guards": [] });
        assert!(text(&serde_json::from_value(nothing).unwrap()).starts_with("nothing is guarded"));
    }

    #[test]
    fn what_became_of_somebodys_word_is_told() {
        let told = |taken: serde_json::Value| taken_text("it", &serde_json::from_value(taken).unwrap());
        let fine = "it goes, and for ten minutes nothing more is held for that reason";
        assert_eq!(told(serde_json::json!({ "acknowledged": "fleet", "on_record": true })), fine);
        assert_eq!(told(serde_json::json!({ "on_record": true, "known": true })), fine);
        let unknown = told(serde_json::json!({ "on_record": true, "known": false }));
        assert!(unknown.starts_with(fine) && unknown.contains("no such service"), "{unknown}");
        let forgotten = told(serde_json::json!({ "on_record": false, "known": true }));
        assert!(forgotten.starts_with(fine) && forgotten.contains("not on record"), "{forgotten}");
    }
}
