//! Results of measuring storage and clocks. `pgdyno-disk` measures them.

pub mod clock;
pub mod io;
pub mod sync;
