//! Every bound of the harness, its unit in its name.

/// A peer, origin or router that has not answered by then is reported with its last output.
pub const READY_SECONDS: u64 = 30;
/// The standard data set is verified before ready, and a cold disk is slow.
pub const READY_WITH_SNAPSHOT_SECONDS: u64 = 120;
/// Between looks at whether something answers or has ended.
pub const POLL_MILLIS: u64 = 20;
/// From SIGTERM to SIGKILL.
pub const STOP_SECONDS: u64 = 5;
/// What the generator may take beyond the seconds it was told to run.
pub const GENERATOR_GRACE_SECONDS: u64 = 30;
/// Longest answer to a probe that the harness reads.
pub const PROBE_ANSWER_BYTES: usize = 1 << 20;
/// A probe that hangs is a failed probe.
pub const PROBE_MILLIS: u64 = 2_000;
/// Last part of a child's output that an error shows.
pub const OUTPUT_TAIL_BYTES: usize = 2_000;
/// A turn that lost more of the machine than this is not believed.
pub const STEAL_PERCENT: f64 = 2.0;
/// User and system time are told apart by ticks of 10 ms: shorter windows resolve nothing.
pub const SHARE_WINDOW_SECONDS: u64 = 30;
/// Draws of the bootstrap.
pub const BOOTSTRAP_DRAWS: usize = 4_000;
/// Body of every answer.
pub const BODY_BYTES: usize = 1_024;
/// Host names in configurations when no data set is loaded.
pub const INLINE_HOSTS: usize = 1_000;
/// Descriptors that holding the idle connections takes beside them.
pub const SPARE_DESCRIPTORS: u64 = 200;
/// Share of nginx's saturation offered to all at equal load, in percent, unless told otherwise.
pub const EQUAL_LOAD_OF_NGINX: u8 = 60;
/// No peer is offered more than this share of what it can carry, in percent.
pub const EQUAL_LOAD_OF_CARRIED: u8 = 80;
