//! Every bound of the process, unit in its name. A bound that can be hit has a metric beside it.

// Configuration file.
/// Enough for tens of thousands of inline services; more belong in a snapshot.
pub const CONFIG_BYTES_MAX: usize = 4 << 20;
/// Lists and mappings inside one another; the deepest field stands at 4.
pub const CONFIG_NESTING_MAX: usize = 16;
/// Scalars, lists and mappings in one file, which bounds the memory of reading it.
pub const CONFIG_NODES_MAX: usize = 500_000;
/// Mistakes reported of one file; the rest are counted.
pub const CONFIG_MISTAKES_MAX: usize = 1_000;
/// Octets of a Unix socket's path: what `sun_path` holds, less its end.
pub const SOCKET_PATH_OCTETS_MAX: usize = 107;
/// Listeners of one process; each core opens all of them.
pub const LISTENERS_MAX: usize = 64;
/// Names of nodes and PoPs.
pub const LABEL_BYTES_MAX: usize = 63;
/// Characters of outside text quoted in a message.
pub const CONFIG_QUOTE_CHARS_MAX: usize = 80;
/// Changes that a reload tells, and the characters of each value as above; the rest are counted.
pub const RELOAD_LINES_MAX: usize = 100;
/// CPU numbers end below this.
pub const CORES_MAX: usize = 1_024;

// Socket ring, per core.
/// Submissions that fit between two enters; more are flushed with an extra enter.
pub const RING_SUBMISSIONS: u32 = 1024;
/// Completions that fit before the kernel keeps an overflow list (counted).
pub const RING_COMPLETIONS: u32 = 8192;
/// Completions whose tasks' memory is asked for before the first is applied: few, so that none is pushed out again.
pub const COMPLETIONS_AT_ONCE: usize = 64;
/// One provided receive buffer: an ordinary head, or an answer of 1 KB with its head, in one piece.
pub const RECV_BUFFER_OCTETS: usize = 4096;
/// Provided receive buffers of a core, 16 MiB of address space; untouched ones cost no memory.
pub const RECV_BUFFERS: u16 = 4096;
/// Buffers with the kernel at a time: few, so that they stay in the second-level cache.
pub const RECV_BUFFERS_IN_RING: u16 = 256;
/// With fewer than this left, connections receive one buffer at a time and copy what they queue for sending.
pub const RECV_BUFFERS_PRESSED: usize = RECV_BUFFERS as usize / 2;
/// Received and not yet read, per connection; above it the receive is cancelled, so that a slow reader holds
/// back its peer. The kernel may deliver up to 32 buffers more in the same turn.
pub const RECV_QUEUE_OCTETS: usize = 64 << 10;
/// Queued for sending and not yet taken by the kernel, per connection; above it senders wait.
pub const SEND_QUEUE_OCTETS: usize = 64 << 10;
/// What the kernel keeps of a connection beyond what its peer's window admits. By default it takes 4 MiB, so that a few
/// hundred readers who stand still bring the machine's TCP memory under pressure.
pub const KERNEL_UNSENT_OCTETS: u32 = 128 << 10;
/// Pieces of one vectored send.
pub const SEND_PIECES_MAX: usize = 16;
/// Idle send queues and head buffers kept for reuse.
pub const SEND_POOL: usize = 256;
/// A head buffer that grew beyond this is freed rather than kept.
pub const HEAD_BUFFER_KEPT_OCTETS: usize = 16 << 10;
/// What a fresh head buffer holds before it must grow.
pub const HEAD_BUFFER_OCTETS: usize = 2048;
/// Connections of one core, clients' and origins' together; above it accepting pauses. The process's descriptor
/// limit lowers it.
pub const CONNECTIONS_PER_CORE: usize = 1 << 20;
/// How long a listener pauses after EMFILE or at the connection limit.
pub const ACCEPT_PAUSE_TICKS: u32 = 10;
/// Accepted descriptors handed over and not yet taken up by the accept task.
pub const ACCEPTED_WAITING: usize = RING_COMPLETIONS as usize;
/// Granularity of every timeout on the request path.
pub const TICK_MS: u64 = 10;
/// Ticks that the timer wheel sees at once (10.24 s); later deadlines come round again.
pub const WHEEL_TICKS: u32 = 1024;
/// A core never sleeps longer, whatever it waits for.
pub const SLEEP_MAX_MS: u64 = 500;
/// How long a connection whose owner is done may take to send what is queued (5 s).
pub const FINISH_TICKS: u32 = 500;
/// How often the cancels of a closing connection are tried again (1 s).
pub const CLOSE_RETRY_TICKS: u32 = 100;
/// How long an adaptive core polls after its last completion.
pub const SPIN_BUDGET_US: u64 = 100;
/// Buffers that the kernel may fill before a connection's receive is cancelled: 32 a turn, and up to three turns until
/// the cancel has found the receive (seen with a sender that never pauses).
pub const RECV_BURST_BUFFERS: usize = 3 * 32;
/// What a connection may hold in receive buffers: unread, passed on and not yet sent, and a burst.
pub const CONNECTION_BUFFERED_OCTETS: usize =
    RECV_QUEUE_OCTETS + SEND_QUEUE_OCTETS + RECV_BURST_BUFFERS * RECV_BUFFER_OCTETS;
