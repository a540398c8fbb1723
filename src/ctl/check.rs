//! `ringway check`: every mistake of a configuration, and all that a run would refuse here. What may be otherwise on another
//! machine, for which the file may be meant, is a warning.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ringway_state::snapshot::{self, Header, Snapshot};
use ringway_state::{HostHit, Table, View};
use serde_json::Value;

use super::admin::AdminUrl;
use crate::cli::Exit;
use crate::config::{self, Config, Feed, Service};
use crate::edge::{Refusal, rehearse};
use crate::feed::{self, InlineError, Known, unusable};
use crate::limits;

/// What was found beside the file's own mistakes.
#[derive(Default)]
struct Found {
    /// Whole lines, as all here.
    mistakes: Vec<String>,
    /// Of this machine.
    lacks: Vec<String>,
    warnings: Vec<String>,
    /// Of the snapshot, if one is named and can be used.
    header: Option<Header>,
}

/// Writes each mistake, or else each warning and a summary, to `out`. A snapshot that cannot be used is a mistake too.
///
/// # Errors
/// Only those of `out`.
pub fn check(path: &Path, out: &mut impl Write) -> io::Result<Exit> {
    let config = match config::load(path) {
        Ok(config) => config,
        Err(mistakes) => {
            writeln!(out, "{mistakes}")?;
            return Ok(Exit::WrongInput);
        }
    };
    let found = Found::of(&config);
    for line in config.warnings.iter().chain(&found.lacks).chain(&found.warnings).chain(&found.mistakes) {
        writeln!(out, "{line}")?;
    }
    if !found.mistakes.is_empty() {
        return Ok(Exit::WrongInput);
    }
    let fine = if found.lacks.is_empty() { "fine" } else { "fine, but not on this machine" };
    writeln!(out, "{}: {fine}: {}", path.display(), summary(&config, found.header.as_ref()))?;
    Ok(Exit::Fine)
}

impl Found {
    fn of(config: &Config) -> Found {
        let mut found = Found::default();
        found.refusals(config);
        if let Feed::File(path) = &config.state.feed
            && let Err(why) = feed_file(path)
        {
            let place = config.places.warning("state.feed.path");
            found.lacks.push(format!("{place}: {why}; the router waits for it, and is not ready before"));
        }
        if let Err(error) = found.snapshot(config) {
            found.mistakes.push(error.to_string());
        }
        found
    }

    /// What a start would end with. A router that runs on this configuration has what another could not get; it is told of
    /// instead.
    fn refusals(&mut self, config: &Config) {
        let (input, mut here): (Vec<Refusal>, Vec<Refusal>) =
            rehearse(config).into_iter().partition(Refusal::is_of_input);
        self.mistakes.extend(input.iter().map(|refusal| refusal.line(config)));
        if here.iter().any(Refusal::is_taken)
            && let Some(node) = running(config)
        {
            here.retain(|refusal| !refusal.is_taken());
            let place = config.places.warning("admin.address");
            self.warnings.push(format!(
                "{place}: a router ({node}) runs here and has it; whether what it has taken would be free is not known"
            ));
        }
        self.lacks.extend(here.iter().map(|refusal| refusal.line(config)));
    }

    /// Reads the whole snapshot, and looks for host names that the file takes from it.
    fn snapshot(&mut self, config: &Config) -> Result<(), InlineError> {
        let Some(path) = &config.state.snapshot else { return Ok(()) };
        self.header = Some(snapshot::verify(path).map_err(|error| unusable(config, &error))?);
        let base = Arc::new(Snapshot::open(path).map_err(|error| unusable(config, &error))?);
        let alone = Table::with_base(Arc::clone(&base), &config.node.region).publish();
        self.warnings.extend(config.services.iter().flat_map(|service| taken_over(service, &alone, config)));
        feed::table(config, Some(base), &Known::new()).map(drop)
    }
}

