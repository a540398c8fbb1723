//! The faults that the schedules are tried with are faults of the code as it is (`tools/mutants`).

use std::fs;

use crate::source;

#[test]
fn each_fault_is_made_in_one_place() {
    let list = source::root().join("state/mutations.txt");
    let (mut file, mut from, mut faults) = ("", "", 0);
    let list = fs::read_to_string(list).unwrap();
    for line in list.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(part) = line.strip_prefix("- ") {
            from = part;
        } else if let Some(to) = line.strip_prefix("+ ") {
            let code = fs::read_to_string(source::root().join("state/src").join(file)).unwrap();
            assert_eq!(code.matches(from).count(), 1, "{file}: {from}");
            assert_ne!(from, to);
            faults += 1;
        } else {
            file = line;
        }
    }
    assert!(faults >= 12, "{faults}");
}
