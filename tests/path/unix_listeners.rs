//! Clients that come in over Unix sockets, and what becomes of a socket's file.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

use serde_json::json;

use crate::support::origin::ok;
use crate::support::*;

const SOON: Duration = Duration::from_secs(10);

/// Asks on a connection of its own; the answer's octets.
fn ask(path: &Path, request: &str) -> String {
    let mut stream = UnixStream::connect(path).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: a.test\r\nX-Forwarded-For: 192.0.2.9\r\nConnection: close\r\n\r\n")
}

fn at(path: &Path, more: &serde_json::Value) -> serde_json::Value {
    let mut listener = json!({ "address": format!("unix:{}", path.display()), "protocol": "http" });
    listener.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    listener
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_unix_socket_serves_like_any_other_listener() {
    let origin = Origin::answering(|head, _| ok(head.all("x-forwarded-for").join(",")));
    let setup = Setup::to(&[origin.address]);
    let path = setup.dir.path().join("edge.sock");
    // Left by a process that was killed.
    drop(UnixListener::bind(&path).unwrap());
    let mut router = setup.also_listen(at(&path, &json!({}))).start();
    assert_eq!(mode(&path), 0o660);
    let answer = ask(&path, &get("/"));
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("\r\n\r\nunix"), "{answer}");
    let id = answer.split("x-request-id: ").nth(1).or(answer.split("X-Request-Id: ").nth(1)).unwrap();
    assert_eq!(router.logged(&id[..id.find('\r').unwrap()])["client.ip"], "unix");
    // Its peers are trusted, and internal, only if the listener says so.
    assert!(ask(&path, &get("/.well-known/gateway-health")).starts_with("HTTP/1.1 404 "));
    router.change(|setup| {
        let trusting = json!({ "trusted_proxies": ["unix"], "internal_from": ["unix"], "mode": 600 });
        setup.listen_once().also_listen(at(&path, &trusting))
    });
    let told = router.reload();
    assert_eq!(told.status, 200, "{}", told.text());
    assert_eq!(mode(&path), 0o600);
    assert!(ask(&path, &get("/")).ends_with("\r\n\r\n192.0.2.9, unix"));
    assert!(ask(&path, &get("/.well-known/gateway-health")).starts_with("HTTP/1.1 200 "));
    // The file goes with the listener, and with the process.
    router.change(Setup::listen_once);
    assert_eq!(router.reload().status, 200);
    assert!(!path.exists());
    router.change(|setup| setup.also_listen(at(&path, &json!({}))));
    assert_eq!(router.reload().status, 200);
    assert!(ask(&path, &get("/")).starts_with("HTTP/1.1 200 "));
    router.part.signal("TERM");
    assert_eq!(router.part.wait_exit(SOON).code(), Some(0), "{}", router.part.said());
    assert!(!path.exists());
}

#[test]
fn all_cores_accept_from_a_unix_socket_and_bodies_pass() {
    let origin = Origin::answering(|_, body| ok(body));
    let setup = Setup::to(&[origin.address]);
    let path = setup.dir.path().join("edge.sock");
    let router = setup.also_listen(at(&path, &json!({}))).start();
    let body = noise(300_000).iter().map(|octet| char::from(b'a' + octet % 26)).collect::<String>();
    let head = format!(
        "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    std::thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| assert!(ask(&path, &format!("{head}{body}")).ends_with(&body)));
        }
    });
    router.wait_quiet();
}

#[test]
fn what_is_at_the_path_of_a_socket_is_not_lost() {
    let setup = Setup::new();
    let path = setup.dir.path().join("precious");
    std::fs::write(&path, "kept").unwrap();
    let mut router = setup.also_listen(at(&path, &json!({}))).launch();
    assert_eq!(router.part.wait_exit(SOON).code(), Some(1));
    assert!(router.part.said().contains("a file is there; move it away"), "{}", router.part.said());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "kept");
    // A socket that somebody serves is not taken from them.
    let dir = tempfile::tempdir().unwrap();
    let served = dir.path().join("s e r v é d.sock");
    let other = UnixListener::bind(&served).unwrap();
    let roundabout = dir.path().join("..").join(dir.path().file_name().unwrap()).join("s e r v é d.sock");
    let mut router = Setup::new().also_listen(at(&roundabout, &json!({}))).launch();
    assert_eq!(router.part.wait_exit(SOON).code(), Some(1));
    let said = router.part.said();
    let hint = said.split_once("stop what serves it (").and_then(|(_, rest)| rest.split_once(") or give"));
    let (hint, _) = hint.unwrap_or_else(|| panic!("{said}"));
    let found = part::run(&["sh", "-c", hint], "iproute2");
    let found = String::from_utf8_lossy(&found.stdout).into_owned();
    assert!(found.contains(&served.display().to_string()), "{hint}: {found}");
    UnixStream::connect(&served).unwrap();
    drop(other);
}

/// The router with a Unix socket beside its first listener.
fn with_socket(origin: &Origin, path: &Path) -> Router {
    Setup::to(&[origin.address]).also_listen(at(path, &json!({}))).start()
}

