//! The laboratory: runs an experiment from starting its servers to cleaning up, and leaves a record. It prints nothing;
//! progress is reported as [`events`].
//!
//! A command writes a [`Job`]: the subjects, and the question that the runs answer. [`prepare`] reads facts and decides
//! what was left open, [`announce`] describes what will run, [`execute`] runs it: servers (`subject.rs`,
//! `side_by_side.rs`), their tables (`fill.rs`, `load.rs`), round after round of the schedule (`experiment/`), one run
//! at a time (`cell.rs`), recorded as it happens (`recording.rs`). A run that was killed or stopped continues from its
//! record ([`resume`]).

mod announcement;
pub mod cell;
pub mod counters_sampler;
mod digest;
mod event_log;
pub mod events;
mod execute;
mod experiment;
mod fill;
mod first_record;
mod footprint;
mod full_disk;
mod inspect_server;
pub mod instrument;
mod job;
mod lab;
mod load;
mod prepare;
mod prepared;
mod programs;
mod recording;
mod refuse;
mod reset_state;
mod resume;
pub mod server_storage;
mod side_by_side;
pub mod slow;
mod subject;
mod sync_check;
mod tpcc;
mod tpcc_facts;
mod wait_sampler;
mod waiting;
mod workload_files;

pub use announcement::{Announcement, announce};
pub use events::{Event, Events, Sink};
pub use execute::{Outcome, Recorded, execute};
pub use job::{Compare, External, Job, Measured, PGBENCH_RESULT, Question, SubjectJob, SubjectWork, Wanted};
pub use lab::{Lab, Program, dirs, draw_seed};
pub use prepare::prepare;
pub use prepared::Prepared;
pub use resume::{as_recorded, check_resumable, digest_of, resume};
pub use tpcc_facts::check_warehouses;
