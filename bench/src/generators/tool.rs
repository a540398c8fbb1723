//! Generators of load, each asked for the same in its own words, and what each says of it.
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use ringway_loadgen::mix::FIELDS;
use serde::Deserialize;

use crate::generator::Outcome;

/// What is asked of all.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ask {
    pub(super) target: SocketAddr,
    pub(super) connections: u32,
    pub(super) seconds: u64,
    /// For those who can keep one.
    pub(super) rate: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tool {
    /// ringway-loadgen at a rate, whatever the answers do.
    Open,
    /// ringway-loadgen asking again when it has its answer.
    Closed,
    Wrk,
    H2load,
    Oha,
    /// oha at a rate, with its correction of latencies.
    OhaCorrected,
}

/// What a tool says of its run. Latencies in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Said {
    pub(super) requests: f64,
    pub(super) p50: f64,
    pub(super) p90: f64,
    pub(super) p99: f64,
    pub(super) max: f64,
}

impl Tool {
    pub(super) const ALL: [Self; 6] =
        [Self::Open, Self::Closed, Self::Wrk, Self::H2load, Self::Oha, Self::OhaCorrected];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Open => "ringway-loadgen --rate",
            Self::Closed => "ringway-loadgen",
            Self::Wrk => "wrk",
            Self::H2load => "h2load",
            Self::Oha => "oha",
            Self::OhaCorrected => "oha -q, corrected",
        }
    }

    pub(super) fn mending(self) -> &'static str {
        match self {
            Self::Open | Self::Closed => "cargo build --release -p ringway-loadgen, or --loadgen PATH",
            Self::Wrk => "apt-get install wrk",
            Self::H2load => "apt-get install nghttp2-client",
            Self::Oha | Self::OhaCorrected => "cargo install oha, or --oha PATH",
        }
    }

    /// Starts none; the program is `loadgen` or `oha` where it is not the system's.
    pub(super) fn command(self, ask: Ask, loadgen: &Path, oha: &Path, dir: &Path) -> Command {
        let url = format!("http://{}/", ask.target);
        let (connections, seconds, rate) =
            (ask.connections.to_string(), ask.seconds.to_string(), ask.rate.to_string());
        let mut command = Command::new(match self {
            Self::Open | Self::Closed => loadgen,
            Self::Wrk => Path::new("wrk"),
            Self::H2load => Path::new("h2load"),
            Self::Oha | Self::OhaCorrected => oha,
        });
        match self {
            Self::Open | Self::Closed => {
                command.args(["run", "--target", &ask.target.to_string(), "--connections", &connections]);
                command.args(["--duration", &seconds, "--warmup", "0", "--json"]).arg(dir.join("said.json"));
                if self == Self::Open {
                    command.args(["--rate", &rate]);
                }
                return command;
            }
            Self::Wrk => {
                command.args(["--latency", "-t", "1", "-c", &connections, "-d", &format!("{seconds}s")]);
            }
            Self::H2load => {
                command.args(["--h1", "-t", "1", "-c", &connections, "-D", &seconds, "--log-file"]);
                command.arg(dir.join("said.log"));
            }
            Self::Oha | Self::OhaCorrected => {
                command.args(["--no-tui", "--output-format", "json", "-c", &connections]);
                command.args(["-z", &format!("{seconds}s")]);
                if self == Self::OhaCorrected {
                    command.args(["-q", &rate, "--latency-correction"]);
                }
            }
        }
        for field in FIELDS.lines() {
            command.args(["-H", field]);
        }
        command.arg(url);
        command
    }

    /// What it said: in `output`, or in the file that it was told to write.
    pub(super) fn read(self, output: &str, dir: &Path) -> Option<Said> {
        let file = |name| std::fs::read_to_string(dir.join(name)).ok();
        match self {
            Self::Open | Self::Closed => loadgen(&file("said.json")?),
            Self::Wrk => wrk(output),
            Self::H2load => h2load(&file("said.log")?),
            Self::Oha | Self::OhaCorrected => oha(output),
        }
    }
}

fn loadgen(json: &str) -> Option<Said> {
    #[derive(Deserialize)]
    struct Report {
        targets: [Outcome; 1],
    }
    let Report { targets: [outcome] } = serde_json::from_str(json).ok()?;
    let (ms, latency) = (|us: f64| us / 1e3, outcome.latency_us);
    let [p50, p90, p99, max] = [latency.p50, latency.p90, latency.p99, latency.max].map(ms);
    Some(Said { requests: outcome.requests as f64, p50, p90, p99, max })
}

