//! What is drawn for each request, connection or answer: one of several by weight, a size, a delay. Pure: the same
//! generator of random numbers draws the same.

mod delay;
mod size;
mod weighted;
pub mod written;

pub use delay::Delay;
pub use size::{Size, Sizes};
pub use weighted::Weighted;