/// Memory that one core pins: the two queues of its ring and the ring of provided buffers.
pub const PINNED_OCTETS_PER_CORE: usize = RING_SUBMISSIONS as usize * 68
    + RING_COMPLETIONS as usize * 16
    + RECV_BUFFERS as usize * 16
    + GLOMMIO_IO_MEMORY_OCTETS;
/// What glommio may register for direct file I/O; a data core does none, and zero is not accepted.
pub const GLOMMIO_IO_MEMORY_OCTETS: usize = 64 << 10;

const _: () = assert!(RECV_BUFFERS.is_power_of_two(), "the kernel masks the ring's index");
const _: () = assert!(RECV_BUFFERS_IN_RING < RECV_BUFFERS, "the rest must be able to wait on the stack");
const _: () = assert!(RECV_BUFFER_OCTETS <= u16::MAX as usize, "a buffer's fill is kept in 16 bits");
const _: () =
    assert!(CONNECTION_BUFFERED_OCTETS <= 512 << 10, "R-009: bounded per connection; docs/decisions/0005");
const _: () = assert!(PINNED_OCTETS_PER_CORE <= 1 << 20, "must fit an unprivileged user's memlock limit");

// HTTP/1.1 heads and bodies.
/// Octets of a request or response head, final empty line included; beyond it 431, or 502 from an origin.
pub const HEAD_OCTETS_MAX: usize = 32 * 1024;
/// Octets of a request-target; beyond it 414.
pub const TARGET_OCTETS_MAX: usize = 8 * 1024;
/// Times that a path may be encoded over; beyond it 400.
pub const PATH_LAYERS_MAX: usize = 4;
/// Octets of a request's content; beyond it 413. Bodies stream, so this costs nothing here; it is for origins.
pub const BODY_OCTETS_MAX: u64 = 1 << 40;
/// Octets of a method; longer ones are nobody's: 501.
pub const METHOD_OCTETS_MAX: usize = 32;
/// Field lines of one head; beyond it 431.
pub const FIELDS_MAX: usize = 100;
/// Field names that one message may nominate in `Connection`; beyond it 400.
pub const NOMINATED_MAX: usize = 16;
/// Times that a request may have come through ringway, by its Via; beyond it 508. More than any chain of services needs.
pub const PASSES_MAX: usize = 8;
/// Octets of a host name (RFC 1035, 2.3.4) without port and trailing dot.
pub const HOST_OCTETS_MAX: usize = 253;
/// Octets behind the size on one chunk-size line (extensions and white space).
pub const CHUNK_EXTENSION_OCTETS_MAX: usize = 256;
/// Octets of one trailer section, final empty line included.
pub const TRAILERS_OCTETS_MAX: usize = 8 * 1024;

const _: () = assert!(HEAD_OCTETS_MAX < u16::MAX as usize, "positions in a head are kept in 16 bits");
const _: () = assert!(TARGET_OCTETS_MAX + METHOD_OCTETS_MAX < HEAD_OCTETS_MAX, "414 must be told from 431");

// Cores.
/// Messages that wait for a core; whoever sends more is told so.
pub const MAILBOX_MESSAGES: usize = 1024;
/// Submissions of glommio's own rings, which a data core does not use.
pub const GLOMMIO_RING_DEPTH: usize = 8;
/// Connections that the kernel completes before a core accepts them (it caps this at net.core.somaxconn).
pub const LISTEN_BACKLOG: i32 = 4096;
/// A line of a file of changes, its end not counted.
pub const CHANGE_LINE_OCTETS: usize = 4 << 20;