/// The host names that a service of the file takes from the snapshot's.
fn taken_over(service: &Service, snapshot: &View, config: &Config) -> Vec<String> {
    let line = |host: &config::HostName| {
        let there = match snapshot.host(host.as_str().as_bytes())? {
            HostHit::Service(owner) if owner.id() == service.id.as_str() => return None,
            HostHit::Service(owner) => format!("is {}'s in the snapshot", owner.id()),
            HostHit::Tombstone { reason } => format!("has a tombstone in the snapshot ({reason})"),
        };
        let place = config.places.warning(&format!("services[{}].hostnames", service.id));
        Some(format!("{place}: {host} {there}; here it goes to {}", service.id))
    };
    service.hostnames.iter().filter_map(line).take(limits::CONFIG_MISTAKES_MAX).collect()
}

/// The node of the router that answers at the configuration's admin listener.
fn running(config: &Config) -> Option<String> {
    let patience = Duration::from_millis(limits::ADMIN_LOOK_MS);
    let state: Value = AdminUrl::from(config.admin.address).within(patience).get("/v1/state").ok()?;
    Some(state["node"]["id"].as_str()?.to_owned())
}

/// Whether the file of changes is there and can be read.
fn feed_file(path: &Path) -> Result<(), String> {
    let shown = path.display();
    match path.metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(format!("there is no file {shown} here"))
        }
        Err(error) => Err(format!("{shown} cannot be looked at: {error}")),
        Ok(there) if !there.is_file() => Err(format!("{shown} is no file")),
        Ok(_) => File::open(path).map(drop).map_err(|error| format!("{shown} cannot be read: {error}")),
    }
}

fn summary(config: &Config, snapshot: Option<&Header>) -> String {
    let hostnames = config.services.iter().map(|s| s.hostnames.len()).sum();
    let endpoints = config.services.iter().map(|s| s.endpoints.len()).sum();
    let mut parts = vec![count(config.listeners.len(), "listener")];
    match &config.state.feed {
        Feed::Inline => parts.extend([
            count(config.services.len(), "service"),
            count(hostnames, "host name"),
            count(endpoints, "endpoint"),
        ]),
        // It may be long, and its wrong lines are refused one by one.
        Feed::File(path) => parts.push(format!("services from {}, which is not read here", path.display())),
    }
    parts.extend(snapshot.map(|header| format!("and a snapshot of {}", header.counts)));
    parts.join(", ")
}

