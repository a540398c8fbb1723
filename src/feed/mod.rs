//! The change's path: from a source, in order, into the table, to every core.

mod inline;
mod names;

pub use inline::{InlineError, base, table, unusable};
pub use names::{Known, Names};
