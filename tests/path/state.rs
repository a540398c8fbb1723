//! A route table from a snapshot, with services of the configuration on top.

use std::fmt::Write;
use std::net::SocketAddr;

use serde_json::json;

use crate::support::origin::ok;
use crate::support::*;

const HOSTS: usize = 10_000;
const SERVICES: usize = 2_000;

/// Changes for 10,000 hosts of 2,000 services over `origins`, in no particular order, and a few to be outdone.
fn changes(origins: &[Origin]) -> String {
    let mut lines = String::new();
    for host in (0..HOSTS).rev() {
        let service = host % SERVICES;
        let class = if host % 3 == 0 { "custom" } else { "platform" };
        let change = json!({
            "kind": "domain_map", "hostname": host_name(host), "service": format!("svc_{service}"),
            "version": [1, 2], "class": class,
        });
        writeln!(lines, "{change}").unwrap();
    }
    for service in 0..SERVICES {
        let port = origins[service % origins.len()].address.port();
        let change = json!({
            "kind": "endpoint_set", "service": format!("svc_{service}"), "region": "local", "version": [1, 1],
            "endpoints": [{ "ip": "127.0.0.1", "port": port, "state": "healthy" }],
        });
        writeln!(lines, "{change}").unwrap();
    }
    // Older than what is above, and later in the file.
    let stale = json!({
        "kind": "domain_map", "hostname": host_name(1), "service": "svc_9", "version": [1, 1], "class": "custom",
    });
    writeln!(lines, "{stale}").unwrap();
    let gone =
        json!({ "kind": "tombstone", "hostname": "gone.test", "version": [1, 1], "reason": "transfer" });
    writeln!(lines, "{gone}").unwrap();
    lines
}

/// A folder with changes over origins, and the snapshot that is built of them.
struct Built {
    dir: tempfile::TempDir,
    deltas: String,
    snapshot: String,
}

impl Built {
    #[track_caller]
    fn over(origins: &[Origin]) -> Built {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name).display().to_string();
        let (deltas, snapshot) = (at("deltas.jsonl"), at("base.snap"));
        std::fs::write(&deltas, changes(origins)).unwrap();
        let (code, said) = ringway(&["build", "--from", &deltas, "--out", &snapshot]);
        assert_eq!(code, 0, "{said}");
        Built { dir, deltas, snapshot }
    }

    fn at(&self, name: &str) -> String {
        self.dir.path().join(name).display().to_string()
    }
}

fn host_name(host: usize) -> String {
    format!("h{host}.n{}.test", host % 97)
}

#[track_caller]
fn ringway(arguments: &[&str]) -> (i32, String) {
    let mut line = vec![env!("CARGO_BIN_EXE_ringway"), "state"];
    line.extend(arguments);
    let output = part::run(&line, "cargo");
    let said = [output.stdout, output.stderr].map(|octets| String::from_utf8_lossy(&octets).into_owned());
    (output.status.code().unwrap_or(-1), said.concat())
}