// Names of endpoints.
/// An answer holds at least and at most so long, whatever its TTL says, in milliseconds.
pub const NAME_LEAST_MS: u64 = 1_000;
pub const NAME_MOST_MS: u64 = 300_000;
/// A name that cannot be looked up is asked for again after the least, then twice as long each time, up to this.
pub const NAME_RETRY_MOST_MS: u64 = 30_000;
/// How long a look-up may take, retries included, in milliseconds.
pub const LOOKUP_MS: u64 = 6_000;
/// Look-ups under way at a time; others wait. A service has half of them at the most.
pub const LOOKUPS_AT_A_TIME: usize = 32;
/// Of which so many are of names that failed last, and the others of names that did not.
pub const LOOKUPS_FAILING: usize = LOOKUPS_AT_A_TIME / 4;
/// Addresses of one name that are used, in their order; more belong behind a balancer.
pub const ADDRESSES_PER_NAME: usize = 256;
/// How long a start or a reload waits for the first answers, in milliseconds; names that take longer get their endpoints
/// later.
pub const NAMES_FIRST_MS: u64 = 3_000;
/// It waits no longer if nothing was heard of any of them for so long: those that are left are slow, or nobody answers them.
pub const NAMES_QUIET_MS: u64 = 1_000;
/// Names shown when it gives up; the rest are counted.
pub const NAMES_SHOWN: usize = 10;
/// New addresses are told to the cores at most so often, in milliseconds, all that have come meanwhile at once.
pub const NAMES_TOLD_MS: u64 = 100;
/// Names that begin to fail are told of so often in so many milliseconds; the rest are counted.
pub const NAMES_FAILING_TOLD: u32 = 20;
pub const NAMES_FAILING_TOLD_MS: u64 = 10_000;

// Feed.
/// How often the feed's file is looked at though nothing was told of it, in milliseconds: what a change costs that the
/// kernel does not tell of.
pub const FEED_LOOK_MS: u64 = 500;
/// Read of it at a time.
pub const FEED_READ_OCTETS: usize = 256 << 10;
/// A file that has changed is read once more, as much at a time (32 MiB/s), so often, in milliseconds: it may have been written
/// anew in its place.
pub const FEED_RECHECK_MS: u64 = 8;
/// Lines that are taken in before what they changed is published; more that are there follow at once.
pub const FEED_BATCH_LINES: usize = 1_024;
/// Of changes that guards had held or passed over, at least so many are taken in beside each batch, and no more if it is
/// full: those that come must not wait for them.
pub const FEED_BESIDE_LINES: usize = FEED_BATCH_LINES / 4;
/// Publications that a core has not taken up yet. Beyond, changes wait in the feed's file.
pub const FEED_PUBLICATIONS: usize = 8;
/// How often the progress of the first reading is told, in milliseconds.
pub const FEED_PROGRESS_MS: u64 = 2_000;

/// Refused changes that are told one by one in the process log, and in how many milliseconds; of more, the count is told.
pub const REFUSED_TOLD: u32 = 20;
pub const REFUSED_TOLD_MS: u64 = 10_000;
/// Those that are kept in state.dir (ringway_feed_quarantined_total counts those that are not).
pub const REFUSED_KEPT: u32 = 1_000;
pub const REFUSED_KEPT_MS: u64 = 10_000;
/// Of a refused change, the octets that are kept.
pub const QUARANTINE_LINE_OCTETS: usize = 16 << 10;
/// A file of refused changes that has so many octets is full, and takes the place of the one before.
pub const QUARANTINE_OCTETS: u64 = 1 << 20;

/// The priority of the thread that writes state.dir, in steps of `nice`.
pub const HOUSEKEEPER_NICE: i32 = 10;
/// What parts of a new base take at least, in milliseconds: 65,536 values read, and 64 KiB written (4 MiB/s); less only if
/// changes wait for it.
pub const HOUSEKEEPER_READ_MS: u64 = 1_000;
pub const HOUSEKEEPER_WRITE_MS: u64 = 16;
/// How long what the feed has brought may be in memory alone, in milliseconds: a restart reads it once more.
pub const FLUSH_EVERY_MS: u64 = 300_000;
/// How often the base is made anew at most, in milliseconds.
pub const BASE_EVERY_MS: u64 = 3_600_000;
/// How long after a failure a file of the table is made again, in milliseconds: at first, and at most after failing again
/// and again.
pub const CHORES_RETRY_MS: u64 = 1_000;
pub const CHORES_RETRY_MOST_MS: u64 = 60_000;
/// How often it is told that the table has no room, in milliseconds.
pub const FULL_TOLD_MS: u64 = 60_000;

