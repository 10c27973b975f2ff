//! Rows into tables.

mod format;
mod found;
mod init;
mod prewarm;
mod tpcb;

pub use format::CopyFormat;
pub use found::{Found, NotFound, find_tables};
pub use init::{
    InitError, InitEvent, Initialization, PartitionMethod, Step as InitStep, check_steps, initialize, steps,
};
pub use prewarm::{PrewarmMethod, PrewarmOutcome, prewarm};
pub use tpcb::{LoadOutcome, LoadProgress, LoadStep, TpcbLoad, load_tpcb, tpcb_tables};
