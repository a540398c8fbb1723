//! Keeps the program's pages in memory. A core that meets a page which the kernel has dropped waits for the disk, and all
//! of its connections wait with it: seconds, where the disk is busy.

use std::io;

use super::machine::{Lacking, lacking};

/// Locks the code and constants of the program and its libraries, some MiB. To be called before other files are mapped;
/// returns the octets locked.
///
/// # Errors
/// The limit of locked memory is lower. What was locked by then stays locked.
pub fn keep_code() -> Result<usize, Lacking> {
    // Without /proc nothing can be found out, and nothing be mended: no reason to refuse.
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let mut locked = 0;
    for (start, octets) in maps.lines().filter_map(constant) {
        lock(start, octets).map_err(|error| {
            lacking(
                format!(
                    "the program's code cannot be kept in memory ({error}, after {} KiB), so a core may wait for the disk",
                    locked >> 10
                ),
                "raise the limit with: ulimit -l 16384 (systemd: LimitMEMLOCK=16M)",
            )
        })?;
        locked += octets;
    }
    Ok(locked)
}

/// Start and length of a mapping that comes from a file and is never written, from its line in /proc/PID/maps:
/// `start-end permissions offset device inode path`.
fn constant(line: &str) -> Option<(usize, usize)> {
    let mut words = line.split_ascii_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let permissions = words.next()?;
    let path = words.nth(3)?;
    if !permissions.starts_with("r-") || !path.starts_with('/') {
        return None;
    }
    let start = usize::from_str_radix(start, 16).ok()?;
    let end = usize::from_str_radix(end, 16).ok()?;
    Some((start, end.checked_sub(start)?))
}

#[allow(unsafe_code)] // std cannot lock memory
fn lock(start: usize, octets: usize) -> io::Result<()> {
    // SAFETY: mlock reads and writes no memory of ours; it makes pages present, and fails for ranges that are not mapped.
    match unsafe { libc::mlock(start as *const libc::c_void, octets) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a failed unwrap is a failed test
    use super::*;

    #[test]
    fn code_and_constants_are_told_from_the_rest() {
        let code =
            "55d0c0a00000-55d0c0c4e000 r-xp 0008e000 fe:00 5325530                    /usr/bin/ringway";
        assert_eq!(constant(code), Some((0x55d0_c0a0_0000, 0x24_e000)));
        for other in [
            "55d0c0c60000-55d0c0c6d000 rw-p 002dcbd0 fe:00 5325530                    /usr/bin/ringway",
            "7f0000000000-7f0000021000 rw-p 00000000 00:00 0 ",
            "7ffd2b5f9000-7ffd2b5fd000 r--p 00000000 00:00 0                          [vvar]",
            "",
            "x",
        ] {
            assert_eq!(constant(other), None, "{other}");
        }
    }

    /// Of the mapping that this code lies in alone: tests beside this one map files and let go of them.
    #[test]
    fn this_program_is_kept() {
        if let Err(lacking) = keep_code() {
            assert!(lacking.mend.contains("ulimit -l"), "{lacking}");
            return;
        }
        let smaps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let here = keep_code as fn() -> _ as usize;
        let mut lines = smaps.lines().skip_while(|line| {
            constant(line).is_none_or(|(start, octets)| !(start..start + octets).contains(&here))
        });
        let mapping = lines.next().unwrap();
        let flags = lines.find_map(|line| line.strip_prefix("VmFlags:")).unwrap();
        assert!(flags.split_ascii_whitespace().any(|flag| flag == "lo"), "{mapping}:{flags}");
    }
}
