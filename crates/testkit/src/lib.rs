//! What tests of several crates share. Nothing that is shipped uses it.

mod left_out;
mod spread;

pub use left_out::left_out;
pub use spread::Spread;
