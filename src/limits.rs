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
/// `svc_` and 60 more.
pub const SERVICE_ID_BYTES_MAX: usize = 64;
/// Names of nodes, regions and PoPs.
pub const LABEL_BYTES_MAX: usize = 63;
