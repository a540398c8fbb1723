//! Every bound of the generator and its origin, unit in its name.

/// Connections of one process, which leaves some of 20,000 descriptors to an origin and a router beside it.
pub const CONNECTIONS_MAX: usize = 9_900;
/// Connections that are opened at a time: more would overflow the listener's queue and wait for a SYN's
/// second try.
pub const CONNECTING_MAX: usize = 128;
/// Descriptors beside the connections: the ring, standard streams, signals, listeners.
pub const DESCRIPTORS_BESIDE: usize = 128;
/// Targets of one run.
pub const TARGETS_MAX: usize = 16;
/// Rounds of one run.
pub const ROUNDS_MAX: u32 = 1_000;
/// Longest window, warm-up, hold or timeout.
pub const SECONDS_MAX: f64 = 86_400.0;
/// Arrivals a second of one open loop.
pub const RATE_MAX: f64 = 10_000_000.0;
/// Phases of one plan.
pub const PHASES_MAX: usize = 256;
/// Kinds of one thing that a plan draws from: requests, sizes, answers, windows.
pub const KINDS_MAX: usize = 64;
/// Weight of one of them.
pub const WEIGHT_MAX: u64 = 1_000_000;
/// Octets of a body that a plan sends or answers with.
pub const BODY_OCTETS_MAX: u64 = 1 << 30;
/// Intervals that a chart of a turn has at most, but for the last answers; and those of a turn without an end.
pub const INTERVALS_MEANT: u128 = 121;
pub const INTERVALS_MAX: u32 = 10_000;
/// Connections a second of a storm.
pub const STORM_RATE_MAX: f64 = 100_000.0;
/// Connections of a storm that are open at a time; what is beyond counts as dropped.
pub const STORM_OPEN_MAX: usize = 4_096;
/// By how much a plan's time may be divided.
pub const SHORTEN_MAX: f64 = 10_000.0;
/// Requests of one window when they are counted.
pub const REQUESTS_MAX: u64 = 10_000_000_000;
/// Arrivals that wait for a connection; more are counted as dropped.
pub const WAITING_MAX: usize = 1 << 20;
/// Arrivals handed out before other tasks get their turn.
pub const ARRIVALS_PER_TURN: usize = 256;
/// After a refused connection, so that a target that is down is asked a hundred times a second, not a
/// million.
pub const CONNECT_RETRY_PAUSE_MS: u64 = 10;
/// Shortest latency told apart, in nanoseconds, and the longest; longer ones count as this.
pub const LATENCY_MIN_NS: u64 = 1;
pub const LATENCY_MAX_NS: u64 = 60_000_000_000;
/// Significant decimal digits of every latency.
pub const LATENCY_DIGITS: u8 = 3;
/// Octets of a file of host names.
pub const HOSTS_FILE_OCTETS_MAX: u64 = 1 << 30;
/// Host names drawn in advance; a run that asks more begins anew with the first.
pub const TAPE_NAMES: usize = 1 << 20;
/// Octets of a path on the command line.
pub const PATH_OCTETS_MAX: usize = 4_096;
/// Octets of the origin's fixed answer; `/size/N` has no such bound.
pub const FIXED_BODY_OCTETS_MAX: usize = 16 << 20;
/// Field lines of the origin's answer.
pub const ANSWER_FIELDS_MAX: usize = 64;
/// Addresses that one origin listens on.
pub const LISTENERS_MAX: usize = 1_024;
/// One piece of a streamed body. With the chunked coding's framing it fits the largest buffer that is reused.
pub const PIECE_OCTETS: usize = ringway::limits::HEAD_BUFFER_KEPT_OCTETS - 32;
/// How long the origin waits for a client that takes nothing, or owes it the rest of a request.
pub const ORIGIN_STALL_SECONDS: u64 = 60;
/// Longest that an answer may be delayed, and a client may think.
pub const DELAY_MS_MAX: u64 = 60_000;
/// How often the core tells how far it is; beside a terminal one report in four is printed.
pub const PROGRESS_MS: u64 = 250;
/// Host names of a data set: as many as have different names.
pub const DATASET_HOSTS_MAX: u64 = 1 << 25;
/// Changes that are appended in one go.
pub const CHANGES_TOGETHER_MAX: u64 = 1_000;
/// Octets of a line in the file of what is known; its header names all origins.
pub const KNOWN_LINE_OCTETS_MAX: usize = 1 << 20;
/// Octets of a piece of that file that are read at a time.
pub const KNOWN_PIECE_OCTETS: usize = 64 << 10;
/// How often that file is read, so that hosts are asked for while their change is on its way.
pub const KNOWN_READ_MS: u64 = 2;
/// How long verify waits for the end of that file's first line, which is written in one go.
pub const KNOWN_WAIT_MS: u64 = 1_000;
/// Hosts that changed lately and are asked for; more are forgotten, the oldest first.
pub const RECENT_MAX: usize = 4_096;
/// Octets of an answer that are looked at: an address, a host name and a path.
pub const WHOAMI_OCTETS_MAX: usize = 1_024;
/// Wrong answers that are told one by one; more are counted.
pub const WRONG_SHOWN_MAX: usize = 20;