#[test]
fn a_snapshot_is_built_verified_and_served() {
    let origins: Vec<Origin> = (0..4)
        .map(|number| Origin::answering(move |head, _| ok(format!("{number} {}", head.get("host").unwrap()))))
        .collect();
    let extra = Origin::saying("extra");
    let Built { dir: _dir, snapshot, .. } = Built::over(&origins);
    assert_eq!(ringway(&["verify", &snapshot]).0, 0);
    let (code, said) = ringway(&["inspect", &snapshot]);
    assert!(code == 0 && said.contains("10001 host names"), "{said}");
    let (code, said) = ringway(&["inspect", &snapshot, "--host", &host_name(4321)]);
    assert_eq!(code, 0, "{said}");
    let port = origins[321 % 4].address.port().to_string();
    assert!(said.contains("\"svc_321\"") && said.contains(&port), "{said}");
    assert_eq!(ringway(&["inspect", &snapshot, "--host", "nobody.test"]).0, 1);

    let setup = Setup::new().set("state.snapshot", snapshot.clone());
    // A service of its own, and one of the snapshot's hosts taken over.
    let taken = host_name(77);
    let router = setup.service("svc_extra", &["extra.test", &taken], &[extra.address]).start();
    let mut client = router.connect();
    let mut ask = |host: &str| client.ask(format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n"));
    for host in (0..HOSTS).step_by(13).filter(|host| *host != 77) {
        let got = ask(&host_name(host));
        assert_eq!(got.text(), format!("{} {}", host % SERVICES % 4, host_name(host)));
    }
    assert_eq!(ask(&host_name(1)).text(), format!("1 {}", host_name(1)), "an older change won");
    assert_eq!((ask("extra.test").text(), ask(&taken).text()), ("extra", "extra"));
    assert_eq!((ask("gone.test").status, ask("h10001.n10.test").status), (404, 404));
    assert_eq!(router.metric_with("ringway_failures_total", "reason=\"tombstoned\""), 1);
    assert_eq!(router.metric("ringway_table_base_hosts"), HOSTS as u64 + 1, "the tombstone is one");
}

/// As with `| head`: the command ends at once, and without a word.
#[test]
fn an_export_ends_with_who_reads_it() {
    let origins = [Origin::saying("fine")];
    let Built { dir: _dir, snapshot, .. } = Built::over(&origins);
    let mut export = std::process::Command::new(env!("CARGO_BIN_EXE_ringway"))
        .args(["state", "export", &snapshot])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    let mut reader = std::io::BufReader::new(export.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut reader, &mut first).unwrap();
    drop(reader);
    let ended = export.wait_with_output().unwrap();
    assert_eq!((ended.status.code(), String::from_utf8(ended.stderr).unwrap().as_str()), (Some(141), ""));
    assert!(serde_json::from_str::<serde_json::Value>(&first).is_ok(), "{first}");
}

/// What is exported makes the same snapshot again; what one change makes of it is all that is told of the two.
#[test]
fn an_export_is_the_same_state_and_a_change_is_the_difference() {
    let origins = [Origin::saying("fine")];
    let built = Built::over(&origins);
    let (deltas, snapshot) = (built.deltas.clone(), built.snapshot.clone());
    let (exported, again) = (built.at("exported.jsonl"), built.at("again.snap"));
    let (code, said) = ringway(&["export", &snapshot, "--out", &exported]);
    assert!(code == 0 && said.contains(": 12001 changes"), "{said}");
    assert_eq!(ringway(&["build", "--from", &exported, "--out", &again]).0, 0);
    assert_eq!(ringway(&["diff", &snapshot, &again]).0, 0);
    let digest = |file: &str| {
        let said = ringway(&["inspect", file]).1;
        said.lines().find(|line| line.starts_with("digest ")).map(str::to_owned).unwrap()
    };
    assert_eq!(digest(&snapshot), digest(&again));
    let (code, said) = ringway(&["diff", &snapshot, &deltas]);
    assert!(code == 2 && said.contains("deltas.jsonl"), "{said}");
    let (code, said) = ringway(&["export", &snapshot, "--kind", "tombstone"]);
    let tombstone = r#"{"kind":"tombstone","hostname":"gone.test","version":[1,1],"reason":"transfer"}"#;
    assert_eq!((code, said), (0, format!("{tombstone}\n")));
    let (code, said) = ringway(&["export", &snapshot, "--kind", "toombstone"]);
    assert!(code == 2 && said.contains("tombstone"), "{said}");

    let newer =
        r#"{"kind":"domain_map","hostname":"gone.test","version":[1,2],"service":"svc_1","class":"custom"}"#;
    let more = format!("{}{newer}\n", std::fs::read_to_string(&exported).unwrap());
    std::fs::write(&exported, more).unwrap();
    assert_eq!(ringway(&["build", "--from", &exported, "--out", &again]).0, 0);
    let summary =
        "domain_map     0 added, 0 removed, 1 changed\nall            0 added, 0 removed, 1 changed\n";
    assert_eq!(ringway(&["diff", &snapshot, &again, "--summary"]), (1, summary.to_owned()));
    let told = format!("--- {snapshot}\n+++ {again}\n- {tombstone}\n+ {newer}\n{summary}");
    assert_eq!(ringway(&["diff", &snapshot, &again]), (1, told));
}

#[test]
fn one_bad_line_makes_no_snapshot() {
    let origins = [Origin::saying("fine")];
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).display().to_string();
    let (deltas, snapshot) = (at("deltas.jsonl"), at("base.snap"));
    let good = changes(&origins);
    let bad = [
        "{",
        "[]",
        r#"{"kind":"domain_map","hostname":"a b","service":"svc_1","version":[1,1],"class":"custom"}"#,
        r#"{"kind":"domain_map","hostname":"a.test","service":"svc_1","version":[1,-1],"class":"custom"}"#,
        r#"{"kind":"endpoint_set","service":"svc_1","region":"local","version":1,"endpoints":[{"ip":"x"}]}"#,
    ];
    for line in bad {
        std::fs::write(&deltas, format!("{good}{line}\n")).unwrap();
        let (code, said) = ringway(&["build", "--from", &deltas, "--out", &snapshot]);
        let place = format!("{deltas}:{}: ", good.lines().count() + 1);
        assert!(code == 1 && said.contains(&place), "{line}: {code}: {said}");
        assert!(!std::path::Path::new(&snapshot).exists());
    }
}

