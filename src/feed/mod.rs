//! The change's path: from a source, in order, into the table, to every core.

mod inline;

pub use inline::{InlineError, base, table};
