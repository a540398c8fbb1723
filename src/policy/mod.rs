//! Verdicts on one request. Pure: facts come in as values, verdicts go out.

mod pace;
mod second_attempt;
mod turns;

pub use pace::Pace;
pub use second_attempt::{ATTEMPTS_MAX, Again, Attempt, End, RetryOn, second_attempt};
pub use turns::{Ticket, Turns};