// Files of the table in `state.dir`.
/// Numbers that a process may have given to files since it wrote its manifest: one file at a time is built, and then written of;
/// a disk that takes nothing makes it some more.
pub const STATE_NUMBERS_AHEAD: u64 = 16;
/// Files of others there whose numbers are remembered; of more, those that the table comes to are taken for its own.
pub const STATE_OTHERS: usize = 256;

// Guards.
/// Sets of endpoints that lose their last healthy one in a minute: this part of all sets, but at least so many; more are
/// held.
pub const GUARD_EMPTIED_PART: u64 = 100;
pub const GUARD_EMPTIED_LEAST: u64 = 100;
/// What a total, or a set, is compared with is the most that it had so lately, in milliseconds.
pub const GUARD_WINDOW_MS: u64 = 3_600_000;
/// Healthy endpoints, of all sets and of one, below which a fall by a half is nothing unusual.
pub const GUARD_FLEET_LEAST: u64 = 200;
pub const GUARD_SERVICE_LEAST: u64 = 20;
/// Changes held; beyond, they are passed over, and read once more when there is room. Files of which such parts are kept;
/// beyond, changes are let through. And large sets whose fall is remembered; beyond, more are not.
pub const GUARD_HELD: usize = 1 << 18;
pub const GUARD_SPANS: usize = 32;
pub const GUARD_SERVICES: usize = 1 << 16;
/// Services of which nothing is held since somebody said so; of more, only what is held then goes.
pub const GUARD_MEANT: usize = 1_024;
/// Changes that were let go and wait to be on record before they are applied; beyond, they are passed over as if guards had
/// no room. How long they wait for a folder that does not take it, in milliseconds: then they are applied in any case.
pub const GUARD_LEAVING: usize = 1 << 16;
pub const GUARD_RECORDED_MS: u64 = 2_000;
/// What is to be put on record and nobody waits for: so much at most, and so often, in milliseconds.
pub const GUARD_NOTES: usize = 1 << 17;
pub const GUARD_NOTED_MS: u64 = 250;
/// In one file of the record; then the table is flushed, and another begins.
pub const GUARD_FACTS: usize = 1 << 17;
/// How long a change is held that nobody acknowledges, and how long nothing more is held when somebody has, in
/// milliseconds.
pub const GUARD_EXPIRES_MS: u64 = 1_800_000;
pub const GUARD_ACKNOWLEDGED_MS: u64 = 600_000;
/// How long after a look at held changes that found none to let go the next is taken, in milliseconds: they must not delay
/// others.
pub const GUARD_PAUSE_MS: u64 = 50;
/// Held changes that are looked at together whether they may go, and keys of such that are shown.
pub const GUARD_LOOK: usize = 256;
pub const GUARD_SHOWN: usize = 20;
/// How often it is told that guards hold changes, and shown what they hold, in milliseconds.
pub const GUARD_TOLD_MS: u64 = 10_000;
pub const GUARD_SHOW_MS: u64 = 1_000;

const _: () = assert!(FEED_PUBLICATIONS < MAILBOX_MESSAGES, "a publication always finds room in a mailbox");

