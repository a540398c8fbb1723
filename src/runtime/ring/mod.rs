//! The socket ring: one io_uring per core, behind a sans-io core.
//!
//! ```text
//!   tasks ──commands──▶ Driver ──Op──▶ Kernel (Uring | Fake) ──▶ io_uring_enter
//!     ▲                   │ slots, buffers, wheel       │
//!     └──────wakes────────┴◀────────Completion──────────┘
//! ```

mod accept;
mod buffers;
mod complete;
pub(super) mod driver;
#[cfg(test)]
mod fake;
mod fetch;
pub(super) mod kernel;
mod slot;
#[cfg(test)]
mod tests;
mod timers;
pub(super) mod tx;
pub(super) mod uring;
mod wheel;

pub use driver::{Fault, RingStats, Severed};
pub(super) use slot::NEVER;