fn changed(router: &Router) -> serde_json::Value {
    let told = router.reload();
    assert_eq!(told.status, 200, "{}", told.text());
    told.json()["changed"].clone()
}

#[test]
fn a_reload_makes_a_socket_s_file_again() {
    let origin = Origin::saying("fine");
    let dir = tempfile::tempdir().unwrap();
    let (path, moved) = (dir.path().join("edge.sock"), dir.path().join("moved.sock"));
    let router = with_socket(&origin, &path);
    let again =
        format!("listeners[unix:{}]: the socket's file was gone, or another's; bound again", path.display());
    let mut kept = UnixStream::connect(&path).unwrap();
    kept.set_read_timeout(Some(SOON)).unwrap();
    std::fs::rename(&path, &moved).unwrap();
    assert_eq!(changed(&router), json!([again]));
    assert_eq!(mode(&path), 0o660);
    for _ in 0..8 {
        assert!(ask(&path, &get("/")).starts_with("HTTP/1.1 200 "));
    }
    // Who had come in before is not cut off.
    kept.write_all(b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n").unwrap();
    let mut answer = String::new();
    kept.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("fine"), "{answer}");
    assert!(UnixStream::connect(&moved).is_err(), "the old one is still listened on");
    assert_eq!(changed(&router), json!([]));
    // By SIGHUP it is said in the process log.
    std::fs::remove_file(&path).unwrap();
    router.part.signal("HUP");
    wait_until("it was said", || router.part.said().matches(&again).count() == 2);
    assert!(ask(&path, &get("/")).starts_with("HTTP/1.1 200 "));
    // One that is not wanted any more is not made again.
    std::fs::remove_file(&path).unwrap();
    let mut router = router;
    router.change(Setup::listen_once);
    assert_eq!(changed(&router), json!([format!("listeners[unix:{}]: removed", path.display())]));
    assert!(!path.exists());
}

#[test]
fn what_took_a_socket_s_place_is_not_taken_from_others() {
    let origin = Origin::saying("fine");
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("edge.sock");
    let mut router = with_socket(&origin, &path);
    std::fs::remove_file(&path).unwrap();
    let other = UnixListener::bind(&path).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    let refused = |router: &Router, why: &str| {
        let told = router.reload();
        assert!(told.status == 422 && told.text().contains(why), "{}", told.text());
    };
    refused(&router, "stop what serves it");
    // Nor does a mode meant for the router's own go to it.
    router.change(|setup| setup.listen_once().also_listen(at(&path, &json!({ "mode": 666 }))));
    refused(&router, "stop what serves it");
    assert_eq!(mode(&path), 0o640);
    UnixStream::connect(&path).unwrap();
    // What nobody serves any more is replaced.
    drop(other);
    assert_eq!(changed(&router).as_array().unwrap().len(), 2);
    assert_eq!(mode(&path), 0o666);
    assert!(ask(&path, &get("/")).starts_with("HTTP/1.1 200 "));
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    refused(&router, "a folder is there; move it away");
    assert_eq!(router.connect().ask("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n").status, 200);
}

/// In namespaces of its own, where the folder of the sockets can be made read-only.
#[test]
fn a_mode_that_cannot_be_changed_is_no_reload() {
    let origin = Origin::saying("fine");
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().display().to_string();
    let stuck = dir.path().join("stuck.sock");
    let mount = "mount --bind $0 $0 && exec \"$@\"";
    let setup = Setup::to(&[origin.address]).under([
        "unshare",
        "--user",
        "--mount",
        "--map-root-user",
        "sh",
        "-c",
        mount,
        &folder,
    ]);
    let writable = setup.dir.path().join("edge.sock");
    let with = |setup: Setup, mode: u32| {
        let listeners = [&writable, &stuck].map(|path| at(path, &json!({ "mode": mode })));
        listeners.into_iter().fold(setup.listen_once(), Setup::also_listen)
    };
    let mut router = with(setup, 600).start();
    let pid = router.part.pid().to_string();
    let remount = |how: &str| {
        let enter = ["nsenter", "-t", &pid, "--user", "--preserve-credentials", "--mount"];
        let line = [&enter[..], &["mount", "-o", how, &folder]].concat();
        assert!(part::run(&line, "util-linux").status.success(), "{how}");
    };
    remount("remount,bind,ro");
    router.change(|setup| with(setup, 666).set("timeouts.idle", "5s"));
    let told = router.reload();
    let said = format!("cannot change the mode of unix:{} to 666: Read-only file system", stuck.display());
    assert!(told.status == 422 && told.text().contains(&said), "{}", told.text());
    let modes = || [&writable, &stuck].map(|path| mode(path));
    assert_eq!(modes(), [0o600; 2], "one was changed and not changed back");
    // A file that has its mode needs no change.
    router.change(|setup| with(setup, 600));
    assert_eq!(changed(&router), json!(["timeouts.idle: (default) -> 5s"]));
    remount("remount,bind,rw");
    router.change(|setup| with(setup, 666));
    assert_eq!(changed(&router).as_array().unwrap().len(), 2);
    assert_eq!(modes(), [0o666; 2]);
}
