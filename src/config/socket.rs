//! `unix:` and a path, as both listeners and endpoints are given.
use std::path::PathBuf;

use super::report::Shown;
use crate::limits::SOCKET_PATH_OCTETS_MAX;

const PREFIX: &str = "unix:";

/// Whether a Unix socket is meant, right or wrong.
pub(super) fn is_meant(text: &str) -> bool {
    text.starts_with(PREFIX) || text.starts_with('/')
}

/// The absolute path of a Unix socket; `None` if something else [is meant](is_meant).
///
/// # Errors
/// What is wrong with `text` and how to mend it.
pub(super) fn parse(text: &str) -> Option<Result<PathBuf, String>> {
    is_meant(text).then(|| match text.strip_prefix(PREFIX) {
        Some(path) => absolute(path).map_err(|wrong| format!("{} {wrong}", Shown(text))),
        None => Err(format!("{} is a path; write it as {PREFIX}{text}", Shown(text))),
    })
}

fn absolute(path: &str) -> Result<PathBuf, String> {
    if !path.starts_with('/') || path.ends_with('/') || path.contains('\0') {
        return Err("is no socket's absolute path; write it as in unix:/run/app.sock".to_owned());
    }
    if path.len() > SOCKET_PATH_OCTETS_MAX {
        let most =
            format!("has a path longer than {SOCKET_PATH_OCTETS_MAX} octets, which no socket can have");
        return Err(format!("{most}; give a shorter one"));
    }
    Ok(PathBuf::from(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_right_and_wrong() {
        assert_eq!(parse("unix:/run/app.sock"), Some(Ok(PathBuf::from("/run/app.sock"))));
        let no_path = "is no socket's absolute path; write it as in unix:/run/app.sock";
        let long = format!("unix:/{}", "x".repeat(SOCKET_PATH_OCTETS_MAX));
        for (wrong, told) in [
            ("unix:", no_path),
            ("unix:app.sock", no_path),
            ("unix:/", no_path),
            ("unix:/run/", no_path),
            ("unix:/a\0b", no_path),
            ("/run/a", "is a path; write it as unix:/run/a"),
            (&long, "has a path longer than 107 octets, which no socket can have; give a shorter one"),
        ] {
            assert_eq!(parse(wrong), Some(Err(format!("{} {told}", Shown(wrong)))));
        }
        assert_eq!((parse("127.0.0.1:80"), parse("app.internal:80"), parse("unix")), (None, None, None));
    }
}
