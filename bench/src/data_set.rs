//! The standard data set, or its first part: the names the generator asks for and the snapshot the router
//! starts from.
use std::path::{Path, PathBuf};

use ringway_loadgen::dataset::{Dataset, standard_origins};
use ringway_state::id::Region;
use ringway_state::snapshot::{self, BuildOptions};

use crate::failure::Failure;
use crate::scene::REGION;

/// Hosts to a service in the standard data set.
const HOSTS_PER_SERVICE: u64 = 4;

#[derive(Clone, Debug)]
pub struct DataSet {
    names: Dataset,
    snapshot: PathBuf,
}

impl DataSet {
    /// `hosts` names (at least one service's) and the snapshot at `given`; without one it is built in `out`,
    /// or found there from an earlier run.
    pub fn prepare(hosts: u64, given: Option<&Path>, out: &Path) -> Result<Self, Failure> {
        let hosts = hosts.max(HOSTS_PER_SERVICE);
        let names = Dataset::new(hosts, hosts / HOSTS_PER_SERVICE, local(), standard_origins());
        let snapshot = match given {
            Some(path) => path.to_owned(),
            None => build(&names, out)?,
        };
        let snapshot = std::path::absolute(&snapshot).map_err(Failure::file(&snapshot))?;
        snapshot::inspect(&snapshot).map_err(|error| wrong(&snapshot, &error))?;
        Ok(Self { names, snapshot })
    }

    pub fn hosts(&self) -> u64 {
        self.names.hosts()
    }

    pub fn names(&self) -> &Dataset {
        &self.names
    }

    pub fn snapshot(&self) -> &Path {
        &self.snapshot
    }

    pub fn first_host(&self) -> String {
        self.names.host(0)
    }
}

/// The region of router and data set.
#[allow(clippy::expect_used)] // a constant of ours
pub fn local() -> Region {
    Region::parse(REGION).expect("REGION is a well-formed region")
}

fn build(names: &Dataset, out: &Path) -> Result<PathBuf, Failure> {
    let path = out.join(format!("dataset-{}.snap", names.hosts()));
    // One of another layout is of an earlier version, and made anew.
    if snapshot::inspect(&path).is_ok() {
        return Ok(path);
    }
    std::fs::create_dir_all(out).map_err(Failure::file(out))?;
    let options = BuildOptions { seed: Some(1), ..BuildOptions::default() };
    snapshot::build(names.changes(), &path, &options, &mut |_| ()).map_err(|error| wrong(&path, &error))?;
    Ok(path)
}

fn wrong(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::Snapshot { path: path.to_owned(), what: error.to_string() }
}
