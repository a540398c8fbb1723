//! Errors as people read them.

use std::error::Error;

/// An error with all its causes, since the last one is what can be acted on.
pub(crate) fn with_causes(error: &dyn Error) -> String {
    std::iter::successors(error.source(), |cause| (**cause).source())
        .fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
