//! Private dirty memory per idle connection that made one request.
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use super::Stage;
use crate::client::Client;
use crate::failure::Failure;
use crate::generator::Load;
use crate::limits::{BODY_BYTES, PROBE_MILLIS, SPARE_DESCRIPTORS};
use crate::peers::{Idle, Peer, Running};
use crate::report::{Figure, Unit};
use crate::{interrupt, procfs};

/// haproxy's 20,000 descriptors hold fewer connections than the scenario opens, and pingora is no yardstick
/// here.
const PEERS: [Peer; 2] = [Peer::Ringway, Peer::Nginx];
/// Connections between two looks at whether the run was interrupted.
const INTERRUPT_EVERY: usize = 500;

/// Turns that [`run`] will take.
pub(super) fn turns(rounds: u64) -> u64 {
    PEERS.len() as u64 * rounds.min(ROUNDS)
}

/// Memory repeats itself: more rounds would show the same.
const ROUNDS: u64 = 3;

pub(super) fn run(stage: &Stage<'_>) -> Result<Vec<Figure>, Failure> {
    let peers: Vec<Peer> = stage.options.peers.iter().copied().filter(|peer| PEERS.contains(peer)).collect();
    let connections = stage.options.idle_connections;
    check_descriptors(connections)?;
    let mut user: Vec<(Peer, Vec<f64>)> = peers.iter().map(|&peer| (peer, Vec::new())).collect();
    let mut kernel = Vec::new();
    for round in 0..(stage.options.plan.rounds as u64).min(ROUNDS) {
        for (peer, values) in &mut user {
            stage.progress.say(format!(
                "{connections} idle connections: {}, round {}",
                peer.name(),
                round + 1
            ));
            // A fresh process each time: one that had held them before keeps their memory.
            let one = Running::start(*peer, &stage.options.programs, Idle::Adaptive, stage.scene)?;
            let (private, slab) = octets_per_connection(stage, &one, connections)?;
            values.push(private);
            kernel.extend(slab);
            stage.progress.step();
        }
    }
    let figure = Figure::new(
        "idle_memory".to_owned(),
        format!("private dirty per connection, {connections} idle after one request each"),
        Unit::Octets,
        user,
    )
    .goal(None, 1024.0)
    .no_worse_than_before()
    .note(format!("kernel slab beside it: {:.0} octets, both ends", crate::stats::median(&kernel)));
    Ok(vec![figure])
}

/// Of the proxy, and of the kernel's slab for both ends of the connection.
fn octets_per_connection(
    stage: &Stage<'_>,
    one: &Running,
    connections: usize,
) -> Result<(f64, Option<f64>), Failure> {
    let scene = stage.scene;
    // Warmed: upstream pools, buffers and code are there before the first figure.
    let warm = Load { connections: 64, seconds: 2, warm_up: 0, rate: None };
    scene.generator.run(one.peer.name(), one.address, warm, scene.hosts_argument(), scene.dir())?;
    let host = scene.probe_host();
    let (private, slab) = (one.private_dirty_bytes()?, procfs::slab_bytes());
    let mut held = Vec::with_capacity(connections);
    for number in 0..connections {
        if number % INTERRUPT_EVERY == 0 {
            interrupt::check()?;
        }
        held.push(after_one_request(one.address, &host).map_err(|error| Failure::WrongAnswer {
            name: one.peer.name().to_owned(),
            answer: format!("{error} on connection {number}"),
            body_bytes: BODY_BYTES,
        })?);
    }
    let per = |after: u64, before: u64| (after as f64 - before as f64) / held.len() as f64;
    let private = per(one.private_dirty_bytes()?, private);
    let slab = procfs::slab_bytes().zip(slab).map(|(after, before)| per(after, before));
    Ok((private, slab))
}

/// A kept-alive connection that has had its answer.
fn after_one_request(address: SocketAddr, host: &str) -> std::io::Result<TcpStream> {
    let mut client = Client::connect(address, host, Duration::from_millis(PROBE_MILLIS))?;
    client.ask()?;
    Ok(client.into_stream())
}

fn check_descriptors(connections: usize) -> Result<(), Failure> {
    let text = std::fs::read_to_string("/proc/self/limits").map_err(Failure::file("/proc/self/limits"))?;
    let have = text
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"))
        .and_then(|rest| rest.split_ascii_whitespace().next()?.parse().ok())
        .unwrap_or(u64::MAX);
    let need = connections as u64 + SPARE_DESCRIPTORS;
    if have < need { Err(Failure::Descriptors { have, need }) } else { Ok(()) }
}
