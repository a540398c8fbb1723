//! Machines that give little.

use crate::support::*;

const GET: &str = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";

fn am_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0)
}

/// An ordinary user with the memlock limit that systemd gives.
#[test]
fn an_unprivileged_user_with_8_mib_of_memlock() {
    let origin = Origin::saying("fine");
    let setup = Setup::to(&[origin.address]);
    // Everybody may enter its folder, and write its log; and read the program, wherever cargo has put it.
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(setup.dir.path(), open).unwrap();
    let memlock = "--memlock=8388608:8388608";
    let setup = if am_root() {
        setup.under([
            "setpriv",
            "--reuid=nobody",
            "--regid=nogroup",
            "--clear-groups",
            "--bounding-set=-all",
            // A change of user has undone the one around it.
            "--pdeathsig=KILL",
            "prlimit",
            memlock,
        ])
    } else {
        setup.under(["prlimit", memlock])
    };
    let router = setup.start();
    let status = std::fs::read_to_string(format!("/proc/{}/status", router.part.pid())).unwrap();
    let line = |name: &str| status.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned();
    assert!(!line("Uid:").contains("\t0\t"), "{}", line("Uid:"));
    assert_eq!(line("CapEff:"), "CapEff:\t0000000000000000");
    let mut client = router.connect();
    for _ in 0..100 {
        assert_eq!(client.ask(GET).status, 200);
    }
    // The sum that `limits` promises, as the kernel counts it.
    println!("pinned: {}", line("VmPin:"));
}

#[test]
fn too_few_descriptors_are_told_with_the_mending() {
    let mut router = Setup::new().under(["prlimit", "--nofile=300:300"]).launch();
    assert_eq!(router.part.wait_exit(wait::PATIENCE).code(), Some(3));
    let said = router.part.said();
    assert!(said.contains("300 file descriptors") && said.contains("ulimit -n 20000"), "{said}");
}

/// What is no core's work runs where no core is pinned, if there is such a CPU.
#[test]
fn other_threads_leave_the_cores_their_cpus() {
    let mine = ringway::runtime::machine::cpus();
    let (core, rest) = mine.split_first().unwrap();
    let others = if rest.is_empty() { &mine } else { rest };
    let router = Setup::new().set("cores", serde_json::json!([core])).start();
    let threads = std::fs::read_dir(format!("/proc/{}/task", router.part.pid())).unwrap();
    let (of_cores, of_others): (Vec<_>, Vec<_>) = threads
        .map(|thread| name_and_cpus(&thread.unwrap().path()))
        .partition(|(name, _)| name.starts_with("core-"));
    for (threads, cpus) in [(of_cores, std::slice::from_ref(core)), (of_others, others)] {
        assert!(!threads.is_empty());
        threads.iter().for_each(|thread| assert_eq!(thread.1, cpus, "{}", thread.0));
    }
}

/// Of a thread's folder in /proc.
fn name_and_cpus(thread: &std::path::Path) -> (String, Vec<usize>) {
    let read = |file| std::fs::read_to_string(thread.join(file)).unwrap();
    let status = read("status");
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    let ranges = list.trim().split(',').map(|range| range.split_once('-').unwrap_or((range, range)));
    let cpus = ranges.flat_map(|(first, last)| first.parse().unwrap()..=last.parse().unwrap());
    (read("comm"), cpus.collect())
}
