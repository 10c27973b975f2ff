//! Loads tables.

mod bulk;
mod copies;
mod direct;
mod existing;
mod format;
mod found;
mod init;
mod place;
mod schemas;
mod scratch;
mod setup;
mod tpcc;

pub use bulk::{
    BulkLoad, BulkOutcome, BulkProgress, Entry, ImaginedServer, Job, KeyWorkers, LoadSample, Phase, Phases,
    Proof, Room, Span, StageTime, Survey, TableProof, Verified, check_connections, check_version,
};
pub use copies::{Copied, CopyStrategy, copy_by_dump, copy_database, copy_schema};
pub use direct::{LoadOutcome, LoadProgress, PhaseObserver, load_tables, ready, tpcb_tables};
pub use existing::{find_existing, glimpse_tpcb};
pub use found::{Found, NotFound, accounts_state, find_tables, finds_unlogged};
pub use init::{InitError, InitEvent, Initialization, Step as InitStep, check_steps, initialize, steps};
pub use pgdyno_rows::load::PartitionMethod;
pub use schemas::{SchemaState, Schemas};
pub use scratch::Scratch;
pub use setup::{
    SetupOutcome, StepVariables, TableScope, carry_out, data_state, has_unlogged, is_found, is_own, settle,
};
pub use tpcc::{TpccFound, find_tpcc};