/// Of `wrk --latency`: its table of percentiles, the third figure behind `Latency`, and the count of requests.
fn wrk(output: &str) -> Option<Said> {
    let words = || output.lines().map(|line| line.split_ascii_whitespace().collect::<Vec<_>>());
    let second = |first: &str| {
        words().find(|words| words.first() == Some(&first)).and_then(|words| wrk_time(words.get(1)?))
    };
    let thread = words().find(|words| words.first() == Some(&"Latency") && words.len() > 4)?;
    let requests = words().find(|words| words.get(1) == Some(&"requests") && words.get(2) == Some(&"in"))?;
    Some(Said {
        requests: requests.first()?.parse().ok()?,
        p50: second("50%")?,
        p90: second("90%")?,
        p99: second("99%")?,
        max: wrk_time(thread.get(3)?)?,
    })
}

/// `1.23ms` in milliseconds.
fn wrk_time(text: &str) -> Option<f64> {
    let units = [("us", 1e-3), ("ms", 1.0), ("s", 1e3), ("m", 6e4)];
    let (number, unit) = units.iter().find_map(|(name, unit)| Some((text.strip_suffix(name)?, unit)))?;
    number.parse::<f64>().ok().map(|number| number * unit)
}

/// Of h2load's log: a line a request, start, status and microseconds.
fn h2load(log: &str) -> Option<Said> {
    let took = |line: &str| line.split_ascii_whitespace().nth(2)?.parse::<f64>().ok();
    let mut us: Vec<f64> = log.lines().filter_map(took).collect();
    us.sort_by(f64::total_cmp);
    let count = us.len();
    let at = |per_mille: usize| {
        us.get((count * per_mille / 1_000).min(count.saturating_sub(1))).map(|us| us / 1e3)
    };
    Some(Said { requests: count as f64, p50: at(500)?, p90: at(900)?, p99: at(990)?, max: us.last()? / 1e3 })
}

fn oha(output: &str) -> Option<Said> {
    let json: serde_json::Value = serde_json::from_str(output.get(output.find('{')?..)?).ok()?;
    let ms = |value: &serde_json::Value| value.as_f64().map(|seconds| seconds * 1e3);
    let percentile = |name: &str| ms(&json["latencyPercentiles"][name]);
    let statuses = json["statusCodeDistribution"].as_object()?;
    Some(Said {
        requests: statuses.values().filter_map(serde_json::Value::as_f64).sum(),
        p50: percentile("p50")?,
        p90: percentile("p90")?,
        p99: percentile("p99")?,
        max: ms(&json["summary"]["slowest"])?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_wrk_says_is_understood() {
        let said = wrk("Running 5s test @ http://127.0.0.1:9000/\n  1 threads and 64 connections\n  \
             Thread Stats   Avg      Stdev     Max   +/- Stdev\n    \
             Latency    10.18ms  371.81us  1.02s     93.07%\n    Req/Sec     6.31k   144.90     6.56k    80.39%\n  \
             Latency Distribution\n     50%  500.00us\n     75%   10.30ms\n     90%   10.48ms\n     99%   11.30ms\n  \
             31978 requests in 5.10s, 40.78MB read\nRequests/sec:   6270.29\nTransfer/sec:      8.00MB\n");
        assert_eq!(said, Some(Said { requests: 31_978.0, p50: 0.5, p90: 10.48, p99: 11.3, max: 1_020.0 }));
        assert_eq!(wrk("unable to connect to 127.0.0.1:9000 Connection refused"), None);
    }

    #[test]
    fn what_h2load_logs_is_understood() {
        let log: String = (1..=1_000).rev().map(|us| format!("1700000000000000\t200\t{us}\n")).collect();
        assert_eq!(
            h2load(&log),
            Some(Said { requests: 1_000.0, p50: 0.501, p90: 0.901, p99: 0.991, max: 1.0 })
        );
        assert_eq!(h2load(""), None);
    }

    #[test]
    fn what_oha_says_is_understood() {
        let said =
            oha(r#"{"summary":{"slowest":0.02},"latencyPercentiles":{"p50":0.001,"p90":0.002,"p99":0.01},
                "statusCodeDistribution":{"200":90,"503":10}}"#);
        assert_eq!(said, Some(Said { requests: 100.0, p50: 1.0, p90: 2.0, p99: 10.0, max: 20.0 }));
        assert_eq!(oha("no json"), None);
    }

    #[test]
    fn every_tool_is_asked_for_the_same() {
        let ask = Ask { target: ([127, 0, 0, 1], 9).into(), connections: 7, seconds: 3, rate: 50 };
        for tool in Tool::ALL {
            let command = tool.command(ask, Path::new("l"), Path::new("o"), Path::new("/d"));
            let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
            let has = |word: &str| words.iter().any(|one| one == word);
            assert!(has("7") && (has("3") || has("3s")), "{words:?}");
            assert_eq!(has("50"), matches!(tool, Tool::Open | Tool::OhaCorrected), "{words:?}");
        }
    }
}
