//! What is told of a request, for people.

use std::fmt::Write;

use comfy_table::{Table, presets};

use crate::edge::explain::{Endpoint, Explanation, Layer, Path, Request, SetBy, Setting, Stored, Verdict};

/// Verdict first, then what led to it; `notes` last. Every line ends, none in spaces.
pub(super) fn text(told: &Explanation, notes: &[String]) -> String {
    let mut out = asked(&told.request) + "\n\n";
    verdict(&mut out, told);
    origin(&mut out, told);
    if let Some(path) = &told.path {
        line(&mut out, "path", &of_path(path));
    }
    if !told.cores.is_empty() {
        line(&mut out, "told by", &of_cores(told));
    }
    if !told.endpoints.is_empty() {
        out.push('\n');
        endpoints(&mut out, told);
    }
    if !told.settings.is_empty() {
        out.push('\n');
        settings(&mut out, &told.settings);
    }
    for note in notes {
        out.push_str(&format!("\nnote: {note}\n"));
    }
    out
}

/// The request in a line: host name and path as one, or a target that has its own host name, or none, beside `Host`.
fn asked(request: &Request) -> String {
    let Request { method, host, target, .. } = request;
    match target.starts_with('/') {
        true => format!("{method} {host}{target}"),
        false => format!("{method} {target} (Host: {host})"),
    }
}

fn line(out: &mut String, label: &str, text: &str) {
    // Writing to memory does not fail.
    let _ = writeln!(out, "  {label:<9}  {text}");
}

fn verdict(out: &mut String, told: &Explanation) {
    match &told.verdict {
        Verdict::Forwarded { how } => {
            let service = told.service.as_ref().map_or("", |service| &service.id);
            line(out, "goes to", &format!("an endpoint of {service}: {how}"));
        }
        Verdict::Answered { status, what } => line(out, "gets", &format!("{status} from the router: {what}")),
        Verdict::Problem { status, problem, title, reason, fault, meaning, detail } => {
            line(out, "gets", &format!("{status} {problem}: {title}"));
            line(out, "reason", &format!("{reason}, fault of the {fault}: {meaning}"));
            if let Some(detail) = detail {
                line(out, "because", detail);
            }
        }
    }
}

fn origin(out: &mut String, told: &Explanation) {
    match (&told.service, &told.host) {
        (Some(service), host) => {
            let wildcard = told.wildcard.as_ref().map(|wildcard| format!(" by the wildcard {wildcard}"));
            let wildcard = wildcard.unwrap_or_default();
            let source = from(host.as_ref());
            line(out, "service", &format!("{} ({} domain){wildcard}, {source}", service.id, service.class));
            let what = match &service.set {
                Some(set) => format!("in region {}, {}", service.region, from(Some(set))),
                None => format!("none in region {}", service.region),
            };
            line(out, "endpoints", &what);
        }
        (None, Some(host)) => line(out, "host", &from(Some(host))),
        (None, None) => {}
    }
}

fn from(stored: Option<&Stored>) -> String {
    let Some(Stored { layer, place, version }) = stored else { return "not in the table".to_owned() };
    let layer = match layer {
        Layer::Services => "from the configuration's services".to_owned(),
        Layer::Overlay => "from the overlay".to_owned(),
        Layer::Level(at) => format!("from level {at}"),
        Layer::Base => "from the base".to_owned(),
    };
    let place = place.as_ref().map_or(String::new(), |place| format!(": {place}"));
    let version = version.map_or(String::new(), |(epoch, counter)| format!(", version [{epoch},{counter}]"));
    format!("{layer}{place}{version}")
}

fn of_path(path: &Path) -> String {
    let Path { sent, matched, to_origin, paths, why } = path;
    let Some(matched) = matched else { return format!("{sent}: {why} (paths: {paths})") };
    let origins = match to_origin {
        Some(to_origin) if to_origin != matched => format!(", to the origin {to_origin}"),
        _ => String::new(),
    };
    format!("{matched}{origins}: {why} (paths: {paths})")
}

fn of_cores(told: &Explanation) -> String {
    let cores = match told.cores.len() {
        1 => "1 core of the running router".to_owned(),
        count => format!("{count} cores of the running router"),
    };
    match told.differing.len() {
        0 => cores,
        count => format!("{cores}; {count} of them come to another verdict, ask again"),
    }
}

fn endpoints(out: &mut String, told: &Explanation) {
    let live = !told.cores.is_empty();
    let mut header = vec!["ENDPOINT", "STATE", "CANDIDATE"];
    if live {
        header.extend(["IN FLIGHT", "KEPT", "FAILURES"]);
    }
    header.push("WHY");
    let rows = told.endpoints.iter().map(|endpoint| {
        let mut row = vec![address(endpoint), endpoint.state.clone(), candidate(endpoint)];
        if live {
            let cores = &endpoint.cores;
            row.push(cores.iter().map(|core| u64::from(core.in_flight)).sum::<u64>().to_string());
            row.push(cores.iter().map(|core| core.connections_kept).sum::<usize>().to_string());
            row.push(cores.iter().map(|core| core.failures).max().unwrap_or(0).to_string());
        }
        row.push(endpoint.why.clone().unwrap_or_default());
        row
    });
    table(out, header, rows);
}

fn address(endpoint: &Endpoint) -> String {
    match &endpoint.name {
        Some(name) => format!("{} ({name})", endpoint.address),
        None => endpoint.address.clone(),
    }
}

fn candidate(endpoint: &Endpoint) -> String {
    let last = endpoint.cores.iter().filter(|core| core.is_last).count();
    match (endpoint.candidate, last) {
        (false, _) => "no".to_owned(),
        (true, 0) => "yes".to_owned(),
        (true, last) if last == endpoint.cores.len() => "last".to_owned(),
        (true, last) => format!("last on {last} of {} cores", endpoint.cores.len()),
    }
}

fn settings(out: &mut String, settings: &[Setting]) {
    let rows = settings.iter().map(|Setting { name, value, from, place, effective }| {
        let place = place.as_ref().map_or(String::new(), |place| format!(": {place}"));
        let from = match from {
            SetBy::Default => "default".to_owned(),
            SetBy::Router => format!("router{place}"),
            SetBy::Service => format!("service{place}"),
        };
        let effective = effective.as_ref().map(|most| format!(", on a core {most} by its descriptors"));
        vec![name.clone(), format!("{value}{}", effective.unwrap_or_default()), from]
    });
    table(out, vec!["SETTING", "VALUE", "FROM"], rows);
}

fn table(out: &mut String, header: Vec<&str>, rows: impl Iterator<Item = Vec<String>>) {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header).add_rows(rows);
    for line in table.lines() {
        let _ = writeln!(out, " {}", line.trim_end());
    }
}
