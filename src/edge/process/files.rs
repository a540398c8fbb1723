//! Files of which a configuration makes two things at once, however their paths are written.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use super::role::{RunError, log_path};
use crate::config::{Config, Endpoint, Feed, ListenAddress, Service};
use crate::feed::StateDir;

/// Links that are followed in a row; the kernel follows as many.
const LINKS_MOST: usize = 40;

/// What a configuration makes of one file twice: an endpoint that is a socket which the router listens on, an access log
/// that is a file which is read, anything that is a file of the router's own in `state.dir`.
pub(super) fn twice(config: &Config) -> Vec<RunError> {
    let mut found: Vec<RunError> =
        config.services.iter().flat_map(|service| own_sockets(service, config)).collect();
    if let Some(path) = log_path(config)
        && let Some((_, what)) = read_files(config).into_iter().find(|(other, _)| is_same(path, other))
    {
        found.push(RunError::LogIsAnother { path: path.display().to_string(), what });
    }
    found.extend(own_files(config));
    found
}

/// A feed that is read from its own refused changes would never end, and a snapshot that is named as files of the table are
/// would be removed as one that nobody needs.
fn own_files(config: &Config) -> Vec<RunError> {
    let Feed::File(feed) = &config.state.feed else { return Vec::new() };
    let fields = [
        ("state.feed.path", Some(feed.as_path())),
        ("state.snapshot", config.state.snapshot.as_deref()),
        ("access_log.path", log_path(config)),
    ];
    let is_own = |path: &Path| {
        let place = resolved(path);
        let name = place.file_name().and_then(OsStr::to_str);
        name.is_some_and(StateDir::is_own)
            && place.parent().is_some_and(|folder| is_same(folder, &config.state.dir))
    };
    let named = fields.into_iter().filter_map(|(field, path)| Some((field, path?)));
    let own = named.filter(|(_, path)| is_own(path));
    own.map(|(field, path)| RunError::OwnFile { field, path: path.display().to_string() }).collect()
}

fn own_sockets(service: &Service, config: &Config) -> Vec<RunError> {
    let own = |path: &Path| {
        let addresses = config.listeners.iter().map(|listener| &listener.address);
        let is_own = |address: &&ListenAddress| matches!(address, ListenAddress::Unix(listener) if is_same(path, listener));
        addresses.into_iter().find(is_own).cloned()
    };
    let error = |endpoint: &Endpoint| {
        let Endpoint::Socket(path) = endpoint else { return None };
        let service = service.id.as_str().to_owned();
        Some(RunError::OwnSocket { service, endpoint: endpoint.to_string(), listener: own(path)? })
    };
    service.endpoints.iter().filter_map(error).collect()
}

fn read_files(config: &Config) -> Vec<(&Path, &'static str)> {
    let feed = match &config.state.feed {
        Feed::File(path) => Some((path.as_path(), "the feed's file")),
        Feed::Inline => None,
    };
    let snapshot = config.state.snapshot.as_deref().map(|path| (path, "the snapshot"));
    [(config.places.file(), "the configuration")].into_iter().chain(feed).chain(snapshot).collect()
}

/// Whether two paths lead to the same file, be it there or yet to be made.
pub(super) fn is_same(a: &Path, b: &Path) -> bool {
    let identity = |path: &Path| fs::metadata(path).map(|file| (file.dev(), file.ino()));
    match (identity(a), identity(b)) {
        (Ok(a), Ok(b)) => a == b,
        (Err(_), Err(_)) => resolved(a) == resolved(b),
        _ => false,
    }
}

/// The place where a file would be made: its folder and the links to it are followed as far as they are there.
fn resolved(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..LINKS_MOST {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = folder.canonicalize().unwrap_or_else(|_| without_dots(folder));
        let Some(name) = path.file_name() else { return folder };
        let place = folder.join(name);
        match fs::read_link(&place) {
            Ok(target) => path = folder.join(target),
            Err(_) => return place,
        }
    }
    path
}

/// Of a folder that is not there, `..` is what is written before it.
fn without_dots(folder: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in folder.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a failed unwrap is a failed test
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn one_file_has_many_names() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir(at("a")).unwrap();
        symlink(at("a"), at("b")).unwrap();
        symlink("a/file", at("link")).unwrap();
        symlink(at("loop"), at("loop")).unwrap();
        let names = ["a/file", "a/./file", "a/../a/file", "b/file", "link", "b/../link"];
        let others = ["a/other", "file", "loop", "none/file"];
        // Before it is there, and when it is.
        for is_there in [false, true] {
            if is_there {
                fs::write(at("a/file"), "").unwrap();
                fs::hard_link(at("a/file"), at("hard")).unwrap();
                assert!(is_same(&at("a/file"), &at("hard")));
            }
            for name in names {
                assert!(is_same(&at("a/file"), &at(name)) && is_same(&at(name), &at("a/file")), "{name}");
                assert!(others.iter().all(|other| !is_same(&at(name), &at(other))), "{name}");
            }
        }
        assert!(is_same(&at("none/x/../file"), &at("none/./file")) && is_same(&at("loop"), &at("loop")));
    }
}