// Edge, per core.
/// Services whose requests and connections are counted, and whose connections are kept.
pub const POOLED_SERVICES: usize = 65_536;
/// Of services that were forgotten, those whose memory is kept for the next ones.
pub const SPARE_SERVICES: usize = 64;
/// A service has at most this part of a core's descriptors for its origins, for its clients with requests in flight, and
/// for those whose requests wait: a quarter each, so that one tenant leaves a quarter.
pub const SERVICE_SHARE: usize = 4;
/// Connections kept for their next request, of all services, are at most this part of a core's descriptors: clients need
/// the rest.
pub const KEPT_SHARE: usize = 4;
/// With more, so many of them are closed at a time.
pub const KEPT_THINNED: usize = 64;
/// Parsed heads kept for the next request.
pub const SCRATCH_POOL: usize = 256;
/// How long a connection without a request keeps its request's future, in milliseconds.
pub const WARM_MS: u64 = 200;
/// Connections that may keep it; with more that have just been answered, memory would follow the rate of connections.
pub const WARM_CONNECTIONS: usize = 256;
/// How long a client that waits for 100 (Continue) waits for the origin's word, in milliseconds; then the router gives it.
pub const CONTINUE_MS: u64 = 1_000;
/// Requests that one connection may have answered in a row before other tasks run.
pub const REQUESTS_PER_TURN: u32 = 32;
/// Interim (1xx) responses before a final one; beyond: 502.
pub const INTERIM_RESPONSES_MAX: usize = 32;
/// How long a start waits for a predecessor's listening sockets to go, in milliseconds: the kernel closes what a killed
/// process had in a ring a moment after its end.
pub const PREDECESSOR_MS: u64 = 2_000;
/// How long a reload waits for a listening socket of the router's own, taken away by the reload before.
pub const OWN_LISTENER_MS: u64 = 1_000;
/// What a client may still send after an answer that ends its connection; then it is closed regardless.
pub const LINGER_OCTETS: usize = 1 << 20;
/// How long that may take, in milliseconds.
pub const LINGER_MS: u64 = 2_000;
/// How long an endpoint that failed is left alone, in milliseconds: at first, and at most after failing again and again.
pub const BACKOFF_FIRST_MS: u64 = 100;
pub const BACKOFF_MOST_MS: u64 = 10_000;
/// How long after its last answer in HTTP/1.0 an endpoint is not sent chunks, in milliseconds.
pub const HTTP10_MS: u64 = 600_000;
/// A connect that takes longer than this makes its endpoint the last to be chosen until it has come about, in
/// milliseconds. Shorter than a lost SYN's second try (1 s), longer than a way round the earth.
pub const CONNECT_SUSPECT_MS: u64 = 300;
/// A request's body that is kept for a second attempt, framing included; a longer one is sent once.
pub const REPEATABLE_BODY_OCTETS: usize = 64 << 10;
/// How long a listener that is removed still takes up clients who have connected or are about to, in milliseconds: a few
/// round trips.
pub const LISTENER_CLOSE_MS: u64 = 500;
/// How often kept connections to origins are looked through, in milliseconds.
pub const SWEEP_MS: u64 = 1_000;

/// Connections looked through at a time for those whose host name has lost its service, and how often those that were cut
/// are looked for until they have gone, in milliseconds.
pub const CUT_SLICE: usize = 4_096;
pub const CUT_LOOK_MS: u64 = 5;

// Access log.
/// One record, LF included. Fields that outsiders choose are cut to the bounds below.
pub const LOG_RECORD_OCTETS_MAX: usize = 2304;
/// Octets of a field as written, escapes included.
pub const LOG_PATH_OCTETS_MAX: usize = 768;
pub const LOG_HOST_OCTETS_MAX: usize = 256;
pub const LOG_METHOD_OCTETS_MAX: usize = METHOD_OCTETS_MAX;
/// The name of a kind of task.
pub const LOG_TASK_OCTETS_MAX: usize = 160;
/// Trace id, span id and service id.
pub const LOG_ID_OCTETS_MAX: usize = 64;
/// Keys, punctuation and the numbers at their longest.
pub const LOG_FRAME_OCTETS_MAX: usize = 1050;
/// Octets that wait for the log's thread, per core; records beyond are dropped (ringway_log_dropped_total).
pub const LOG_RING_OCTETS: usize = 1 << 20;
/// How often the log's thread looks when little comes in, in milliseconds: what a reader of the log waits at most.
pub const LOG_IDLE_MS: u64 = 50;
/// How often it looks when a look found this much, in milliseconds and octets.
pub const LOG_BUSY_MS: u64 = 5;
pub const LOG_BUSY_OCTETS: usize = LOG_RING_OCTETS / 8;
/// How long after a failed write it tries again, and how often it asks whether its file was renamed, in milliseconds.
pub const LOG_RETRY_MS: u64 = 1_000;

// Process log.
/// Octets that wait for its thread; lines beyond are dropped (ringway_process_log_dropped_total). Room for every mistake of a
/// file.
pub const PROCESS_LOG_OCTETS: usize = 1 << 20;
/// How long the end of the process waits for its last lines to be written, in milliseconds.
pub const PROCESS_LOG_END_MS: u64 = 1_000;

// Loop lag, slow requests.
/// A core that has not run for so long was stopped, in milliseconds: deadlines do not see that time, however long it was, nor
/// so much after it, in which what came meanwhile is taken in. Far longer than turns take.
pub const PAUSE_MS: u64 = 250;
pub const PAUSE_GRACE_MS: u64 = 100;
/// A turn that takes so long is a stall, in milliseconds.
pub const STALL_MS: u64 = 20;
/// Kinds of tasks told of a stall.
pub const STALL_TASKS: usize = 8;
/// Stalls that a core keeps until it notes them, every EXPORT_MS; more are only counted.
pub const STALLS_PENDING: usize = 8;
/// Octets of slow requests and stalls that wait for the admin thread, per core; more are counted
/// (ringway_slow_dropped_total).
pub const SLOW_RING_OCTETS: usize = 128 << 10;
/// Slow requests, and stalls, that /v1/slow shows.
pub const SLOW_KEPT: usize = 200;
pub const STALLS_KEPT: usize = 50;
/// How often the admin thread looks for them, in milliseconds.
pub const SLOW_LOOK_MS: u64 = 1_000;

