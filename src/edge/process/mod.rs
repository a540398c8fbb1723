//! The router as a process: what the main thread does around the cores. Nothing here runs on a core, so it may wait.

mod explaining;
mod files;
mod fronts;
mod rehearse;
mod reload;
mod role;
mod router;

pub use rehearse::{Refusal, rehearse};
pub use role::{RunError, run};
