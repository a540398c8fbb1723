//! What the kernel counts: CPU time of a process with its children, private memory, steal.
use std::fs;

use crate::failure::Failure;

/// CPU time of a process tree since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// Nanoseconds on a CPU, user and system together, all live threads (schedstat: exact, but not split).
    pub on_cpu_ns: u64,
    /// Clock ticks in user mode (10 ms each: only the split over long windows is to be trusted).
    pub user_ticks: u64,
    /// Clock ticks in the kernel.
    pub system_ticks: u64,
}

impl CpuTime {
    /// What was spent since `before`.
    pub fn since(self, before: Self) -> Self {
        Self {
            on_cpu_ns: self.on_cpu_ns.saturating_sub(before.on_cpu_ns),
            user_ticks: self.user_ticks.saturating_sub(before.user_ticks),
            system_ticks: self.system_ticks.saturating_sub(before.system_ticks),
        }
    }

    pub fn plus(self, other: Self) -> Self {
        Self {
            on_cpu_ns: self.on_cpu_ns + other.on_cpu_ns,
            user_ticks: self.user_ticks + other.user_ticks,
            system_ticks: self.system_ticks + other.system_ticks,
        }
    }

    /// User-mode share of the ticks, 0–1; `None` before the first tick.
    pub fn user_share(self) -> Option<f64> {
        let ticks = self.user_ticks + self.system_ticks;
        (ticks > 0).then(|| self.user_ticks as f64 / ticks as f64)
    }
}

/// CPU time of `pid`, all its threads, and its children.
pub fn cpu_time(pid: u32) -> Result<CpuTime, Failure> {
    let mut sum = cpu_time_of_one(pid)?;
    for child in children(pid) {
        // One that ends between listing and reading is nobody's child any more.
        sum = cpu_time_of_one(child).map_or(sum, |time| sum.plus(time));
    }
    Ok(sum)
}

fn cpu_time_of_one(pid: u32) -> Result<CpuTime, Failure> {
    let lost = |path, error: std::io::Error| Failure::Proc { pid, path, what: error.to_string() };
    let mut on_cpu_ns = 0;
    for thread in
        fs::read_dir(format!("/proc/{pid}/task")).map_err(|error| lost("task", error))?.filter_map(Result::ok)
    {
        // A thread that ends between listing and reading has nothing more to say.
        if let Ok(text) = fs::read_to_string(thread.path().join("schedstat")) {
            on_cpu_ns += first_number(&text).unwrap_or(0);
        }
    }
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).map_err(|error| lost("stat", error))?;
    let (user_ticks, system_ticks) =
        ticks(&text).ok_or_else(|| Failure::Proc { pid, path: "stat", what: text.clone() })?;
    Ok(CpuTime { on_cpu_ns, user_ticks, system_ticks })
}

/// Nanoseconds on a CPU of the threads of `pid` whose names begin with `thread`.
///
/// # Errors
/// There is none.
pub fn thread_ns(pid: u32, thread: &str) -> Result<u64, Failure> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().filter_map(Result::ok);
    let each: Vec<u64> = threads
        .map(|entry| entry.path())
        .filter(|path| fs::read_to_string(path.join("comm")).is_ok_and(|name| name.starts_with(thread)))
        .filter_map(|path| first_number(&fs::read_to_string(path.join("schedstat")).ok()?))
        .collect();
    let lacks = || Failure::Proc { pid, path: "task", what: format!("no thread {thread}") };
    if each.is_empty() { Err(lacks()) } else { Ok(each.iter().sum()) }
}

/// utime and stime, fields 14 and 15 of proc_pid_stat(5). The second field, a name, may hold spaces and
/// brackets.
fn ticks(stat: &str) -> Option<(u64, u64)> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_ascii_whitespace().skip(11);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

/// CPU time of all children that have ended and been waited for, with their own: fields 16 and 17 of proc_pid_stat(5), in
/// ticks.
pub fn children_cpu() -> std::time::Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks: u64 =
        fields.split_ascii_whitespace().skip(13).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    std::time::Duration::from_millis(ticks * 10)
}

fn first_number(text: &str) -> Option<u64> {
    text.split_ascii_whitespace().next()?.parse().ok()
}

/// Live children of `pid`, of any of its threads.
pub fn children(pid: u32) -> Vec<u32> {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    threads
        .filter_map(Result::ok)
        .filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok())
        .flat_map(|text| text.split_ascii_whitespace().map(str::to_owned).collect::<Vec<_>>())
        .filter_map(|text| text.parse().ok())
        .collect()
}

