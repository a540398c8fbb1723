//! The change's path: from a source, in order, into the table, to every core.
//!
//! ```text
//! file ──lines──▶ intake ──change──▶ Table ──view──▶ publish ──▶ every core
//!                   │ refused                           ▲           │ taken
//!                   ▼                                   └───────────┘
//!                 refused: log, quarantine
//! ```
//!
//! [`guards`] stand before the table, [`store`] keeps it in `state.dir`. With a file, all of it is one thread's
//! ([`FeedThread`]). The services of the configuration ([`inline`]) come and go with it as a whole, so that the main thread
//! makes their table afresh; [`names`] tells what addresses their endpoints have.

mod allowance;
mod arrears;
mod desk;
mod dir;
mod file;
mod guards;
mod inline;
mod intake;
mod leaving;
mod names;
mod notes;
mod publish;
mod quarantine;
mod refused;
mod store;
mod taken;
mod thread;
mod watch;

pub use desk::{DeskError, GuardDesk};
pub use dir::{DirError, StateDir};
pub use file::replay;
pub use guards::{Holding, Meant, Rule};
pub use inline::{InlineError, base, is_inline, lost, table, unusable};
pub use intake::BadReason;
pub use names::{Known, Names};
pub use publish::Publication;
pub use store::{StoreError, Stored};
pub use taken::Taken;
pub use thread::{FeedParts, FeedThread};
