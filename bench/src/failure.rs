//! Why a measurement could not be made. A missed goal is not among these.
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use thiserror::Error;

#[derive(Debug, Error)]
pub enum Failure {
    #[error("{program} does not start ({source}); {mending}")]
    Start { program: String, mending: &'static str, source: io::Error },
    #[error("{name} did not answer on {address} within {seconds} s; its output ends:\n{output}")]
    NeverAnswered { name: String, address: SocketAddr, seconds: u64, output: String },
    #[error("{name} answered {answer:?} where 200 with {body_bytes} octets was wanted")]
    WrongAnswer { name: String, answer: String, body_bytes: usize },
    #[error("{name} ended by itself ({status}); its output ends:\n{output}")]
    Ended { name: String, status: String, output: String },
    #[error("{name} did not end within {seconds} s")]
    NeverEnded { name: String, seconds: u64 },
    #[error("the origin's {address} is in use ({source}): stop what listens there, or see --origin-port")]
    InUse { address: SocketAddr, source: io::Error },
    #[error("{path}: {source}")]
    File { path: PathBuf, source: io::Error },
    #[error("the load generator's answer is not the documented JSON: {0}")]
    Generator(serde_json::Error),
    #[error("{errors} of {requests} requests to {name} failed; a figure over failed requests says nothing")]
    FailedRequests { name: String, requests: u64, errors: u64 },
    #[error("{path} of process {pid} is not as expected: {what}")]
    Proc { pid: u32, path: &'static str, what: String },
    #[error("{name}'s metrics lack {counter}")]
    NoCounter { name: String, counter: String },
    #[error("{path}: {what}")]
    Accepted { path: PathBuf, what: String },
    #[error("request {number} to {name} had no right answer: {source}")]
    Request { name: String, number: u64, source: io::Error },
    #[error("callgrind's output has no total: {path}")]
    Callgrind { path: PathBuf },
    #[error("open files are limited to {have}, but {need} are needed: run `ulimit -n {need}` first")]
    Descriptors { have: u64, need: u64 },
    #[error("the data set's snapshot {path}: {what}")]
    Snapshot { path: PathBuf, what: String },
    #[error("{name} did not say what came of its run; its output:\n{output}")]
    Unreadable { name: String, output: String },
    #[error("this is about a table that changes; give it one with --dataset HOSTS")]
    NoDataSet,
    #[error("changes could not be appended: {0}")]
    Appended(ringway_loadgen::error::Error),
    #[error("changes could not be appended: their thread has ended")]
    Changes,
    #[error("the router's figures were not looked at: the thread that does has ended")]
    Looks,
    #[error(
        "all of {hosts} hosts are among those that {changes} changes concern; give --dataset more, or --rate and --steady less"
    )]
    AllChange { hosts: u64, changes: u64 },
    #[error("{seconds} s after {appended} changes were appended {visible} of them are served")]
    Behind { visible: u64, appended: u64, seconds: u64 },
    #[error("interrupted")]
    Interrupted,
}

impl Failure {
    pub fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }
}
