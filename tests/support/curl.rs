//! curl as a client.

use super::part;
use super::router::Router;

/// A call of curl that is put together step by step.
pub struct Curl {
    line: Vec<String>,
    dir: tempfile::TempDir,
}

/// What curl got.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    /// All response heads as they came, interim ones too.
    pub heads: String,
    pub body: Vec<u8>,
    /// Connections that curl opened.
    pub connects: usize,
}

impl Curl {
    pub fn new() -> Curl {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let line = ["curl", "-sS", "--http1.1", "--max-time", "120", "--noproxy", "*"].map(str::to_owned);
        Curl { line: line.to_vec(), dir }
    }

    pub fn with<const N: usize>(mut self, arguments: [&str; N]) -> Curl {
        self.line.extend(arguments.map(str::to_owned));
        self
    }

    /// Keeps `body` in a file and sends it as `option` says: `-T` or `--data-binary`.
    pub fn body(mut self, option: &str, body: &[u8]) -> Curl {
        let file = self.dir.path().join("request");
        std::fs::write(&file, body).expect("a file");
        let at = if option == "-T" { "" } else { "@" };
        self.line.extend([option.to_owned(), format!("{at}{}", file.display())]);
        self
    }

    /// Asks the router for `path` of `host`.
    ///
    /// # Panics
    /// curl is not installed, or it got no whole answer.
    #[track_caller]
    pub fn get(self, router: &Router, host: &str, path: &str) -> Answer {
        let address = router.address;
        let (head, body) = (self.dir.path().join("head"), self.dir.path().join("body"));
        let mut line = self.line;
        line.extend(["--resolve".to_owned(), format!("{host}:{}:{}", address.port(), address.ip())]);
        line.extend(["-D".to_owned(), head.display().to_string()]);
        line.extend(["-o".to_owned(), body.display().to_string()]);
        line.extend(["-w".to_owned(), "%{http_code} %{num_connects}\n".to_owned()]);
        line.push(format!("http://{host}:{}{path}", address.port()));
        let output = part::run(&line.iter().map(String::as_str).collect::<Vec<_>>(), "curl");
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "curl {path}: {told} {complaint}");
        let last = told.lines().last().unwrap_or_default();
        let (status, _) = last.split_once(' ').expect("what -w asks for");
        Answer {
            status: status.parse().expect("a status code"),
            connects: told.lines().filter_map(|line| line.split_once(' ')?.1.parse::<usize>().ok()).sum(),
            heads: std::fs::read_to_string(head).unwrap_or_default(),
            body: std::fs::read(body).unwrap_or_default(),
        }
    }
}

impl Answer {
    /// The first field of that name.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.heads.lines().find_map(|line| {
            let (field, value) = line.split_once(':')?;
            field.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("the origin answers in ASCII")
    }
}
