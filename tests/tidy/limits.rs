//! Every bound is one that something keeps.

use crate::source;

#[test]
fn every_limit_is_used() {
    let sources = source::all();
    let mut unused = Vec::new();
    for limits in sources.iter().filter(|source| source.path.ends_with("/limits.rs")) {
        for line in limits.code.lines() {
            let declared = line
                .trim_start()
                .strip_prefix("pub const ")
                .or(line.trim_start().strip_prefix("pub(crate) const "));
            let Some((name, _)) = declared.and_then(|rest| rest.split_once(':')) else { continue };
            let uses: usize = sources.iter().map(|source| source.lines_with(name).count()).sum();
            if uses < 2 {
                unused.push(format!("{}: {name}", limits.path));
            }
        }
    }
    assert_eq!(unused, [""; 0]);
}