#[test]
fn a_damaged_snapshot_is_found_out_wherever_it_is_damaged() {
    let origins = [Origin::saying("fine")];
    let Built { dir: _dir, snapshot, .. } = Built::over(&origins);
    let whole = std::fs::read(&snapshot).unwrap();
    for n in 0..12 {
        let mut damaged = whole.clone();
        let at = (whole.len() - 1) * n / 11;
        damaged[at] ^= 0x10;
        std::fs::write(&snapshot, &damaged).unwrap();
        let (code, said) = ringway(&["verify", &snapshot]);
        assert!(code == 1 && said.contains("base.snap"), "octet {at} of {}: {code}: {said}", whole.len());
        if n % 4 == 0 {
            let mut router = Setup::new().set("state.snapshot", snapshot.clone()).launch();
            assert_eq!(router.part.wait_exit(wait::PATIENCE).code(), Some(1), "octet {at}");
        }
    }
    for length in [0, 1, whole.len() / 2, whole.len() - 1] {
        std::fs::write(&snapshot, &whole[..length]).unwrap();
        assert_eq!(ringway(&["verify", &snapshot]).0, 1, "{length} octets of {}", whole.len());
    }
}

/// A platform's table is other people's words: none of them may lead a tenant to the router's own listeners, or through a
/// socket that another service has.
#[test]
fn no_endpoint_leads_to_the_router_or_to_anothers_socket() {
    let (mine, origin) = (tempfile::tempdir().unwrap(), Origin::saying("any"));
    let socket = mine.path().join("private.sock");
    let private = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    private.set_nonblocking(true).unwrap();
    let at = |name: &str| mine.path().join(name).display().to_string();
    let setup =
        Setup::new().service_at("svc_private", &["private.test"], &[format!("unix:{}", socket.display())]);
    let config = ringway::config::load(&setup.write()).unwrap();
    let stand_in = config.services[0].endpoints[0].address().unwrap();
    let everywhere = |port| SocketAddr::from(([0, 0, 0, 0], port));
    let forbidden = [
        ("admin.test", setup.admin),
        ("itself.test", setup.address),
        ("nobody.test", everywhere(origin.address.port())),
        ("admin-too.test", everywhere(setup.admin.port())),
        ("stranger.test", stand_in),
    ];
    let mut lines = String::new();
    for (host, address) in forbidden {
        let service = format!("svc_{}", host.trim_end_matches(".test"));
        for change in [
            json!({ "kind": "domain_map", "hostname": host, "service": service, "version": [1, 1], "class": "custom" }),
            json!({ "kind": "endpoint_set", "service": service, "region": "local", "version": [1, 1],
                "endpoints": [{ "ip": address.ip(), "port": address.port(), "state": "healthy" }] }),
        ] {
            writeln!(lines, "{change}").unwrap();
        }
    }
    std::fs::write(at("deltas.jsonl"), lines).unwrap();
    let (code, said) = ringway(&["build", "--from", &at("deltas.jsonl"), "--out", &at("base.snap")]);
    assert_eq!(code, 0, "{said}");

    let setup = setup.set("state.snapshot", at("base.snap")).set("reuse", "endpoint");
    let router = setup.service("svc_any", &["any.test"], &[origin.address]).start();
    for _ in 0..2 {
        for (host, address) in forbidden {
            let drain = format!("POST /v1/drain HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\n\r\n");
            assert_eq!(router.connect().ask(drain).status, 503, "{host}: {address}");
        }
    }
    let refused = router.metric_with("ringway_failures_total", "reason=\"endpoint_not_allowed\"");
    assert_eq!(refused, 2 * forbidden.len() as u64);
    let any = router.connect().ask("GET / HTTP/1.1\r\nHost: any.test\r\n\r\n");
    assert_eq!((any.status, any.text()), (200, "any"), "and it does not drain");
    let nobody = private.accept().map(|_| ()).unwrap_err();
    assert_eq!(nobody.kind(), std::io::ErrorKind::WouldBlock, "nobody came in by the socket");
}

/// Not an octet fits, as on a disk that is full before the file's header.
#[test]
fn a_build_without_any_room_leaves_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    let deltas = dir.path().join("deltas.jsonl");
    let line = r#"{"kind":"domain_map","hostname":"a.test","service":"svc_a","version":1,"class":"custom"}"#;
    std::fs::write(&deltas, format!("{line}\n")).unwrap();
    let script = format!(
        "trap '' XFSZ; ulimit -f 0; exec {} state build --from {} --out {}",
        env!("CARGO_BIN_EXE_ringway"),
        deltas.display(),
        dir.path().join("base.snap").display(),
    );
    let output = part::run(&["bash", "-c", &script], "bash");
    let said =
        [output.stdout, output.stderr].map(|octets| String::from_utf8_lossy(&octets).into_owned()).concat();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("cannot write") && said.contains(".partial"), "{said}");
    let left: Vec<_> =
        std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["deltas.jsonl"]);
}
