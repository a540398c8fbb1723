//! One of many: which endpoint a request goes to. Pure: loads and chance come from the caller.

mod standing;
mod two_choices;

pub use standing::{Backoff, Outlook, Standing};
pub use two_choices::two_choices;
