//! `deltas` and `verify`: what is written is what is known, honest routers pass, and liars are caught.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

use ringway_loadgen::dataset::{Dataset, standard_origins};
use ringway_loadgen::deltas::churn::{Churn, change};
use ringway_state::change::{Meaning, parse};
use ringway_state::id::Region;
use ringway_state::record::Change;
use ringway_state::{HostHit, Table};
use serde_json::Value;

use crate::support::{Started, ended, next_request, target};

fn region() -> Region {
    Region::parse("local").unwrap()
}

fn changes(text: &[u8]) -> Vec<Change> {
    let change = |line: &[u8]| match parse(line).unwrap().meaning {
        Meaning::Change(change) => change,
        other => unreachable!("{other:?}"),
    };
    text.split(|octet| *octet == b'\n').filter(|line| !line.is_empty()).map(change).collect()
}

#[test]
fn the_file_is_the_data_set_and_its_churn() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("deltas.jsonl");
    let line = format!("deltas --out {} --hosts 200 --seed 7 --churn 2000 --seconds 0.5", out.display());
    let (code, said, err) = ended(&line);
    assert_eq!(code, 0, "{err}");
    assert!(
        said.starts_with("200 host names of 50 services, seed 7\n1000 changes appended, the latest "),
        "{said}"
    );
    let data = Dataset::new(200, 50, region(), standard_origins()).with_seed(7);
    let churn = (0..).zip(Churn::new(&data, 7)).map(|(number, act)| change(&data, number, &act)).take(1_000);
    let meant: Vec<Change> = data.changes().chain(churn).collect();
    let written = changes(&std::fs::read(&out).unwrap());
    assert!(written == meant, "{} {}", written.len(), meant.len());
    // All is announced before it is written, in order of time.
    let known = std::fs::read_to_string(folder.path().join("deltas.jsonl.known")).unwrap();
    let marks: Vec<Value> = known.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect();
    let times: Vec<_> = marks.iter().map(|mark| mark["ns"].as_u64().unwrap()).collect();
    assert!(times.is_sorted() && marks[0]["mark"] == "begin");
    assert_eq!(
        (&marks.last().unwrap()["mark"], &marks.last().unwrap()["until"]),
        (&"written".into(), &1_000.into())
    );
    let took = times[times.len() - 1] - times[0];
    assert!((490_000_000..2_000_000_000).contains(&took), "{took}");
}

#[test]
fn what_makes_no_data_set_is_told() {
    let (code, _, err) = ended("deltas --out /nowhere/x --hosts 5");
    assert!(code == 1 && err.contains("/nowhere/x.known: cannot be written: No such file"), "{err}");
    let (code, _, err) = ended("deltas --out /tmp/x --hosts 5 --services 6");
    assert!(code == 2 && err.contains("--services: each has a host name; give at most 5"), "{err}");
    assert_eq!(ended("deltas --out /tmp/x --hosts 0").0, 2);
    assert_eq!(ended("deltas --out /tmp/x --seconds 5").0, 2);
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    for known in ["x", "./x", "x.new"] {
        let (code, _, err) = ended(&format!("deltas --out {} --hosts 5 --known {}", at("x"), at(known)));
        assert!(code == 2 && err.contains(": both would be written to "), "{err}");
    }
    let (code, _, err) = ended("verify --target 127.0.0.1:1 --known /nowhere/x");
    assert!(code == 1 && err.contains("/nowhere/x: cannot be read"), "{err}");
    // Nothing, and the beginning of something.
    let file = tempfile::NamedTempFile::new().unwrap();
    for (text, told) in [("", ": is empty; "), ("{\"hosts\":5", ":1: the line does not end; ")] {
        std::fs::write(file.path(), text).unwrap();
        let began = std::time::Instant::now();
        let (code, _, err) = ended(&format!("verify --target 127.0.0.1:1 --known {}", file.path().display()));
        let told = format!("{}{told}give the file that --known of deltas names", file.path().display());
        assert!(code == 1 && err.contains(&told), "{err}");
        assert!(began.elapsed() < std::time::Duration::from_secs(10), "{:?}", began.elapsed());
    }
    std::fs::write(file.path(), "hello\n").unwrap();
    let (code, _, err) = ended(&format!("verify --target 127.0.0.1:1 --known {}", file.path().display()));
    assert!(
        code == 1 && err.contains(":1: ") && err.contains("give the file that --known of deltas names"),
        "{err}"
    );
}

/// As on a disk that is full before the data set's end.
#[test]
fn what_finds_no_room_leaves_what_was_there() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("x");
    let names = || {
        let names = std::fs::read_dir(folder.path()).unwrap();
        let mut names: Vec<_> =
            names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort_unstable();
        names
    };
    let script = format!(
        "trap '' XFSZ; ulimit -f 8; exec {} deltas --out {} --hosts 1000",
        env!("CARGO_BIN_EXE_ringway-loadgen"),
        out.display()
    );
    for before in [&[][..], &["x", "x.known"]] {
        before.iter().for_each(|name| std::fs::write(folder.path().join(name), "before").unwrap());
        let ended = std::process::Command::new("bash").args(["-c", &script]).output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(3), "{said}");
        assert!(said.contains("x: cannot be written: File too large"), "{said}");
        assert_eq!(names(), before);
        assert!(before.iter().all(|name| std::fs::read(folder.path().join(name)).unwrap() == b"before"));
    }
}

/// A router and its origins in one: follows a file of changes with the real table, and answers as the endpoint it finds. Its
/// answers are bent by `bend`, which is told the number of the request.
struct Model {
    table: Table,
    file: File,
    carry: Vec<u8>,
    asked: u64,
}

