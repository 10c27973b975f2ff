//! Observes servers through SQL.

mod commits;
mod counters;
mod facts;
mod identity;
mod places;
mod replica;
mod statements;
mod wal;

pub use commits::{COMMIT_SETTINGS, ask_commit_settings, commit_settings, weak_routines};
pub use counters::Counters;
pub use facts::{context_of, server_facts, session_settings};
pub use identity::{check_version, data_format, postmaster_here, postmaster_of};
pub use places::{places_in, tablespace_dirs};
pub use replica::{Instance, wait_for_replay};
pub use statements::show_statements;
pub use wal::{temp_written, wal_written};