// Errors by service.
/// Services that have series of their own; the rest share one (ringway_service_errors_displaced_total).
pub const SERVICE_ERRORS_SERIES: usize = 100;
/// Services whose errors a core keeps apart until it hands them over, every EXPORT_MS; those of more are told together.
pub const SERVICE_ERRORS_PENDING: usize = 256;
/// After this, errors count half as much for who has a series, in milliseconds.
pub const SERVICE_ERRORS_AGE_MS: u64 = 60_000;

// Host names with most requests, errors, octets.
/// Names that have series of their own, for each; the rest share one (ringway_host_displaced_total).
pub const TOP_SHOWN: usize = 50;
/// Names that are watched for it, for each. Whoever has more than one in so many of all is among them.
pub const TOP_WATCHED: usize = 1_024;
/// Requests of which one tells its host name, and octets.
pub const TOP_REQUESTS: u64 = 32;
pub const TOP_OCTETS: u64 = 1 << 20;
/// Octets of what is told and waits for the admin thread, per core; more is counted (ringway_top_dropped_total).
pub const TOP_RING_OCTETS: usize = 64 << 10;
/// How often the admin thread looks, in milliseconds.
pub const TOP_LOOK_MS: u64 = 250;
/// After this, what was counts half as much, in milliseconds.
pub const TOP_AGE_MS: u64 = 60_000;

// Admin listener.
/// Connections at a time. One more takes the place of the longest without a whole request (ringway_admin_evicted_total), or
/// waits until one is answered.
pub const ADMIN_CONNECTIONS_MAX: usize = 64;
/// How long the head of its request may take, in milliseconds.
pub const ADMIN_HEAD_MS: u64 = 3_000;
/// A connection carries one request and is cut so long after its head, in milliseconds.
pub const ADMIN_CONNECTION_MS: u64 = 10_000;
/// Octets of a request's body.
pub const ADMIN_BODY_OCTETS: usize = 1_024;
/// How long an answer waits for a reload's outcome, or for what cores tell of a request, in milliseconds: the connection must live to carry it.
pub const ADMIN_RELOAD_MS: u64 = 8_000;
/// How long `check` waits for a router that may run already, in milliseconds.
pub const ADMIN_LOOK_MS: u64 = 1_000;
/// Octets of an answer that an operator's command reads.
pub const ADMIN_ANSWER_OCTETS: usize = 16 << 20;
/// Who may wait for the next reload; more are told to look at the process log.
pub const RELOADS_WAITING: usize = 256;

const _: () = assert!(ADMIN_RELOAD_MS < ADMIN_CONNECTION_MS);

const _: () = assert!(
    LOG_FRAME_OCTETS_MAX
        + LOG_PATH_OCTETS_MAX
        + LOG_HOST_OCTETS_MAX
        + LOG_METHOD_OCTETS_MAX
        + 3 * LOG_ID_OCTETS_MAX
        <= LOG_RECORD_OCTETS_MAX,
    "a record always fits its line"
);
const _: () =
    assert!(200 + STALL_TASKS * (LOG_TASK_OCTETS_MAX + 20) <= LOG_RECORD_OCTETS_MAX, "so does a stall");
/// How often a core copies its ring's figures to where scrapes find them, in milliseconds.
pub const EXPORT_MS: u64 = 200;
/// Connections that a core must be able to hold at the least: a few clients, and their origins.
pub const CONNECTIONS_LEAST: usize = 8;
/// Descriptors that are neither connections nor listeners: rings, files, the admin listener's connections.
pub const DESCRIPTORS_RESERVED: usize = 256;
/// For how long a draining router still waits for a connection's next request, in milliseconds. Its answer says that it is the
/// last; a connection that is closed while a request is on its way leaves the client not knowing what became of it.
pub const DRAIN_IDLE_MS: u64 = 500;
/// How often a draining core looks whether its last connection has ended, in milliseconds.
pub const DRAIN_LOOK_MS: u64 = 50;
/// How long after the end of a drain cores may take to end before the process does without them, in milliseconds.
pub const STOP_MS: u64 = 2_000;
