//! Rows into tables.

mod bulk;
mod format;
mod found;
mod init;
mod prewarm;
mod setup;
mod tpcb;

pub use bulk::{BulkLoad, BulkOutcome, BulkProgress, Entry, Job, Proof, Room, Survey, TableProof};
pub use format::CopyFormat;
pub use found::{Found, NotFound, accounts_state, find_tables};
pub use init::{InitError, InitEvent, Initialization, Step as InitStep, check_steps, initialize, steps};
pub use pgdyno_core::load::PartitionMethod;
pub use prewarm::{PrewarmMethod, PrewarmOutcome, prewarm};
pub use setup::{Known, SetupOutcome, Whereabouts, carry_out, data_state, prewarm_own, settle};
pub use tpcb::{LoadOutcome, LoadProgress, LoadStep, TpcbLoad, load_tpcb, tpcb_tables};
