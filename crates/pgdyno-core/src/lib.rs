//! The nouns and the arithmetic of pgdyno.
//!
//! Everything here is pure: no I/O, no clock, no sockets (clippy's `disallowed-methods` keeps it so). The
//! crates around it take measurements; this one says what a plan, a row, an outcome, an interval and a
//! doubt are, and what follows from them.

pub mod advice;
pub mod analysis;
pub mod facts;
#[doc(hidden)]
pub mod fuzz;
pub mod load;
pub mod measure;
pub mod plan;
pub mod probe;
pub mod problem;
pub mod random;
pub mod rows;
pub mod script;
pub mod stop;
pub mod tpcc;
pub mod units;
