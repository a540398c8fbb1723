//! What of a configuration does not suit the machine on which it is checked. It may be meant for another, so these are
//! warnings; `ringway run` refuses them.

use std::path::Path;

use ringway_state::snapshot::{self, Header};

use crate::causes::with_causes;
use crate::config::{Config, Cores, LogPath};
use crate::runtime::machine;

/// A warning each, and the header of the snapshot if there is one that is whole.
pub fn look(config: &Config) -> (Vec<String>, Option<Header>) {
    let mut warnings = Vec::new();
    let here = machine::cpus();
    if let Cores::Pinned(cpus) = &config.cores
        && let Some(cpu) = cpus.iter().find(|cpu| !here.contains(cpu))
    {
        warnings.push(format!("cores: no process may run on CPU {cpu} here; CPUs here: {here:?}"));
    }
    if let LogPath::File(path) = &config.access_log.path {
        warnings.extend(unwritable(path));
    }
    let snapshot = config.state.snapshot.as_deref().map(snapshot::verify).transpose();
    let snapshot = snapshot.unwrap_or_else(|error| {
        warnings.push(format!("state.snapshot: {}", with_causes(&error)));
        None
    });
    (warnings, snapshot)
}

fn unwritable(path: &Path) -> Option<String> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if path.is_dir() {
        return Some(format!("access_log.path: {} is a folder; name a file in it", path.display()));
    }
    let mend = format!("make it with: mkdir -p {}", folder.display());
    (!folder.is_dir())
        .then(|| format!("access_log.path: there is no folder {} here; {mend}", folder.display()))
}
