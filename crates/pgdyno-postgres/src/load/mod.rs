//! Rows into tables.

mod format;
mod prewarm;
mod tpcb;

pub use format::CopyFormat;
pub use prewarm::{PrewarmMethod, PrewarmOutcome, prewarm};
pub use tpcb::{LoadOutcome, LoadProgress, LoadStep, TpcbLoad, load_tpcb, tpcb_tables};
