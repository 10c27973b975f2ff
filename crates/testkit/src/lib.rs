//! Shared code of tests; not part of any product.

#[cfg(feature = "fixtures")]
pub mod fixtures;
mod left_out;

pub use left_out::left_out;
