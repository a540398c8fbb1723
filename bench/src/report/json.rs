//! A run as it is kept in bench/out/.
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

use super::Figure;
use crate::failure::Failure;
use crate::machine::Machine;

#[derive(Serialize)]
pub struct Run {
    pub machine: Machine,
    pub versions: Vec<String>,
    /// Cores, data set and length of turns, in words.
    pub conditions: String,
    pub rounds: usize,
    pub figures: Vec<Figure>,
}

/// Writes `run` as `NAME-SECONDS.json` into `out`, the configurations into a folder beside it; returns the
/// file.
pub fn keep(
    run: &Run,
    configurations: &[(String, String)],
    name: &str,
    out: &Path,
) -> Result<PathBuf, Failure> {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let stem = format!("{name}-{seconds}");
    let folder = out.join(&stem);
    std::fs::create_dir_all(&folder).map_err(Failure::file(&folder))?;
    for (file, text) in configurations {
        let path = folder.join(file);
        std::fs::write(&path, text).map_err(Failure::file(&path))?;
    }
    let path = out.join(format!("{stem}.json"));
    let text = serde_json::to_string_pretty(run).map_err(Failure::Generator)?;
    std::fs::write(&path, text).map_err(Failure::file(&path))?;
    Ok(path)
}
