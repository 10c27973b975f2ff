//! Measures storage and clocks as PostgreSQL uses them.

pub mod clock;
pub mod io;
pub mod layer;
pub mod sync;
