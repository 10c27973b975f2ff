//! Shared code of tests; not part of any product.

mod delays;
#[cfg(feature = "fixtures")]
pub mod fixtures;
mod golden;
mod left_out;
mod majors;
mod spread;

pub use delays::{Delays, Distribution};
pub use golden::golden;
pub use left_out::left_out;
pub use majors::{OLDEST, OLDEST_VERSION};
pub use spread::Spread;