fn count(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a failed unwrap is a failed test
    use std::net::TcpListener;
    use std::os::unix::net::UnixListener;

    use super::*;

    /// Checks a file within a folder, whose name is taken off what is said.
    fn checked_in(dir: &Path, content: &str) -> (Exit, String) {
        let path = dir.join("edge.yaml");
        std::fs::write(&path, content.replace("DIR", &dir.display().to_string())).unwrap();
        let mut out = Vec::new();
        let exit = check(&path, &mut out).unwrap();
        (exit, String::from_utf8(out).unwrap().replace(&dir.display().to_string(), "DIR"))
    }

    fn checked(content: &str) -> (Exit, String) {
        checked_in(tempfile::tempdir().unwrap().path(), content)
    }

    /// A port on which nobody listens; the kernel gives them out in turn.
    fn free() -> u16 {
        TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
    }

    fn head() -> String {
        let (port, admin) = (free(), free());
        format!(
            "listeners: [{{ address: \"127.0.0.1:{port}\", protocol: http }}]\n\
             admin: {{ address: \"127.0.0.1:{admin}\" }}\n"
        )
    }

    #[test]
    fn every_mistake_or_a_summary() {
        let (exit, out) = checked(&format!("{}services: []\n", head()));
        assert_eq!(exit, Exit::Fine, "{out}");
        let warning =
            "DIR/edge.yaml:3: warning: services: is empty, so every request gets 404; add a service";
        let summary = "DIR/edge.yaml: fine: 1 listener, 0 services, 0 host names, 0 endpoints";
        assert_eq!(out, format!("{warning}\n{summary}\n"));

        let (exit, out) =
            checked("listeners: [{ address: \"127.0.0.1:8080\", protocol: htp }]\nidle: sleep\n");
        assert_eq!(exit, Exit::WrongInput);
        let first = "DIR/edge.yaml:1: listeners[0].protocol: unknown value \"htp\"; did you mean http?";
        let second = "DIR/edge.yaml:2: idle: unknown value \"sleep\"; use park, spin or adaptive";
        assert_eq!(out, format!("{first}\n{second}\n"));
    }

    #[test]
    fn services_of_a_feed_are_not_counted_as_none() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("changes"), "").unwrap();
        let feed = "state: { dir: DIR/state, feed: { kind: file, path: DIR/changes } }\n";
        let (exit, out) = checked_in(dir.path(), &format!("{}{feed}", head()));
        let summary = "1 listener, services from DIR/changes, which is not read here\n";
        assert_eq!((exit, out), (Exit::Fine, format!("DIR/edge.yaml: fine: {summary}")));
    }

    /// What stands on line 3 and below, and the line that `check` has for it.
    #[test]
    fn what_a_run_would_refuse_here_is_warned_of() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("file"), "").unwrap();
        let held = held_state_dir(&at("held"));
        let feed = "feed: { kind: file, path: DIR/file }";
        for (rest, said) in [
            (
                "cores: [1023]".to_owned(),
                "3: warning: cores: this process may not run on CPU 1023; list CPUs",
            ),
            ("access_log: { path: DIR/none/a.log }".to_owned(), "3: warning: access_log.path: cannot"),
            ("access_log: { path: DIR }".to_owned(), "3: warning: access_log.path: cannot"),
            (
                format!("state: {{ dir: DIR/file, {feed} }}"),
                "3: warning: state.dir: DIR/file cannot be used: ",
            ),
            (
                format!("state: {{ dir: DIR/file/a/b, {feed} }}"),
                "3: warning: state.dir: DIR/file/a/b cannot be used: ",
            ),
            (
                format!("state: {{ dir: DIR/held, {feed} }}"),
                "3: warning: state.dir: DIR/held is used by another process (pid ",
            ),
            (
                "state: { dir: DIR, feed: { kind: file, path: DIR/none } }".to_owned(),
                "3: warning: state.feed.path: there is no file DIR/none here; the router waits for it",
            ),
            (
                "state: { dir: DIR, feed: { kind: file, path: DIR } }".to_owned(),
                "3: warning: state.feed.path: DIR is no file; ",
            ),
        ] {
            let (exit, out) = checked_in(dir.path(), &format!("{}{rest}\n", head()));
            assert!(exit == Exit::Fine && out.contains(&format!("DIR/edge.yaml:{said}")), "{rest}: {out}");
            assert!(
                out.contains("DIR/edge.yaml: fine, but not on this machine: 1 listener"),
                "{rest}: {out}"
            );
        }
        drop(held);
        assert!(!at("none").exists() && !at("a.log").exists(), "nothing is made");
    }

    #[test]
    fn addresses_that_a_run_could_not_have_are_warned_of() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("file"), "").unwrap();
        let _served = UnixListener::bind(at("served.sock")).unwrap();
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let taken = taken.local_addr().unwrap().port();
        for (address, said) in [
            (
                format!("127.0.0.1:{taken}"),
                format!("cannot listen on 127.0.0.1:{taken}: Address already in use"),
            ),
            (
                "192.0.2.1:80".to_owned(),
                "cannot listen on 192.0.2.1:80: Cannot assign requested address".to_owned(),
            ),
            ("unix:DIR/served.sock".to_owned(), "cannot listen on unix:DIR/served.sock: ".to_owned()),
            ("unix:DIR/file".to_owned(), "cannot listen on unix:DIR/file: a file is there".to_owned()),
            (
                "unix:DIR/none/a.sock".to_owned(),
                "cannot listen on unix:DIR/none/a.sock: No such file".to_owned(),
            ),
        ] {
            let front = format!("listeners:\n- {{ address: \"{address}\", protocol: http }}\n");
            let admin = format!("admin: {{ address: \"127.0.0.1:{}\" }}\n", free());
            let (exit, out) = checked_in(dir.path(), &format!("{front}{admin}"));
            let said = format!("DIR/edge.yaml:2: warning: listeners[{address}].address: {said}");
            assert!(exit == Exit::Fine && out.contains(&said), "{said}: {out}");
        }
        let (_, out) = checked_in(
            dir.path(),
            &head().replace("admin: { address: \"127.0.0.1:", "admin: { address: \"127.0.0.2:"),
        );
        assert!(!out.contains("warning: admin"), "{out}");
        let admin = format!(
            "listeners: [{{ address: \"127.0.0.1:{}\", protocol: http }}]\nadmin: {{ address: \"127.0.0.1:{taken}\" }}\n",
            free()
        );
        let (exit, out) = checked_in(dir.path(), &admin);
        let said = format!(
            "DIR/edge.yaml:2: warning: admin.address: cannot listen on 127.0.0.1:{taken} for the admin listener"
        );
        assert!(exit == Exit::Fine && out.contains(&said), "{out}");
    }

    fn held_state_dir(dir: &Path) -> feed::StateDir {
        let text = format!(
            "listeners: [{{ address: \"127.0.0.1:80\", protocol: http }}]\nstate: {{ dir: \"{}\" }}\n",
            dir.display()
        );
        let config = config::parse("f", text.as_bytes(), "host").unwrap();
        feed::StateDir::open(&config, Duration::ZERO).unwrap()
    }

    #[test]
    fn host_names_that_are_anothers_in_the_snapshot_are_told_of() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let changes = [
            r#"{"kind":"domain_map","hostname":"a.test","service":"svc_a","version":1,"class":"custom"}"#,
            r#"{"kind":"domain_map","hostname":"b.test","service":"svc_b","version":1,"class":"custom"}"#,
            r#"{"kind":"tombstone","hostname":"c.test","version":1,"reason":"takedown"}"#,
        ];
        std::fs::write(at("changes"), changes.join("\n")).unwrap();
        crate::ctl::build(&at("changes"), &at("base.snap"), &mut Vec::new()).unwrap();
        let services = "state: { snapshot: DIR/base.snap }\nservices:\n- id: svc_a\n  hostnames: [a.test, b.test, c.test, d.test]\n  endpoints: [\"10.0.0.1:80\"]\n";
        let (exit, out) = checked_in(dir.path(), &format!("{}{services}", head()));
        let lines: Vec<&str> = out.lines().collect();
        assert_eq!(exit, Exit::Fine);
        assert_eq!(
            lines[0],
            "DIR/edge.yaml:6: warning: services[svc_a].hostnames: b.test is svc_b's in the snapshot; here it goes to svc_a"
        );
        assert_eq!(
            lines[1],
            "DIR/edge.yaml:6: warning: services[svc_a].hostnames: c.test has a tombstone in the snapshot (takedown); here it goes to svc_a"
        );
        assert!(
            lines[2].starts_with("DIR/edge.yaml: fine: 1 listener, 1 service, ") && lines.len() == 3,
            "{out}"
        );
        std::fs::write(at("base.snap"), "nonsense").unwrap();
        let (exit, out) = checked_in(dir.path(), &format!("{}{services}", head()));
        assert!(exit == Exit::WrongInput && out.starts_with("DIR/edge.yaml:3: state.snapshot: "), "{out}");
    }

    #[test]
    fn services_that_do_not_fit_the_table_are_a_mistake() {
        let names: Vec<String> =
            (0..=ringway_state::limits::OVERLAY_KEYS_MAX).map(|n| format!("h{n}.test")).collect();
        let service = "services:\n- id: svc_a\n  endpoints: [\"10.0.0.1:80\"]\n  hostnames: [";
        let (exit, out) = checked(&format!("{}{service}{}]\n", head(), names.join(", ")));
        let said = "DIR/edge.yaml:4: services[svc_a]: ";
        assert!(
            exit == Exit::WrongInput && out.starts_with(said) && out.contains("ringway state build"),
            "{out}"
        );
        assert_eq!(out.lines().count(), 1, "{out}");
    }

    #[test]
    fn a_missing_file_is_wrong_input() {
        let mut out = Vec::new();
        assert_eq!(check(Path::new("/nowhere/edge.yaml"), &mut out).unwrap(), Exit::WrongInput);
        let out = String::from_utf8(out).unwrap();
        assert!(out.starts_with("/nowhere/edge.yaml: cannot be read: No such file"), "{out}");
        assert_eq!(out.lines().count(), 1);
    }
}