/// Private dirty memory of `pid` and its children, in octets (smaps_rollup). A child that ends meanwhile has none.
pub fn private_dirty_bytes(pid: u32) -> Result<u64, Failure> {
    let of_children: u64 = children(pid).into_iter().filter_map(|child| private_dirty_of(child).ok()).sum();
    Ok(private_dirty_of(pid)? + of_children)
}

fn private_dirty_of(pid: u32) -> Result<u64, Failure> {
    let fault = |what| Failure::Proc { pid, path: "smaps_rollup", what };
    let text =
        fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).map_err(|error| fault(error.to_string()))?;
    let kib = text.lines().find_map(|line| line.strip_prefix("Private_Dirty:")).and_then(first_number);
    kib.map(|kib| kib * 1024).ok_or_else(|| fault(text))
}

/// Time of the whole machine: stolen by its host, and all of it, in ticks.
#[derive(Clone, Copy, Debug, Default)]
pub struct MachineTime {
    stolen: u64,
    all: u64,
}

impl MachineTime {
    /// Zero where /proc/stat is not as documented: steal then reads as none.
    pub fn now() -> Self {
        fs::read_to_string("/proc/stat").ok().and_then(|text| Self::parse(&text)).unwrap_or_default()
    }

    /// The first line of proc_stat(5): user nice system idle iowait irq softirq steal; guest time is within
    /// user.
    fn parse(text: &str) -> Option<Self> {
        let line = text.lines().next()?.strip_prefix("cpu ")?;
        let fields: Vec<u64> =
            line.split_ascii_whitespace().take(8).filter_map(|field| field.parse().ok()).collect();
        Some(Self { stolen: *fields.get(7)?, all: fields.iter().sum() })
    }

    /// Per cent of the machine stolen since `before`.
    pub fn steal_percent_since(self, before: Self) -> f64 {
        let all = self.all.saturating_sub(before.all).max(1);
        100.0 * self.stolen.saturating_sub(before.stolen) as f64 / all as f64
    }
}

/// Kernel memory that sockets and their structures hold, machine-wide, in octets: slab (reclaimable or not).
pub fn slab_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let kib = text.lines().find_map(|line| line.strip_prefix("Slab:")).and_then(first_number)?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a failed unwrap is the test's failure
    use super::*;

    #[test]
    fn ticks_are_found_behind_a_name_with_brackets() {
        let stat = "42 (a) b (c)) S 1 2 3 4 5 6 7 8 9 10 1234 567 0 0 20 0 1 0 99";
        assert_eq!(ticks(stat), Some((1234, 567)));
        assert_eq!(ticks("42 (a) S 1"), None);
    }

    #[test]
    fn children_count_once_they_have_ended() {
        let before = children_cpu();
        let mut child = std::process::Command::new("sh");
        child.args(["-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"]);
        assert!(child.status().unwrap().success());
        let spent = children_cpu().saturating_sub(before);
        assert!(spent >= std::time::Duration::from_millis(50), "{spent:?}");
    }

    #[test]
    fn own_cpu_time_grows_with_work() {
        let pid = std::process::id();
        let before = cpu_time(pid).unwrap();
        let mut sum = 0_u64;
        while cpu_time(pid).unwrap().since(before).on_cpu_ns < 20_000_000 {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        assert!(cpu_time(pid).unwrap().on_cpu_ns >= before.on_cpu_ns + 20_000_000);
    }

    #[test]
    fn touched_memory_is_private_and_dirty() {
        let before = private_dirty_bytes(std::process::id()).unwrap();
        let touched = std::hint::black_box(vec![1_u8; 64 << 20]);
        let after = private_dirty_bytes(std::process::id()).unwrap();
        assert!(after >= before + (60 << 20), "{before} → {after} over {} octets", touched.len());
    }

    #[test]
    fn steal_is_the_eighth_figure() {
        let before = MachineTime::parse("cpu  10 0 10 70 0 0 0 10 5 0\ncpu0 1").unwrap();
        let after = MachineTime::parse("cpu  20 0 20 140 0 0 0 20 9 0\ncpu0 1").unwrap();
        assert!((after.steal_percent_since(before) - 10.0).abs() < 1e-9);
        assert!(MachineTime::parse("intr 1").is_none());
    }
}