impl Model {
    fn serving(path: &Path, bend: impl Fn(u64, String) -> String + Clone + Send + 'static) -> SocketAddr {
        let (table, file) = (Table::new(&region()), File::open(path).unwrap());
        let model = Arc::new(Mutex::new(Self { table, file, carry: Vec::new(), asked: 0 }));
        target(move |stream| model_serve(&model, stream, &bend))
    }

    /// Reads what has come since, and looks a host up.
    fn find(&mut self, host: &str) -> Option<SocketAddr> {
        self.file.read_to_end(&mut self.carry).unwrap();
        let whole = self.carry.iter().rposition(|octet| *octet == b'\n').map_or(0, |at| at + 1);
        for change in changes(&self.carry[..whole]) {
            self.table.apply(change);
        }
        self.carry.drain(..whole);
        self.asked += 1;
        let view = self.table.publish();
        match view.host(host.as_bytes())? {
            HostHit::Service(service) => {
                let endpoints = service.endpoints(view.local());
                let which = usize::try_from(self.asked).unwrap() % endpoints.len();
                endpoints.get(which).map(|endpoint| endpoint.address)
            }
            HostHit::Tombstone { .. } => None,
        }
    }
}

fn model_serve(model: &Mutex<Model>, mut stream: TcpStream, bend: &impl Fn(u64, String) -> String) {
    while let Some(request) = next_request(&stream) {
        let path = request.split(' ').nth(1).unwrap();
        let host = request.lines().find_map(|line| line.strip_prefix("Host: ")).unwrap();
        let (found, number) = {
            let mut model = model.lock().unwrap();
            (model.find(host), model.asked)
        };
        let (status, body) = match found {
            Some(address) => (200, bend(number, format!("{address} {host} {path}\n"))),
            None => (404, String::new()),
        };
        let answer = format!("HTTP/1.1 {status} -\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

/// Verifies a model router while its file changes; exit code, document, and what was said.
fn verified(bend: impl Fn(u64, String) -> String + Clone + Send + 'static) -> (i32, Value, String) {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("deltas.jsonl");
    let line = format!("deltas --out {} --hosts 400 --churn 1000 --seconds 3", out.display());
    let deltas = Started::new(&line);
    assert_eq!(deltas.first_line, "400 host names of 100 services, seed 1\n");
    let router = Model::serving(&out, bend);
    let known = folder.path().join("deltas.jsonl.known");
    let line = format!(
        "verify --target {router} --known {} --rate 800 --connections 8 --seconds 1.5 --json -",
        known.display()
    );
    let (code, document, said) = ended(&line);
    let (rest, status) = deltas.end();
    assert!(status.success() && rest.starts_with("3000 changes appended"), "{rest}");
    (code, serde_json::from_str(&document).unwrap(), said)
}

#[test]
fn an_honest_router_passes() {
    let (code, document, said) = verified(|_, body| body);
    assert_eq!((code, &document["wrong"], &document["failed"]), (0, &0.into(), &0.into()), "{said}");
    let right = document["right"].as_u64().unwrap();
    assert!((900..1_500).contains(&right), "{right}");
}

/// One answer in fifty comes from an endpoint that no service has.
#[test]
fn an_endpoint_of_nobodys_is_caught() {
    let (code, document, said) = verified(|number, body| match number % 50 {
        0 => format!("127.0.9.9:9001 {}", body.split_once(' ').unwrap().1),
        _ => body,
    });
    let wrong = document["wrong"].as_u64().unwrap();
    assert!(code == 1 && (10..40).contains(&wrong), "{wrong}: {said}");
    assert!(said.contains("127.0.9.9:9001") && said.contains(" answers were wrong"), "{said}");
    assert!(document["wrong_answers"][0]["right"].as_str().unwrap().contains("svc_"), "{document}");
}

/// Answers that were meant for another question.
#[test]
fn crossed_answers_are_caught() {
    let last = Arc::new(Mutex::new(String::new()));
    let (code, document, said) = verified(move |number, body| {
        let before = std::mem::replace(&mut *last.lock().unwrap(), body.clone());
        if number % 100 == 99 { before } else { body }
    });
    let wrong = document["wrong"].as_u64().unwrap();
    assert!(code == 1 && (4..20).contains(&wrong), "{wrong}: {said}");
}

/// A router that stopped reading the log: what it says was true once.
#[test]
fn a_router_that_fell_behind_is_caught() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("deltas.jsonl");
    let (code, ..) = ended(&format!("deltas --out {} --hosts 400 --churn 2000 --seconds 0.5", out.display()));
    assert_eq!(code, 0);
    let all = std::fs::read(&out).unwrap();
    let stopped = folder.path().join("stopped");
    let half = all.split_inclusive(|octet| *octet == b'\n').take(700).flatten().copied().collect::<Vec<_>>();
    std::fs::write(&stopped, half).unwrap();
    let known = folder.path().join("deltas.jsonl.known");
    let verify = |router| {
        ended(&format!(
            "verify --target {router} --known {} --rate 500 --seconds 1 --window 0",
            known.display()
        ))
    };
    let (code, said, _) = verify(Model::serving(&out, |_, body| body));
    assert_eq!(code, 0, "{said}");
    let (code, said, _) = verify(Model::serving(&stopped, |_, body| body));
    assert!(code == 1 && said.contains("| host"), "{said}");
}

#[test]
fn a_router_that_is_down_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("deltas.jsonl");
    assert_eq!(ended(&format!("deltas --out {} --hosts 10", out.display())).0, 0);
    let known = format!("{}.known", out.display());
    let (code, said, err) =
        ended(&format!("verify --target 127.0.0.1:1 --known {known} --rate 50 --seconds 0.3"));
    assert!(code == 1 && said.contains(" failed\nlast failure: no answer (connect)"), "{said}");
    assert!(err.contains("not one question was answered"), "{err}");
}
