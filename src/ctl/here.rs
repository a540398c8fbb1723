//! What a configuration needs beside its file, looked at where it is checked: the snapshot that it names, and what of the
//! machine does not suit it. It may be meant for another machine, so the latter are warnings; `ringway run` refuses both.

use std::path::Path;

use ringway_state::snapshot::{self, Header};

use crate::config::{Config, Cores, Feed, LogPath};
use crate::feed::{InlineError, unusable};
use crate::runtime::machine;

/// What was found.
pub struct Here {
    /// For each thing that this machine lacks, a line: `FILE:LINE: warning: …`.
    pub warnings: Vec<String>,
    /// The header of the snapshot, if one is named.
    pub snapshot: Result<Option<Header>, InlineError>,
}

/// Looks at everything, and reads the whole snapshot.
pub fn look(config: &Config) -> Here {
    let mut warnings = Vec::new();
    let here = machine::cpus();
    if let Cores::Pinned(cpus) = &config.cores
        && let Some(cpu) = cpus.iter().find(|cpu| !here.contains(cpu))
    {
        let place = config.places.warning("cores");
        warnings.push(format!("{place}: no process may run on CPU {cpu} here; CPUs here: {here:?}"));
    }
    if let LogPath::File(path) = &config.access_log.path
        && let Some(why) = unwritable(path)
    {
        warnings.push(format!("{}: {why}", config.places.warning("access_log.path")));
    }
    if let Feed::File(path) = &config.state.feed
        && !path.is_file()
    {
        let (place, path) = (config.places.warning("state.feed.path"), path.display());
        warnings.push(format!(
            "{place}: there is no file {path} here; the router waits for it, and is not ready before"
        ));
    }
    let snapshot = config.state.snapshot.as_deref().map(snapshot::verify).transpose();
    Here { warnings, snapshot: snapshot.map_err(|error| unusable(config, &error)) }
}

fn unwritable(path: &Path) -> Option<String> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if path.is_dir() {
        return Some(format!("{} is a folder; name a file in it", path.display()));
    }
    let mend = format!("make it with: mkdir -p {}", folder.display());
    (!folder.is_dir()).then(|| format!("there is no folder {} here; {mend}", folder.display()))
}
