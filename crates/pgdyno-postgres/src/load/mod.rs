//! Rows into tables.

mod format;
mod tpcb;

pub use format::CopyFormat;
pub use tpcb::{LoadOutcome, LoadProgress, LoadStep, TpcbLoad, load_tpcb, tpcb_tables};
