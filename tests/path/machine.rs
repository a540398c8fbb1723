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

/// With one thread more each time: it serves, or it refuses to start with the mending, and is never half there.
#[test]
fn too_few_threads_are_told_with_the_mending() {
    let origin = Origin::saying("fine");
    let serves = |threads: u32| {
        let setup = Setup::to(&[origin.address]);
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        std::fs::set_permissions(setup.dir.path(), open).unwrap();
        let nproc = format!("--nproc={threads}:{threads}");
        // The limit counts a user's, so it is a user of its own.
        let setup = if am_root() {
            let user = ["setpriv", "--reuid=64321", "--regid=64321", "--clear-groups", "--bounding-set=-all"];
            let [a, b, c, d, e] = user;
            setup.under([a, b, c, d, e, "--pdeathsig=KILL", "prlimit", &nproc])
        } else {
            setup.under(["prlimit", &nproc])
        };
        let mut router = setup.launch();
        let answers = || {
            let mut stream = std::net::TcpStream::connect(router.address).ok()?;
            std::io::Write::write_all(&mut stream, GET.as_bytes()).ok()?;
            Wire::new(stream).response().ok().map(|response| response.status)
        };
        let ended = wait_for("it serves or has ended", wait::PATIENCE, || match router.part.has_ended() {
            Some(status) => Some(Some(status)),
            None => (answers() == Some(200)).then_some(None),
        });
        let Some(status) = ended else { return true };
        let said = router.part.said();
        assert_eq!(status.code(), Some(3), "{threads}: {said}");
        assert!(said.contains("ulimit -u"), "{threads}: {said}");
        false
    };
    let outcomes: Vec<bool> = (1..=16).map(serves).collect();
    assert!(!outcomes[0] && (outcomes[15] || !am_root()), "{outcomes:?}");
}

/// As when its virtual machine is stopped: no deadline sees that time, of requests under way or of connections between two.
#[test]
fn a_pause_of_the_machine_is_nobodys_delay() {
    let origin = Origin::saying("fine");
    let mut setup = Setup::to(&[origin.address]);
    for timeout in ["idle", "request_head", "response_head", "body_progress"] {
        setup = setup.set(&format!("timeouts.{timeout}"), "1s");
    }
    let router = setup.start();
    let mut clients: Vec<Wire> = (0..300).map(|_| router.connect()).collect();
    for client in &mut clients {
        assert_eq!(client.ask(GET).status, 200);
    }
    let (early, late) = clients.split_at_mut(200);
    early.iter_mut().for_each(|client| client.send(GET.repeat(2)).unwrap());
    router.part.signal("STOP");
    late.iter_mut().for_each(|client| client.send(GET.repeat(2)).unwrap());
    pause(std::time::Duration::from_secs(3));
    router.part.signal("CONT");
    let answers = clients.iter_mut().flat_map(|client| [client.response(), client.response()]);
    let outcomes: Vec<Result<u16, Cut>> = answers.map(|answer| answer.map(|answer| answer.status)).collect();
    let wrong: Vec<_> = outcomes.iter().filter(|outcome| **outcome != Ok(200)).collect();
    assert!(wrong.is_empty(), "{} of {}: {wrong:?}", wrong.len(), outcomes.len());
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
