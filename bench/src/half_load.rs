//! Half load: half of what nginx carries at most, measured here and now (design section 5).
use crate::failure::Failure;
use crate::generator::Load;
use crate::peers::{Idle, Peer, Programs, Running};
use crate::progress::Progress;
use crate::scene::Scene;

/// Connections of the open loop.
pub const CONNECTIONS: u32 = 64;
/// Seconds of a window before latencies are kept.
pub const WARM_UP: u64 = 1;

/// Requests a second.
pub fn rate(programs: &Programs, scene: &Scene, seconds: u64, progress: &Progress) -> Result<u64, Failure> {
    progress.say("nginx's saturation".to_owned());
    let nginx = Running::start(Peer::Nginx, programs, Idle::Park, scene)?;
    let load = Load { connections: CONNECTIONS, seconds, warm_up: WARM_UP, rate: None };
    let most = scene.generator.run("nginx", nginx.address, load, scene.hosts_argument(), scene.dir())?;
    // Positive and far below 2^53.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    Ok((most.rps / 2.0).max(1.0) as u64)
}

/// An open loop at that rate.
pub fn load(rate: u64, seconds: u64) -> Load {
    Load { connections: CONNECTIONS, seconds, warm_up: WARM_UP, rate: Some(rate) }
}
