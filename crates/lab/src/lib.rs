//! The laboratory: runs an experiment from starting its servers to cleaning up, and leaves a record. It prints nothing;
//! progress is reported as [`events`].
//!
//! A command writes a [`Job`]: the subjects, and the question that the runs answer. [`prepare`] reads facts and decides
//! what was left open, [`announce`] describes what will run, [`execute`] runs it stage by stage (`experiment/`):
//! servers (`subject.rs`), their tables (`fill.rs`), round after round of the schedule, one run at a time (`cell.rs`),
//! recorded as it happens (`recording.rs`), and a check of the data (`check.rs`). A run that was killed or stopped
//! continues from its record ([`resume`]).

mod ahead;
mod announcement;
mod at_work;
mod between;
pub mod cell;
mod check;
mod clients;
mod comparable;
mod context;
pub mod counters_sampler;
mod digest;
mod estimated;
mod event_log;
pub mod events;
mod existing_tables;
mod experiment;
mod fill;
mod first_record;
mod full_disk;
pub mod host;
mod host_states;
mod inspect_server;
pub mod instrument;
mod job;
pub mod join;
mod lab;
mod named_servers;
pub mod operation;
mod practice;
mod prepare;
mod prepared;
mod presets;
pub mod profiles;
mod programs;
mod recording;
pub mod records;
mod refuse_clients;
mod refuse_tables;
mod restarts;
mod resume;
mod room;
pub mod sampling;
mod search_path;
pub mod server_storage;
mod session_settings;
pub mod slow;
mod subject;
mod table_sets;
mod tpcc;
mod tpcc_facts;
mod waiting;
pub mod watch;

pub use announcement::{Announcement, announce};
pub use at_work::refuse_during_runs;
pub use digest::digest as digest_of;
pub use events::{Bound, Event, Events, Sink};
pub use experiment::execute;
pub use host_states::with_changes;
pub use job::{
    Compare, External, Job, Measured, PGBENCH_RESULT, Question, StorageOperation, StorageWork, SubjectJob,
    SubjectWork, Wanted,
};
pub use lab::{Lab, Program, dirs, draw_seed};
pub use named_servers::{conninfo_of, named_server};
pub use prepare::prepare;
pub use prepared::Prepared;
pub use recording::{Outcome, Recorded};
pub use resume::{as_recorded, check_resumable, resume};
pub use table_sets::{find as find_sets, within as within_set};
pub use tpcc_facts::check_warehouses;
