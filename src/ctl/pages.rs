//! What is made from the command line itself: completions for shells, manual pages.

use std::io::{self, Write};
use std::path::Path;

use clap_complete::Shell;

use crate::cli::{self, Exit};
use crate::runtime::machine;

/// The script by which a shell completes `ringway`.
///
/// # Errors
/// Only those of `out`.
pub fn completions(shell: Shell, out: &mut impl Write) -> io::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut cli::command(), "ringway", &mut script);
    out.write_all(&script)?;
    Ok(Exit::Fine)
}

/// Writes a page for each command into a folder, which is made if need be.
///
/// # Errors
/// Only those of `out`.
pub fn man(folder: &Path, out: &mut impl Write) -> io::Result<Exit> {
    let written =
        std::fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(cli::command(), folder));
    let folder = folder.display();
    match written {
        Ok(()) => {
            writeln!(
                out,
                "{folder}: has ringway.1 and a page for each command; read one with: man -l {folder}/ringway.1"
            )?;
            Ok(Exit::Fine)
        }
        Err(error) => {
            let (exit, mend) = match machine::lacks_room(&error) {
                true => (Exit::MachineLacks, "make room there, or name another folder"),
                false => (Exit::WrongInput, "name a folder that this user may write to"),
            };
            writeln!(out, "{folder}: cannot be written to: {error}; {mend}")?;
            Ok(exit)
        }
    }
}

/// The JSON Schema of the configuration.
///
/// # Errors
/// Only those of `out`.
pub fn schema(out: &mut impl Write) -> io::Result<Exit> {
    writeln!(out, "{:#}", crate::config::schema())?;
    Ok(Exit::Fine)
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    #[test]
    fn every_shell_completes_every_command() {
        for shell in Shell::value_variants() {
            let mut out = Vec::new();
            assert_eq!(completions(*shell, &mut out).unwrap(), Exit::Fine);
            let script = String::from_utf8(out).unwrap();
            for word in ["explain", "completions", "inspect", "--config", "--json"] {
                // fish has options without their dashes.
                let word = if *shell == Shell::Fish { word.trim_start_matches('-') } else { word };
                assert!(script.contains(word), "{shell}: {word}");
            }
        }
    }

    #[test]
    fn every_command_has_a_page() {
        let dir = tempfile::tempdir().unwrap();
        let mut out = Vec::new();
        assert_eq!(man(&dir.path().join("man1"), &mut out).unwrap(), Exit::Fine);
        for (page, holds) in [
            ("ringway.1", "ringway\\-explain(1)"),
            ("ringway-explain.1", "\\-\\-admin"),
            ("ringway-state-build.1", "\\-\\-from"),
        ] {
            let text = std::fs::read_to_string(dir.path().join("man1").join(page)).unwrap();
            assert!(text.starts_with(".ie") && text.contains(holds), "{page}: {text}");
        }
        let mut out = Vec::new();
        assert_eq!(man(Path::new("/proc/none"), &mut out).unwrap(), Exit::WrongInput);
        assert!(String::from_utf8(out).unwrap().starts_with("/proc/none: cannot be written to: "));
    }

    #[test]
    fn the_schema_is_json() {
        let mut out = Vec::new();
        assert_eq!(schema(&mut out).unwrap(), Exit::Fine);
        let schema: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(schema, crate::config::schema());
    }
}
