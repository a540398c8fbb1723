//! Every bound of the state, unit in its name. What goes over one is refused, with the bound in the message.

/// RFC 1035 section 2.3.4: 255 octets on the wire, 253 as text without the trailing dot.
pub const HOST_OCTETS_MAX: usize = 253;
/// RFC 1035 section 2.3.4.
pub const HOST_LABEL_OCTETS_MAX: usize = 63;
/// Of a service, owner or policy id, of a region's name and of a tombstone's reason. Their lengths are stored
/// in one octet.
pub const ID_OCTETS_MAX: usize = 128;

/// One change as a JSON line.
pub const CHANGE_OCTETS_MAX: usize = 1 << 20;
/// Members of one object in it.
pub(crate) const JSON_MEMBERS_MAX: usize = 256;
/// Endpoints of one service in one region.
pub const ENDPOINTS_PER_SET_MAX: usize = 4_096;
/// Regions that one service may name.
pub const REGIONS_PER_SERVICE_MAX: usize = 64;
/// A document: half a change, so that the change that is written of one is read again.
pub const DOCUMENT_OCTETS_MAX: usize = CHANGE_OCTETS_MAX / 2;

/// Keys in an overlay, all kinds together.
pub const OVERLAY_KEYS_MAX: usize = 65_536;
/// Octets that an overlay's entries may hold.
pub const OVERLAY_OCTETS_MAX: usize = 32 << 20;
/// An overlay this large is to be flushed to a level: half, so that as much again fits while the level is written.
pub const OVERLAY_FLUSH_KEYS: usize = OVERLAY_KEYS_MAX / 2;
/// Likewise.
pub const OVERLAY_FLUSH_OCTETS: usize = OVERLAY_OCTETS_MAX / 2;
/// Levels between overlay and base: a look-up may have to ask each.
pub const LEVELS_MAX: usize = 4;
/// Levels from which on some are to be merged, so that there is room for the next flush meanwhile.
pub(crate) const LEVELS_MERGE: usize = LEVELS_MAX - 1;
/// Branches of an overlay's tree, and shards of a branch: a change copies one of each.
pub(crate) const OVERLAY_BRANCHES: usize = 64;
pub(crate) const OVERLAY_SHARDS_PER_BRANCH: usize = 64;

/// Partitions of the log in a snapshot's offset vector, which stands in the header's page.
pub const PARTITIONS_MAX: usize = 256;
/// Names of regions in a snapshot.
pub const SNAPSHOT_REGIONS_MAX: usize = 4_096;
/// Services, or documents, in one bucket of a snapshot's directory; the builder takes another seed rather than go over.
pub(crate) const BUCKET_NAMES_MAX: usize = 64;
/// Lines of a snapshot's index between a host name's place and its home; likewise.
pub(crate) const INDEX_LINES_PASSED_MAX: usize = 64;
/// Seeds that the builder tries.
pub(crate) const SEEDS_TRIED_MAX: u32 = 8;
/// Threads that verify a snapshot at start; more don't read memory any faster.
pub(crate) const VERIFY_THREADS_MAX: usize = 8;

const _: () = assert!(HOST_OCTETS_MAX < 256, "a host name's length is stored in one octet");
const _: () = assert!(ID_OCTETS_MAX < 256, "an id's length is stored in one octet");
const _: () = assert!(
    OVERLAY_BRANCHES.is_power_of_two() && OVERLAY_SHARDS_PER_BRANCH.is_power_of_two(),
    "branch and shard are picked by the hash's top bits"
);
