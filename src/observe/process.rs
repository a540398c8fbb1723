//! What the kernel says of this process, read from /proc when it is scraped.

use std::fs;

/// Ticks of /proc a second. Linux fixes it at 100 (USER_HZ) on every architecture that ringway is built for.
const TICKS_PER_SECOND: f64 = 100.0;

/// Figures that could be read; the names are those of all Prometheus clients.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ProcessFigures {
    pub(super) cpu_seconds: Option<f64>,
    pub(super) resident_octets: Option<u64>,
    pub(super) open_fds: Option<u64>,
    pub(super) max_fds: Option<u64>,
    /// Since 1970.
    pub(super) start_seconds: Option<f64>,
}

impl ProcessFigures {
    pub(super) fn read() -> Self {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        let stat = read("/proc/self/stat");
        let started = stat_field(&stat, 22).zip(boot_seconds(&read("/proc/stat")));
        Self {
            cpu_seconds: stat_field(&stat, 14)
                .zip(stat_field(&stat, 15))
                .map(|(user, system)| seconds(user + system)),
            resident_octets: named(&read("/proc/self/status"), "VmRSS:").map(|kib| kib * 1024),
            open_fds: open_fds(),
            max_fds: named(&read("/proc/self/limits"), "Max open files"),
            start_seconds: started.map(|(ticks, boot)| boot as f64 + seconds(ticks)),
        }
    }
}

fn seconds(ticks: u64) -> f64 {
    ticks as f64 / TICKS_PER_SECOND
}

/// A field of /proc/self/stat, counted from 1 as proc(5) does. The second is the program's name, which may hold
/// spaces and brackets itself, so counting begins behind the last bracket.
fn stat_field(stat: &str, number: usize) -> Option<u64> {
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_ascii_whitespace().nth(number.checked_sub(3)?)?.parse().ok()
}

fn boot_seconds(stat: &str) -> Option<u64> {
    named(stat, "btime")
}

/// The first number on the line that begins with `name`.
fn named(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

/// Since Linux 6.2 the directory's size is the number of descriptors; before that they have to be listed.
fn open_fds() -> Option<u64> {
    match fs::metadata("/proc/self/fd").ok()?.len() {
        0 => u64::try_from(fs::read_dir("/proc/self/fd").ok()?.count()).ok(),
        count => Some(count),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a failed unwrap is a failed test
    use super::{ProcessFigures, named, stat_field};
    use std::time::{SystemTime, UNIX_EPOCH};

    #[test]
    fn reads_this_process() {
        let figures = ProcessFigures::read();
        assert!(figures.resident_octets.unwrap() > 100_000, "{figures:?}");
        assert!(figures.open_fds.unwrap() >= 3, "{figures:?}");
        assert!(figures.max_fds.unwrap() >= figures.open_fds.unwrap(), "{figures:?}");
        assert!(figures.cpu_seconds.unwrap() < 3600.0, "{figures:?}");
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
        assert!((now - 3600.0..now + 2.0).contains(&figures.start_seconds.unwrap()), "{figures:?} at {now}");
    }

    #[test]
    fn a_name_with_brackets_and_spaces_does_not_shift_the_fields() {
        let stat = "7 (a) b (c)) S 1 7 7 0 -1 4194304 100 0 0 0 11 22 0 0 20 0 3 0 999 1000 50";
        assert_eq!(stat_field(stat, 14), Some(11));
        assert_eq!(stat_field(stat, 15), Some(22));
        assert_eq!(stat_field(stat, 22), Some(999));
        assert_eq!(stat_field("nothing", 14), None);
        assert_eq!(named("Max open files            1024   4096   files", "Max open files"), Some(1024));
    }
}
